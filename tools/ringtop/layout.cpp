#include "tools/ringtop/layout.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/ringtop/text.h"

namespace ringtop {
namespace {

constexpr std::size_t drawn_columns = 80;
constexpr std::size_t methods_without_end = 12;  // where the window does not say how many
constexpr std::size_t methods_least = 3;
constexpr std::size_t label_size = 12;  // of what stands in front of a flow
constexpr std::size_t flow_lines_max = 2;
constexpr std::size_t name_size = 44;
constexpr std::size_t figure_size = 12;

class Drawing {
 public:
  explicit Drawing(const Picture& picture) : picture_(picture) {}

  std::vector<std::string> lines;

  [[nodiscard]] std::string per_s(const Rate& rate) const {
    return picture_.has_rates ? amount(rate.per_s) + "/s" : "-";
  }
  [[nodiscard]] std::string bytes_per_s(const Rate& rate) const {
    return picture_.has_rates ? bytes(rate.per_s) + "/s" : "-";
  }

  // Up to three figures in a line, 80 columns in all.
  struct Figure {
    const char* name;
    std::string value;
  };
  void figures(std::initializer_list<Figure> list) {
    std::string line;
    for (const Figure& one : list) {
      if (!line.empty()) line += "   ";
      line += left(one.name, 11) + right(one.value, 13);
    }
    lines.push_back(std::move(line));
  }

  // Words side by side behind a label, and how many of them found no room.
  void flow(std::string_view label, const std::vector<std::string>& words) {
    std::string line = left(std::string(label), label_size);
    std::size_t used = 0;
    const std::size_t last = lines.size() + flow_lines_max - 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t room = lines.size() == last && i + 1 < words.size()
                                   ? drawn_columns - std::string_view("  and 1000 more").size()
                                   : drawn_columns;
      if (used != 0 && line.size() + 2 + words[i].size() > room) {
        if (lines.size() == last) {
          line += "  and " + std::to_string(words.size() - i) + " more";
          break;
        }
        lines.push_back(std::exchange(line, std::string(label_size, ' ')));
        used = 0;
      }
      if (used++ != 0) line += "  ";
      line += words[i];
    }
    lines.push_back(std::move(line));
  }

  void methods(std::size_t rows);

 private:
  void method(std::string name, const Rate& rate) {
    char share[16] = "-";
    if (picture_.has_rates && picture_.calls.per_s > 0) {
      std::snprintf(share, sizeof(share), "%.1f %%", rate.per_s / picture_.calls.per_s * 100);
    }
    lines.push_back(left(cut(std::move(name), name_size), name_size) +
                    right(per_s(rate), figure_size) + right(share, figure_size) +
                    right(amount(rate.total), figure_size));
  }

  const Picture& picture_;
};

// The busiest in so many rows; when there are more, the last row is the sum of the rest.
void Drawing::methods(std::size_t rows) {
  lines.push_back(left("METHOD", name_size) + right("calls", figure_size) +
                  right("share", figure_size) + right("in all", figure_size));
  const std::vector<NamedRate>& list = picture_.methods;
  const std::size_t single = list.size() <= rows ? list.size() : rows - 1;
  for (std::size_t i = 0; i < single; ++i) {
    method(list[i].name.empty() ? "(no such method)" : shown(list[i].name), list[i].rate);
  }
  if (single == list.size()) return;
  Rate rest;
  for (std::size_t i = single; i < list.size(); ++i) {
    rest.per_s += list[i].rate.per_s;
    rest.total += list[i].rate.total;
  }
  method("(" + std::to_string(list.size() - single) + " more)", rest);
}

void draw_totals(Drawing& to, const Picture& picture) {
  to.figures({{"calls", to.per_s(picture.calls)},
              {"messages", to.per_s(picture.requests)},
              {"errors", to.per_s(picture.errors)}});
  to.figures({{"p50", duration(picture.p50)},
              {"p99", duration(picture.p99)},
              {"refused", to.per_s(picture.refused)}});
  to.figures({{"bytes in", to.bytes_per_s(picture.bytes_in)},
              {"bytes out", to.bytes_per_s(picture.bytes_out)},
              {"notified", to.per_s(picture.notifications)}});
  to.figures({{"connections", amount(picture.connections)},
              {"in flight", amount(picture.in_flight)},
              {"streams", amount(picture.streams)}});
  to.figures({{"opened", to.per_s(picture.accepts)},
              {"closed", to.per_s(picture.closes)},
              {"events", to.per_s(picture.events)}});
}

std::vector<std::string> words_of(const std::vector<NamedRate>& list, const Picture& picture) {
  std::vector<std::string> words;
  for (const NamedRate& one : list) {
    std::string word = shown(one.name) + " " + amount(one.rate.total);
    if (picture.has_rates && one.rate.per_s > 0) word += " (+" + amount(one.rate.per_s) + "/s)";
    words.push_back(std::move(word));
  }
  return words;
}

void draw_rest(Drawing& to, const Picture& picture) {
  to.lines.emplace_back();
  if (!picture.codes.empty()) to.flow("errors", words_of(picture.codes, picture));
  if (!picture.limits.empty()) to.flow("limits hit", words_of(picture.limits, picture));
  double sum = 0;
  for (const NamedRate& pool : picture.pools) sum += pool.rate.total;
  std::vector<std::string> words = {bytes(sum)};
  for (const NamedRate& pool : picture.pools) {
    words.push_back(shown(pool.name) + " " + bytes(pool.rate.total));
  }
  to.flow("memory", words);
  words = {"turns " + to.per_s(picture.turns), "enters " + to.per_s(picture.enters),
           "receives " + to.per_s(picture.receives), "sends " + to.per_s(picture.sends),
           "slow turns " + amount(picture.slow_turns.total)};
  to.flow("workers", words);
}

}  // namespace

std::vector<std::string> draw(const Picture& picture, std::string_view url, std::string_view news,
                              Window window) {
  Drawing above(picture);
  char span[48] = "since the last look: -";
  if (picture.has_rates) std::snprintf(span, sizeof(span), "over %.2f s", picture.seconds);
  const std::string title = "ringtop  " + shown(url);
  const std::size_t room = drawn_columns - std::string_view(span).size() - 2;
  above.lines.push_back(left(cut(title, room), room) + "  " + span);
  above.lines.push_back(!news.empty()       ? shown(news)
                        : picture.restarted ? "the server has started anew"
                                            : "");
  draw_totals(above, picture);
  above.lines.emplace_back();

  Drawing below(picture);
  draw_rest(below, picture);

  Drawing middle(picture);
  const std::size_t taken = above.lines.size() + below.lines.size() + 1;  // the table's head
  std::size_t rows = methods_without_end;
  if (window.rows != 0) rows = window.rows > taken ? window.rows - taken : 0;
  middle.methods(std::max(rows, methods_least));

  std::vector<std::string> lines = std::move(above.lines);
  lines.insert(lines.end(), middle.lines.begin(), middle.lines.end());
  lines.insert(lines.end(), below.lines.begin(), below.lines.end());
  if (window.rows != 0 && lines.size() > window.rows) lines.resize(window.rows);
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    line = cut(std::move(line), window.columns);
  }
  return lines;
}

}  // namespace ringtop
