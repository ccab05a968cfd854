// JsonValue: reading one value of a message at a time.

#include <ringrpc/json.h>

#include "engine/json/cursor.h"
#include "engine/json/number.h"
#include "engine/json/text.h"

namespace ringrpc {
namespace json {
namespace {

// Returns: the size of the escape at the beginning: \n, \u00e9, or a pair of surrogates.
std::size_t escape_size(std::string_view body) {
  constexpr std::size_t unit = 6;
  if (body[1] != 'u') return 2;
  const bool high = (body[2] == 'd' || body[2] == 'D') &&
                    std::string_view("89aAbB").find(body[3]) != std::string_view::npos;
  return high ? 2 * unit : unit;
}

}  // namespace

bool spells(std::string_view body, std::string_view name) {
  if (!has_escapes(body)) return body == name;
  while (!body.empty()) {
    char piece[4];
    const std::size_t taken = body[0] == '\\' ? escape_size(body) : 1;
    const std::size_t given = unescape(body.substr(0, taken), piece, sizeof piece);
    if (!name.starts_with(std::string_view(piece, given))) return false;
    body.remove_prefix(taken);
    name.remove_prefix(given);
  }
  return name.empty();
}

}  // namespace json

JsonValue::Kind JsonValue::kind() const {
  if (position_ == nullptr) return Kind::absent;
  switch (text_[*position_]) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return Kind::number;
  }
}

std::string_view JsonValue::raw() const {
  if (position_ == nullptr) return {};
  const char first = text_[*position_];
  if (first != '{' && first != '[') return json::scalar_text(text_, position_);
  const std::uint32_t last = json::skip(text_, position_)[-1];
  return {text_ + *position_, last + 1 - *position_};
}

bool JsonValue::get(bool& value) const {
  if (kind() != Kind::boolean) return false;
  value = text_[*position_] == 't';
  return true;
}

bool JsonValue::get(std::int64_t& value) const {
  json::Integer integer;
  if (kind() != Kind::number ||
      json::read_integer(text_, position_, integer) != json::NumberStatus::ok ||
      integer.magnitude > (std::uint64_t{1} << 63) - !integer.negative) {
    return false;
  }
  value = static_cast<std::int64_t>(json::bits_of(integer));
  return true;
}

bool JsonValue::get(std::uint64_t& value) const {
  json::Integer integer;
  if (kind() != Kind::number ||
      json::read_integer(text_, position_, integer) != json::NumberStatus::ok ||
      (integer.negative && integer.magnitude != 0)) {
    return false;
  }
  value = integer.magnitude;
  return true;
}

bool JsonValue::get(double& value) const {
  return kind() == Kind::number &&
         json::read_double(text_, position_, value) == json::NumberStatus::ok;
}

bool JsonValue::get(std::string_view& value, json::Scratch& scratch) const {
  if (kind() != Kind::string) return false;
  const std::string_view body = json::string_body(text_, position_);
  if (!json::has_escapes(body)) {
    value = body;
    return true;
  }
  const std::size_t before = scratch.used();
  char* const room = scratch.take(body.size());
  if (room == nullptr) return false;
  const std::size_t size = json::unescape(body, room, body.size());
  scratch.rewind(before);
  value = {scratch.take(size), size};
  return true;
}

std::size_t JsonValue::copy_string(char* target) const {
  const std::string_view body = json::string_body(text_, position_);
  return json::unescape(body, target, body.size());
}

JsonValue::Entry JsonValue::first() const {
  const Kind what = kind();
  if (what != Kind::object && what != Kind::array) return {};
  const std::uint32_t* const inside = position_ + 1;
  const char c = text_[*inside];
  if (c == '}' || c == ']') return {};
  if (what == Kind::array) return {JsonValue(text_, inside), nullptr};
  return {JsonValue(text_, inside + 2), inside};
}

JsonValue JsonValue::find(std::string_view name) const {
  if (kind() != Kind::object) return {};
  for (Entry entry = first(); entry; entry = entry.next()) {
    if (entry.is(name)) return entry.value();
  }
  return {};
}

JsonValue JsonValue::at(std::size_t place) const {
  if (kind() != Kind::array) return {};
  for (Entry entry = first(); entry; entry = entry.next()) {
    if (place-- == 0) return entry.value();
  }
  return {};
}

std::size_t JsonValue::size() const {
  std::size_t count = 0;
  for (Entry entry = first(); entry; entry = entry.next()) ++count;
  return count;
}

std::string_view JsonValue::Entry::raw_name() const {
  return name_ == nullptr ? std::string_view() : json::string_body(value_.text_, name_);
}

bool JsonValue::Entry::is(std::string_view name) const {
  return name_ != nullptr && json::spells(json::string_body(value_.text_, name_), name);
}

JsonValue::Entry JsonValue::Entry::next() const {
  const char* const text = value_.text_;
  const std::uint32_t* const behind = json::skip(text, value_.position_);
  if (text[*behind] != ',') return {};
  if (name_ == nullptr) return {JsonValue(text, behind + 1), nullptr};
  return {JsonValue(text, behind + 3), behind + 1};
}

}  // namespace ringrpc
