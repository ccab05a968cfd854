#include "engine/client/document.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cmath>

#include "engine/base/assert.h"
#include "engine/json/text.h"

namespace ringrpc::client {
namespace {

using Place = const std::uint32_t*;

// The text stands between these, so that the walk meets an end behind every value.
constexpr std::string_view opening = "[[";
constexpr std::string_view closing = "]]";

char at_entry(json::Walk walk, Place at) { return at < walk.end ? walk.text[*at] : '\0'; }

// Walks over an object whose own bracket does not count as nesting; so do those of its member
// "error". Requires: `at` is the entry of its `{`. Returns: one past its `}`, or null.
Place skip_message(json::Walk walk, Place at, bool outer) {
  if (at_entry(walk, ++at) == '}') return at + 1;
  while (true) {
    if (at_entry(walk, at) != '"' || at_entry(walk, at + 1) != ':') return nullptr;
    const std::string_view name(walk.text + *at, walk.text[*at + 1] == 'e' ? 7 : 1);
    at += 2;
    if (at >= walk.end) return nullptr;
    const bool error = outer && name == "\"error\"" && at_entry(walk, at) == '{';
    at = error ? skip_message(walk, at, false) : json::skip_value(walk, at);
    if (at == nullptr || at >= walk.end) return nullptr;
    const char next = walk.text[*at++];
    if (next == '}') return at;
    if (next != ',') return nullptr;
  }
}

Place skip_batch(json::Walk walk, Place at) {
  if (at_entry(walk, ++at) == ']') return at + 1;
  while (true) {
    if (at >= walk.end) return nullptr;
    at = at_entry(walk, at) == '{' ? skip_message(walk, at, true) : json::skip_value(walk, at);
    if (at == nullptr || at >= walk.end) return nullptr;
    const char next = walk.text[*at++];
    if (next == ']') return at;
    if (next != ',') return nullptr;
  }
}

Place skip_root(json::Walk walk, Place at) {
  if (at_entry(walk, at) == '{') return skip_message(walk, at, true);
  if (at_entry(walk, at) == '[') return skip_batch(walk, at);
  return at < walk.end ? json::skip_value(walk, at) : nullptr;
}

bool is_id(JsonValue value) {
  const JsonValue::Kind kind = value.kind();
  return kind == JsonValue::Kind::string || kind == JsonValue::Kind::number ||
         kind == JsonValue::Kind::null;
}

bool is_error(JsonValue value) {
  return value.kind() == JsonValue::Kind::object &&
         value.find("code").kind() == JsonValue::Kind::number;
}

// A member that occurs twice is one that two readers may read differently.
bool take(JsonValue& member, JsonValue value) {
  const bool first = !member.exists();
  member = value;
  return first;
}

}  // namespace

Document::Document() = default;
Document::~Document() = default;

bool Document::reserve(std::size_t size) {
  if (size <= capacity_) return true;
  constexpr std::size_t least = std::size_t{16} << 10;
  std::size_t capacity = std::max(least, capacity_);
  while (capacity < size) capacity *= 2;
  index_ = std::make_unique<json::Index>();
  capacity_ = 0;
  if (!index_->reserve(static_cast<std::uint32_t>(capacity)).ok()) return false;
  capacity_ = capacity;
  return true;
}

bool Document::read(std::string_view text) {
  const std::size_t size = text.size() + opening.size() + closing.size();
  RINGRPC_ASSERT(size <= UINT32_MAX);
  text_.clear();
  text_.reserve(size + limits::padding);
  text_.append(opening).append(text).append(closing).append(limits::padding, ' ');
  if (!reserve(size) || !index_->build(text_.data(), static_cast<std::uint32_t>(size))) {
    return false;
  }
  const Place first = index_->positions();
  const json::Walk walk{text_.data(), first + index_->count()};
  if (index_->count() <= opening.size() + closing.size()) return false;
  // One value inside the inner bracket, then nothing but the two closing ones.
  const Place after = skip_root(walk, first + opening.size());
  json::take_too_deep();  // Counted for servers only.
  if (after == nullptr || after + closing.size() != walk.end) return false;
  return !index_->has_backslash() ||
         json::check_escapes(text_.data() + index_->first_backslash(), text_.data() + size);
}

JsonValue Document::root() const {
  return JsonValue(text_.data(), index_->positions() + opening.size());
}

ServerMessage Document::message(JsonValue value) {
  ServerMessage message;
  if (value.kind() != JsonValue::Kind::object) return message;
  message.text = value.raw();
  JsonValue id;
  JsonValue method;
  bool good = true;
  for (JsonValue::Entry entry = value.first(); entry; entry = entry.next()) {
    if (entry.is("id")) good = take(id, entry.value()) && good;
    if (entry.is("method")) good = take(method, entry.value()) && good;
    if (entry.is("params")) good = take(message.params, entry.value()) && good;
    if (entry.is("result")) good = take(message.result, entry.value()) && good;
    if (entry.is("error")) good = take(message.error, entry.value()) && good;
  }
  if (!good || (id.exists() && !is_id(id))) return message;
  message.id = id.raw();
  if (method.exists()) {
    if (!method.get(message.method) || message.result || message.error) return message;
    message.kind = id ? ServerMessage::Kind::request : ServerMessage::Kind::notification;
    return message;
  }
  // Version 1 of the protocol has both members, one of them null; some servers still do.
  const bool failed = message.error && message.error.kind() != JsonValue::Kind::null;
  if (failed && message.result.kind() == JsonValue::Kind::null) message.result = JsonValue();
  if (!failed && message.result) message.error = JsonValue();
  if (failed ? is_error(message.error) && !message.result : message.result.exists()) {
    message.kind = ServerMessage::Kind::response;
  }
  return message;
}

JsonAnswer ServerMessage::answer() const {
  RINGRPC_ASSERT(kind == Kind::response);
  return error ? JsonAnswer::of_error(read_error(error)) : JsonAnswer::of_result(result.raw());
}

Error read_error(JsonValue error) {
  Error read;
  std::int64_t code = 0;
  // A code that no int can hold is still a code: of nothing that is known here.
  if (error.find("code").get(code)) {
    read.code = static_cast<int>(std::clamp<std::int64_t>(code, INT32_MIN, INT32_MAX));
  }
  (void)error.find("message").get(read.message);
  read.data = error.find("data").raw();
  return read;
}

double retry_after_ms(const Error& error) {
  Document data;
  if (!error.data.starts_with('{') || !data.read(error.data)) return 0;
  double wait = 0;
  if (!data.root().find("retryAfterMs").get(wait)) return 0;
  return std::isfinite(wait) ? std::max(0.0, wait) : 0;
}

}  // namespace ringrpc::client
