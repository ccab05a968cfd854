#include "engine/base/assert.h"
#include "engine/json/cursor.h"
#include "engine/json/decoder.h"
#include "engine/json/text.h"

namespace ringrpc::json {

Place Decoder::read_other(const TypeInfo& type, void* target, Place at) {
  switch (type.kind) {
    case Kind::boolean:
      return read_boolean(target, at);
    case Kind::floating:
      return read_floating(type, target, at);
    case Kind::enumeration:
      return read_enum(type, target, at);
    case Kind::string_view:
      return read_text(*static_cast<std::string_view*>(target), at);
    case Kind::string:
      return read_owned_text(type, target, at);
    case Kind::json:
      return read_json(target, at);
    case Kind::optional:
      return read_optional(type, target, at);
    case Kind::vector:
      return read_vector(type, target, at);
    case Kind::span:
      return read_span(type, target, at);
    case Kind::map:
      return read_map(type, target, at);
    case Kind::structure:
      return read_struct(type, static_cast<char*>(target), at);
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      break;
  }
  RINGRPC_ASSERT(false, type.kind);
  return nullptr;
}

Place Decoder::read_boolean(void* target, Place at) {
  const char c = text_[*at];
  if (c != 't' && c != 'f') return fail(reasons::not_boolean);
  *static_cast<bool*>(target) = c == 't';
  return at + 1;
}

Place Decoder::read_integer_slow(const TypeInfo& type, void* target, Place at) {
  Integer integer;
  const NumberStatus status = read_integer(text_, at, integer);
  if (status != NumberStatus::ok) return fail_number(status, reasons::not_integer);
  if (integer.magnitude > type.magnitude_max[integer.negative]) return fail(reasons::out_of_range);
  store(target, bits_of(integer), type.size);
  return at + 1;
}

Place Decoder::read_floating(const TypeInfo& type, void* target, Place at) {
  const NumberStatus status = type.size == sizeof(float)
                                  ? read_float(text_, at, *static_cast<float*>(target))
                                  : read_double(text_, at, *static_cast<double*>(target));
  if (status != NumberStatus::ok) return fail_number(status, reasons::not_number);
  return at + 1;
}

bool Decoder::unescaped(std::string_view& body) {
  if (!has_escapes(body)) return true;
  const std::size_t before = scratch_.used();
  char* const room = scratch_.take(body.size());
  if (room == nullptr) return false;
  const std::size_t size = unescape(body, room, body.size());
  RINGRPC_ASSERT(size <= body.size(), size, body.size());
  scratch_.rewind(before + size);
  body = {room, size};
  return true;
}

Place Decoder::read_text(std::string_view& text, Place at) {
  if (text_[*at] != '"') return fail(reasons::not_string);
  std::string_view body = string_body(text_, at);
  if (!unescaped(body)) return fail(reasons::no_scratch);
  text = body;
  return at + 1;
}

Place Decoder::read_owned_text(const TypeInfo& type, void* target, Place at) {
  const std::size_t before = scratch_.used();
  std::string_view text;
  at = read_text(text, at);
  if (at == nullptr) return nullptr;
  if (!type.assign(target, text.data(), text.size())) return fail(reasons::no_memory);
  scratch_.rewind(before);
  return at;
}

Place Decoder::read_enum(const TypeInfo& type, void* target, Place at) {
  const std::size_t before = scratch_.used();
  std::string_view text;
  at = read_text(text, at);
  if (at == nullptr) return nullptr;
  for (std::uint32_t i = 0; i < type.name_count; ++i) {
    if (type.names[i].name == text) {
      store(target, static_cast<std::uint64_t>(type.names[i].value), type.size);
      scratch_.rewind(before);
      return at;
    }
  }
  return fail(reasons::not_enumerator);
}

Place Decoder::read_json(void* target, Place at) {
  const char c = text_[*at];
  const char* const begin = text_ + *at;
  const Place behind = skip(text_, at);
  const std::string_view raw =
      c == '{' || c == '['
          ? std::string_view(begin, static_cast<std::size_t>(text_ + behind[-1] + 1 - begin))
          : scalar_text(text_, at);
  *static_cast<Json*>(target) = Json(raw, Json::Checked());
  return behind;
}

Place Decoder::read_optional(const TypeInfo& type, void* target, Place at) {
  if (text_[*at] == 'n') {
    type.clear(target);
    return at + 1;
  }
  void* const element = type.append(target);
  if (element == nullptr) return fail(reasons::no_memory);
  return read(*type.element, element, at);
}

Place Decoder::read_vector(const TypeInfo& type, void* target, Place at) {
  if (text_[*at] != '[') return fail(reasons::not_array);
  type.clear(target);
  ++at;
  for (std::size_t place = 0; text_[*at] != ']'; ++place) {
    if (place > 0) ++at;  // The comma.
    void* const element = type.append(target);
    if (element == nullptr) return fail(reasons::no_memory);
    at = read(*type.element, element, at);
    if (at == nullptr) return failed_at(place);
  }
  return at + 1;
}

// Returns: the elements of the array, up to the first that is no scalar.
std::size_t Decoder::count_scalars(Place at) const {
  ++at;
  if (text_[*at] == ']') return 0;
  std::size_t count = 1;
  for (; text_[*at] != '[' && text_[*at] != '{' && text_[at[1]] == ','; at += 2) ++count;
  return count;
}

Place Decoder::read_span(const TypeInfo& type, void* target, Place at) {
  if (text_[*at] != '[') return fail(reasons::not_array);
  const std::uint32_t size = type.element->size;
  const std::size_t count = count_scalars(at);
  char* const elements = scratch_.take(count * size, size < 8 ? size : 8);
  if (elements == nullptr) return fail(reasons::no_scratch);
  std::memset(elements, 0, count * size);
  ++at;
  for (std::size_t place = 0; place < count; ++place) {
    if (place > 0) ++at;  // The comma.
    at = read(*type.element, elements + place * size, at);
    if (at == nullptr) return failed_at(place);
  }
  RINGRPC_ASSERT(text_[*at] == ']', text_[*at]);
  type.view(target, elements, count);
  return at + 1;
}

Place Decoder::read_map(const TypeInfo& type, void* target, Place at) {
  if (text_[*at] != '{') return fail(reasons::not_object);
  type.clear(target);
  ++at;
  for (bool more = false; text_[*at] != '}'; more = true) {
    if (more) ++at;  // The comma.
    const std::size_t before = scratch_.used();
    const std::string_view raw = string_body(text_, at);
    std::string_view key = raw;
    if (!unescaped(key)) return fail(reasons::no_scratch);
    void* element = nullptr;
    const fields::Insert outcome = type.insert(target, key, element);
    scratch_.rewind(before);
    if (outcome == fields::Insert::duplicate) return fail_in(raw, reasons::duplicate);
    if (outcome == fields::Insert::failed) return fail_in(raw, reasons::no_memory);
    at = read(*type.element, element, at + 2);  // Behind the name and the colon.
    if (at == nullptr) return failed_in(raw);
  }
  return at + 1;
}

}  // namespace ringrpc::json
