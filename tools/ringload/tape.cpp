#include "tools/ringload/tape.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <set>

#include "tools/common/json_text.h"

namespace ringload {

namespace {

constexpr std::uint32_t entries_max = 4096;
constexpr std::uint32_t mixed_batches = 64;
constexpr std::uint64_t tape_size_max = 64u << 20;  // beyond it, each body or one batch
constexpr std::uint64_t weight_max = 1'000'000;
constexpr std::uint32_t first_fresh_id = 1000;  // All have four digits, so replies have one size.

std::string_view trim_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Returns: false when the line is no body.
bool read_line(std::string_view line, Body& body) {
  if (line.front() >= '0' && line.front() <= '9') {
    const char* const end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data(), end, body.weight);
    if (error != std::errc() || body.weight == 0 || body.weight > weight_max) return false;
    if (rest == end || (*rest != ' ' && *rest != '\t')) return false;
    line = tools::skip_blanks(line.substr(static_cast<std::size_t>(rest - line.data())));
  }
  const std::size_t size = tools::json_value_size(line);
  if (size == 0 || (line.front() != '{' && line.front() != '[')) return false;
  body.text = line.substr(0, size);
  const std::string_view expected = tools::skip_blanks(line.substr(size));
  if (!expected.empty() && !tools::is_json(expected)) return false;
  body.expected = tools::compact(expected);
  return true;
}

// Returns: the token of an object's id member; empty when it has none.
std::string_view id_of(std::string_view text) {
  std::vector<tools::Member> members;
  tools::split_object(text, members);
  return tools::find_member(members, "id");
}

// How often each body is on a tape of about `count`: by its weight, and once at least.
std::vector<std::uint32_t> deal(const std::vector<Body>& bodies, std::uint32_t count) {
  std::uint64_t sum = 0;
  for (const Body& body : bodies) sum += body.weight;
  std::vector<std::uint32_t> deck;
  for (std::uint32_t i = 0; i != bodies.size(); ++i) {
    const std::uint64_t times = (bodies[i].weight * count + sum / 2) / sum;
    deck.insert(deck.end(), std::max<std::uint64_t>(times, 1), i);
  }
  std::mt19937_64 random(1);  // The same order in every run.
  std::shuffle(deck.begin(), deck.end(), random);
  return deck;
}

std::uint32_t entries_for(const std::vector<Body>& bodies) {
  std::uint64_t size = 0;
  for (const Body& body : bodies) size += body.text.size() + 256;
  const std::uint64_t fit = tape_size_max * bodies.size() / size;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, bodies.size(), entries_max));
}

// Of the same batch again and again there need not be more than one.
std::uint32_t batches_for(const std::vector<Body>& bodies, std::uint32_t calls) {
  if (bodies.size() == 1) return 1;
  std::uint64_t size_max = 1;
  for (const Body& body : bodies) size_max = std::max<std::uint64_t>(size_max, body.text.size());
  const std::uint64_t fit = tape_size_max / (size_max * calls);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, 1, mixed_batches));
}

}  // namespace

bool read_bodies(std::string_view lines, std::vector<Body>& bodies, std::string& error) {
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = trim_end(tools::skip_blanks(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (!read_line(line, bodies.emplace_back())) {
      error = "line " + std::to_string(number) +
              " of the bodies is not [WEIGHT] JSON [EXPECTED-RESULT], JSON an object or an array";
      return false;
    }
  }
  if (bodies.empty()) error = "the file given by --bodies holds no body";
  return error.empty();
}

std::string with_id(std::string_view text, std::string_view id) {
  std::string out(text);
  const std::string_view old = id_of(text);
  if (!old.empty()) out.replace(static_cast<std::size_t>(old.data() - text.data()), old.size(), id);
  return out;
}

Message make_message(const Body& body) {
  Message message;
  message.text = body.text;
  std::vector<std::string_view> elements;
  message.batch = tools::split_array(body.text, elements);
  if (!message.batch) elements.assign(1, body.text);
  for (const std::string_view element : elements) {
    const std::string_view id = id_of(element);
    if (!id.empty()) message.calls.push_back({std::string(id), body.expected});
  }
  return message;
}

Message make_batch(std::span<const Body* const> bodies, std::uint64_t first_id) {
  Message message;
  message.batch = true;
  for (const Body* const body : bodies) {
    const std::string id = std::to_string(first_id + message.calls.size());
    message.text += message.text.empty() ? '[' : ',';
    message.text += with_id(body->text, id);
    if (!id_of(body->text).empty()) message.calls.push_back({id, body->expected});
  }
  message.text += ']';
  return message;
}

std::string id_of_two_arrays(const std::vector<Body>& bodies) {
  std::set<std::string> seen;
  for (const Body& body : bodies) {
    const Message message = make_message(body);
    if (!message.batch) continue;
    std::set<std::string> own;
    for (const Call& call : message.calls) own.insert(call.id);
    for (const std::string& id : own) {
      if (!seen.insert(id).second) return id;
    }
  }
  return {};
}

void Tape::plan(const Wish& wish) {
  const std::vector<Body>& bodies = wish.bodies;
  const std::vector<std::uint32_t> deck = deal(bodies, entries_for(bodies));
  if (wish.batch == 0) {
    for (const Body& body : bodies) messages_.push_back(make_message(body));
    entries_.resize(wish.fresh_ids || bodies.size() != 1 ? deck.size() : 1);
    for (std::size_t i = 0; i != entries_.size(); ++i) entries_[i].message = deck[i];
    return;
  }
  const std::uint32_t count = batches_for(bodies, wish.batch);
  std::size_t dealt = 0;
  for (std::uint32_t i = 0; i != count; ++i) {
    std::vector<const Body*> picked(wish.batch);
    for (const Body*& body : picked) body = &bodies[deck[dealt++ % deck.size()]];
    messages_.push_back(make_batch(picked, 1 + std::uint64_t{i} * wish.batch));
    entries_.emplace_back().message = i;
  }
}

std::string Tape::fresh_id(const Entry& entry) const {
  const Message& message = messages_[entry.message];
  if (message.batch || message.calls.empty()) return {};
  return std::to_string(first_fresh_id + static_cast<std::uint32_t>(&entry - entries_.data()));
}

}  // namespace ringload
