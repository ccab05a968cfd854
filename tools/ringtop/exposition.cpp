#include "tools/ringtop/exposition.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace ringtop {
namespace {

constexpr std::string_view blanks = " \t";

bool is_name(char c, bool first) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
  return letter || (!first && c >= '0' && c <= '9');
}

// What is left of one line.
class Line {
 public:
  explicit Line(std::string_view text) : left_(text) {}

  void skip_blanks() { left_.remove_prefix(std::min(left_.find_first_not_of(blanks), size())); }
  [[nodiscard]] std::size_t size() const { return left_.size(); }

  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }

  std::string_view take_name() {
    std::size_t size = 0;
    while (size < left_.size() && is_name(left_[size], size == 0)) ++size;
    const std::string_view name = left_.substr(0, size);
    left_.remove_prefix(size);
    return name;
  }

  // What stands up to the next blank or the end.
  std::string_view take_word() {
    const std::string_view word = left_.substr(0, left_.find_first_of(blanks));
    left_.remove_prefix(word.size());
    return word;
  }

  // A value in quotes, unescaped. Returns: false when it is none, or has no end.
  bool take_quoted(std::string& value) {
    if (!take('"')) return false;
    while (!left_.empty()) {
      char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\') {
        if (left_.empty()) return false;
        c = left_.front() == 'n' ? '\n' : left_.front();
        left_.remove_prefix(1);
      }
      value += c;
    }
    return false;
  }

 private:
  std::string_view left_;
};

bool read_labels(Line& line, Sample& sample) {
  if (!line.take('{')) return true;
  for (;;) {
    line.skip_blanks();
    if (line.take('}')) return true;
    const std::string_view name = line.take_name();
    line.skip_blanks();
    if (name.empty() || !line.take('=')) return false;
    line.skip_blanks();
    std::string value;
    if (!line.take_quoted(value)) return false;
    sample.labels.emplace_back(name, std::move(value));
    line.skip_blanks();
    if (!line.take(',')) return line.take('}');
  }
}

bool read_number(std::string_view text, double& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && rest == end;
}

// Returns: whether the text is a sample; `key` is its metric and labels.
bool read_sample(std::string_view text, std::string_view& key, Sample& sample) {
  Line line(text);
  sample.metric = line.take_name();
  if (sample.metric.empty()) return false;
  if (!read_labels(line, sample)) return false;
  key = text.substr(0, text.size() - line.size());
  line.skip_blanks();
  if (!read_number(line.take_word(), sample.value)) return false;
  line.skip_blanks();
  double time = 0;
  const std::string_view last = line.take_word();
  line.skip_blanks();
  return line.size() == 0 && (last.empty() || read_number(last, time));
}

}  // namespace

std::string_view Sample::label(std::string_view name) const {
  for (const auto& [own, text] : labels) {
    if (own == name) return text;
  }
  return {};
}

std::size_t parse(std::string_view text, Samples& samples) {
  samples.clear();
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty() || line.front() == '#') continue;
    Sample sample;
    std::string_view key;
    if (!read_sample(line, key, sample)) return number;
    samples.insert_or_assign(std::string(key), std::move(sample));
  }
  return 0;
}

double value_of(const Samples& samples, std::string_view metric) {
  const auto found = samples.find(metric);
  return found == samples.end() ? 0 : found->second.value;
}

double sum_of(const Samples& samples, std::string_view metric) {
  double sum = 0;
  for_each(samples, metric, [&](const Sample& sample) { sum += sample.value; });
  return sum;
}

}  // namespace ringtop
