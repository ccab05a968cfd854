#include "engine/base/assert.h"
#include "engine/json/cursor.h"
#include "engine/json/decoder.h"
#include "engine/json/text.h"

namespace ringrpc::json {

Place Decoder::read_other(const TypeInfo& type, void* target, Place at) {
  switch (type.kind) {
    case Kind::null:
      return read_null(at);
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
    case Kind::array:
      return read_array(type, target, at);
    case Kind::map:
      return read_map(type, target, at);
    case Kind::tuple:
      if (text_[*at] != '[') return fail(reasons::not_array);
      return read_positional(type, static_cast<char*>(target), at);
    case Kind::variant:
      return read_variant(type, target, at);
    case Kind::structure:
      return read_struct(type, static_cast<char*>(target), at);
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      break;
  }
  RINGRPC_ASSERT(false, type.kind);
  return nullptr;
}

Place Decoder::read_null(Place at) { return text_[*at] == 'n' ? at + 1 : fail(reasons::not_null); }

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
  if (!unescaped(body)) return fail(reasons::over_memory);
  text = body;
  return at + 1;
}

Place Decoder::read_owned_text(const TypeInfo& type, void* target, Place at) {
  const std::size_t before = scratch_.used();
  std::string_view text;
  at = read_text(text, at);
  if (at == nullptr) return nullptr;
  if (!charge(text.size())) return fail(reasons::over_memory);
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
    if (!charge(type.element->size)) return fail_at(place, reasons::over_memory);
    void* const element = type.append(target);
    if (element == nullptr) return fail_at(place, reasons::no_memory);
    at = read(*type.element, element, at);
    if (at == nullptr) return failed_at(place);
  }
  return at + 1;
}

Place Decoder::read_array(const TypeInfo& type, void* target, Place at) {
  if (text_[*at] != '[') return fail(reasons::not_array);
  // The type hands out its elements for reading; they are those of the target, which is ours.
  char* const elements = static_cast<char*>(const_cast<void*>(type.read(target).data));
  ++at;
  std::size_t place = 0;
  for (; text_[*at] != ']'; ++place) {
    if (place > 0) ++at;  // The comma.
    if (place == type.count) return fail_at(place, reasons::too_many);
    at = read(*type.element, elements + place * type.element->size, at);
    if (at == nullptr) return failed_at(place);
  }
  if (place < type.count && !type.element->is_optional()) {
    return fail_at(place, reasons::required);
  }
  return at + 1;
}

// Returns: the bit of a value that begins with this byte.
static std::uint8_t json_type_of(char first) {
  switch (first) {
    case 'n':
      return fields::json_type::null;
    case 't':
    case 'f':
      return fields::json_type::boolean;
    case '"':
      return fields::json_type::string;
    case '[':
      return fields::json_type::array;
    case '{':
      return fields::json_type::object;
    default:
      return fields::json_type::number;
  }
}

Place Decoder::read_variant(const TypeInfo& type, void* target, Place at) {
  const std::uint8_t bit = json_type_of(text_[*at]);
  for (std::uint32_t place = 0; place < type.field_count; ++place) {
    const TypeInfo& alternative = *type.fields[place].type;
    if ((alternative.json_types & bit) == 0) continue;
    void* const element = type.select(target, place);
    if (element == nullptr) return fail(reasons::no_memory);
    return read(alternative, element, at);
  }
  return fail(reasons::no_alternative);
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
  if (count == 0) {
    type.view(target, nullptr, 0);
    return at + 2;
  }
  char* const elements = scratch_.take(count * size, size < 8 ? size : 8);
  if (elements == nullptr) return fail(reasons::over_memory);
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
    if (!unescaped(key) || !charge(key.size() + type.element->size + map_entry_extra)) {
      return fail_in(raw, reasons::over_memory);
    }
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
