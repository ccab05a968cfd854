#include "engine/json/decode.h"

#include <bit>
#include <cstring>

#include "engine/json/cursor.h"
#include "engine/json/decoder.h"

namespace ringrpc::json {

// Returns: whether the field has the name at `at`. Requires: `head` is its first eight bytes.
inline bool Decoder::is_field(const Field& field, std::uint64_t head, Place at) const {
  if ((head & field.head_mask) != field.head) return false;
  if (field.name_size < sizeof head) return true;
  // The rest, and the quote behind it. A colon follows the quote, so that both are in the text.
  return *at + 1 + field.name_size < at[1] &&
         std::memcmp(text_ + *at + 1 + sizeof head, field.fragment + 2 + sizeof head,
                     field.name_size + 1 - sizeof head) == 0;
}

// Returns: the field that the name at `at` means, or null. Members that are left out keep the order
// of the others, so the search goes on from the expected one.
const Field* Decoder::find(const TypeInfo& type, const Field* expected, Place at) const {
  const Field* const end = type.fields + type.field_count;
  std::uint64_t head = 0;
  std::memcpy(&head, text_ + *at + 1, sizeof head);
  for (const Field* field = expected; field != end; ++field) {
    if (is_field(*field, head, at)) return field;
  }
  for (const Field* field = type.fields; field != expected; ++field) {
    if (is_field(*field, head, at)) return field;
  }
  const std::string_view body = string_body(text_, at);
  return has_escapes(body) ? find_escaped(type, body) : nullptr;
}

const Field* Decoder::find_escaped(const TypeInfo& type, std::string_view name) const {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    if (spells(name, type.fields[i].name())) return &type.fields[i];
  }
  return nullptr;
}

Place Decoder::unknown_member(Place at) {
  if (options_.strict) return fail_in(string_body(text_, at), reasons::unknown);
  return skip(text_, at + 2);
}

Place Decoder::read_struct(const TypeInfo& type, char* target, Place at) {
  if (text_[*at] != '{') [[unlikely]]
    return fail(reasons::not_object);
  const Field* const end = type.fields + type.field_count;
  const Field* expected = type.fields;  // Members mostly come in the order of their declaration.
  std::uint64_t seen = 0;
  bool more = text_[*++at] != '}';
  at += !more;
  for (; more; more = text_[*at++] == ',') {
    std::uint64_t head = 0;
    std::memcpy(&head, text_ + *at + 1, sizeof head);
    const Field* field = expected;
    if (field == end || !is_field(*field, head, at)) [[unlikely]] {
      field = find(type, expected, at);
      if (field == nullptr) {
        at = unknown_member(at);
        if (at == nullptr) return nullptr;
        continue;
      }
    }
    expected = field + 1;
    if ((seen & field->bit) != 0) [[unlikely]] {
      return fail_in(field->name(), reasons::duplicate);
    }
    seen |= field->bit;
    at = read(*field->type, target + field->offset, at + 2);  // Behind the name and the colon.
    if (at == nullptr) [[unlikely]]
      return failed_in(field->name());
  }
  const std::uint64_t missing = type.required & ~seen;
  if (missing == 0) [[likely]]
    return at;
  return fail_in(type.fields[std::countr_zero(missing)].name(), reasons::required);
}

Place Decoder::read_positional(const TypeInfo& type, char* target, Place at) {
  std::size_t place = 0;
  ++at;
  for (; text_[*at] != ']'; ++place) {
    if (place > 0) ++at;  // The comma.
    if (place == type.field_count) return fail_at(place, reasons::too_many);
    const Field& field = type.fields[place];
    at = read(*field.type, target + field.offset, at);
    if (at == nullptr) return failed_at(place);
  }
  const std::uint64_t seen = place == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << place) - 1;
  const std::uint64_t missing = type.required & ~seen;
  if (missing == 0) return at + 1;
  return fail_at(static_cast<std::size_t>(std::countr_zero(missing)), reasons::required);
}

Place Decoder::read_params(const TypeInfo& type, void* target, Place at) {
  if (type.kind == Kind::optional && text_[*at] != 'n') {
    void* const element = type.append(target);
    if (element == nullptr) return fail(reasons::no_memory);
    return read_params(*type.element, element, at);
  }
  if (type.kind != Kind::structure) return read(type, target, at);
  if (options_.positional && text_[*at] == '[') {
    return read_positional(type, static_cast<char*>(target), at);
  }
  return read_struct(type, static_cast<char*>(target), at);
}

namespace {

// Returns: whether a type can do without params: as an empty object or array.
bool decode_absent(const TypeInfo& type, DecodeError& error) {
  std::uint64_t missing = 0;
  switch (type.kind) {
    case Kind::optional:
    case Kind::json:
    case Kind::vector:
    case Kind::span:
    case Kind::map:
      return true;
    case Kind::array:
      missing = type.count > 0 && !type.element->is_optional() ? 1 : 0;
      break;
    case Kind::structure:
    case Kind::tuple:
      missing = type.required;
      break;
    default:
      missing = 1;
      break;
  }
  if (missing == 0) return true;
  error.reason = reasons::required;
  const auto place = static_cast<std::size_t>(std::countr_zero(missing));
  if (type.kind == Kind::structure) {
    error.prepend_name(type.fields[place].name());
  } else if (type.kind == Kind::tuple || type.kind == Kind::array) {
    error.prepend_place(place);
  }
  return false;
}

}  // namespace

bool decode(const TypeInfo& type, void* target, JsonValue value, Scratch& scratch,
            const DecodeOptions& options, DecodeError& error) {
  if (!value.exists()) return decode_absent(type, error);
  Decoder decoder(value.text(), scratch, options, error);
  return decoder.read_params(type, target, value.position()) != nullptr;
}

}  // namespace ringrpc::json
