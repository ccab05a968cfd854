#include "engine/json/decode.h"

#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/json/cursor.h"
#include "engine/json/number.h"
#include "engine/json/text.h"

namespace ringrpc::json {

using fields::Field;
using fields::Kind;
using fields::TypeInfo;

static_assert(std::endian::native == std::endian::little, "names are compared as words");

namespace {

// Stores the low bytes of a word. Requires: size is 1, 2, 4 or 8.
void store(void* target, std::uint64_t bits, std::uint32_t size) {
  switch (size) {
    case 8:
      std::memcpy(target, &bits, 8);
      return;
    case 4:
      std::memcpy(target, &bits, 4);
      return;
    case 2:
      std::memcpy(target, &bits, 2);
      return;
    default:
      std::memcpy(target, &bits, 1);
      return;
  }
}

constexpr std::uint32_t no_field = 0xFFFF'FFFF;

// Reads one message's values into one target. Each member function reads the value at `at_` and
// leaves `at_` behind it, or answers false with the error filled.
class Decoder {
 public:
  Decoder(JsonValue value, Scratch& scratch, const DecodeOptions& options, DecodeError& error)
      : text_(value.text()),
        at_(value.position()),
        scratch_(scratch),
        error_(error),
        options_(options) {}

  bool read(const TypeInfo& type, void* target);
  bool read_positional(const TypeInfo& type, char* target);

 private:
  [[nodiscard]] char first() const { return text_[*at_]; }
  [[gnu::cold, gnu::noinline]] bool fail(const char* reason) {
    error_.reason = reason;
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool fail_at(std::string_view name, const char* reason) {
    error_.prepend_name(name);
    return fail(reason);
  }
  [[gnu::cold, gnu::noinline]] bool fail_number(NumberStatus status, const char* reason) {
    return fail(status == NumberStatus::out_of_range ? reasons::out_of_range : reason);
  }

  bool read_boolean(void* target);
  bool read_integer_of(const TypeInfo& type, void* target);
  bool read_floating(const TypeInfo& type, void* target);
  bool read_enum(const TypeInfo& type, void* target);
  bool read_optional(const TypeInfo& type, void* target);
  bool read_vector(const TypeInfo& type, void* target);
  bool read_span(const TypeInfo& type, void* target);
  bool read_map(const TypeInfo& type, void* target);
  bool read_struct(const TypeInfo& type, char* target);
  bool read_text(std::string_view& text);
  bool read_owned_text(const TypeInfo& type, void* target);
  bool read_json(void* target);

  [[nodiscard]] std::uint32_t find(const TypeInfo& type, std::uint32_t expected) const;
  [[gnu::cold, gnu::noinline]] std::uint32_t find_escaped(const TypeInfo& type,
                                                          std::string_view name) const;
  bool unknown_member();
  bool check_required(const TypeInfo& type, std::uint64_t seen);
  [[nodiscard]] std::size_t count_scalars() const;
  // Returns: the body, unescaped into the scratch if need be; false when that is full.
  bool unescaped(std::string_view& body);

  const char* text_;
  const std::uint32_t* at_;
  Scratch& scratch_;
  DecodeError& error_;
  const DecodeOptions& options_;
};

bool Decoder::read(const TypeInfo& type, void* target) {
  switch (type.kind) {
    case Kind::boolean:
      return read_boolean(target);
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      return read_integer_of(type, target);
    case Kind::floating:
      return read_floating(type, target);
    case Kind::enumeration:
      return read_enum(type, target);
    case Kind::string_view:
      return read_text(*static_cast<std::string_view*>(target));
    case Kind::string:
      return read_owned_text(type, target);
    case Kind::json:
      return read_json(target);
    case Kind::optional:
      return read_optional(type, target);
    case Kind::vector:
      return read_vector(type, target);
    case Kind::span:
      return read_span(type, target);
    case Kind::map:
      return read_map(type, target);
    case Kind::structure:
      return read_struct(type, static_cast<char*>(target));
  }
  RINGRPC_ASSERT(false, type.kind);
  return false;
}

bool Decoder::read_boolean(void* target) {
  const char c = first();
  if (c != 't' && c != 'f') return fail(reasons::not_boolean);
  *static_cast<bool*>(target) = c == 't';
  ++at_;
  return true;
}

bool Decoder::read_integer_of(const TypeInfo& type, void* target) {
  Integer integer;
  const NumberStatus status = read_integer(text_, at_, integer);
  if (status != NumberStatus::ok) return fail_number(status, reasons::not_integer);
  const bool fits = type.kind == Kind::signed_integer ? fits_signed(integer, type.size)
                                                      : fits_unsigned(integer, type.size);
  if (!fits) return fail(reasons::out_of_range);
  store(target, bits_of(integer), type.size);
  ++at_;
  return true;
}

bool Decoder::read_floating(const TypeInfo& type, void* target) {
  const NumberStatus status = type.size == sizeof(float)
                                  ? read_float(text_, at_, *static_cast<float*>(target))
                                  : read_double(text_, at_, *static_cast<double*>(target));
  if (status != NumberStatus::ok) return fail_number(status, reasons::not_number);
  ++at_;
  return true;
}

bool Decoder::unescaped(std::string_view& body) {
  if (!has_escapes(body)) return true;
  const std::size_t before = scratch_.used();
  char* const room = scratch_.take(body.size());
  if (room == nullptr) return fail(reasons::no_scratch);
  const std::size_t size = unescape(body, room, body.size());
  RINGRPC_ASSERT(size <= body.size(), size, body.size());
  scratch_.rewind(before + size);
  body = {room, size};
  return true;
}

bool Decoder::read_text(std::string_view& text) {
  if (first() != '"') return fail(reasons::not_string);
  std::string_view body = string_body(text_, at_);
  if (!unescaped(body)) return false;
  text = body;
  ++at_;
  return true;
}

bool Decoder::read_owned_text(const TypeInfo& type, void* target) {
  const std::size_t before = scratch_.used();
  std::string_view text;
  if (!read_text(text)) return false;
  if (!type.assign(target, text.data(), text.size())) return fail(reasons::no_memory);
  scratch_.rewind(before);
  return true;
}

bool Decoder::read_enum(const TypeInfo& type, void* target) {
  const std::size_t before = scratch_.used();
  std::string_view text;
  if (!read_text(text)) return false;
  for (std::uint32_t i = 0; i < type.name_count; ++i) {
    if (type.names[i].name == text) {
      store(target, static_cast<std::uint64_t>(type.names[i].value), type.size);
      scratch_.rewind(before);
      return true;
    }
  }
  return fail(reasons::not_enumerator);
}

bool Decoder::read_json(void* target) {
  const char c = first();
  const char* const begin = text_ + *at_;
  std::string_view raw;
  if (c == '{' || c == '[') {
    at_ = skip(text_, at_);
    raw = {begin, static_cast<std::size_t>(text_ + at_[-1] + 1 - begin)};
  } else {
    raw = scalar_text(text_, at_);
    ++at_;
  }
  *static_cast<Json*>(target) = Json(raw);
  return true;
}

bool Decoder::read_optional(const TypeInfo& type, void* target) {
  if (first() == 'n') {
    type.clear(target);
    ++at_;
    return true;
  }
  void* const element = type.append(target);
  if (element == nullptr) return fail(reasons::no_memory);
  return read(*type.element, element);
}

bool Decoder::read_vector(const TypeInfo& type, void* target) {
  if (first() != '[') return fail(reasons::not_array);
  type.clear(target);
  ++at_;
  for (std::size_t place = 0; first() != ']'; ++place) {
    if (place > 0) ++at_;  // The comma.
    void* const element = type.append(target);
    if (element == nullptr) return fail(reasons::no_memory);
    if (!read(*type.element, element)) {
      error_.prepend_place(place);
      return false;
    }
  }
  ++at_;
  return true;
}

// Returns: the elements of the array at at_, up to the first that is no scalar.
std::size_t Decoder::count_scalars() const {
  const std::uint32_t* at = at_ + 1;
  if (text_[*at] == ']') return 0;
  std::size_t count = 1;
  for (; text_[*at] != '[' && text_[*at] != '{' && text_[at[1]] == ','; at += 2) ++count;
  return count;
}

bool Decoder::read_span(const TypeInfo& type, void* target) {
  if (first() != '[') return fail(reasons::not_array);
  const std::uint32_t size = type.element->size;
  const std::size_t count = count_scalars();
  char* const elements = scratch_.take(count * size, size < 8 ? size : 8);
  if (elements == nullptr) return fail(reasons::no_scratch);
  std::memset(elements, 0, count * size);
  ++at_;
  for (std::size_t place = 0; place < count; ++place) {
    if (place > 0) ++at_;  // The comma.
    if (!read(*type.element, elements + place * size)) {
      error_.prepend_place(place);
      return false;
    }
  }
  RINGRPC_ASSERT(first() == ']', first());
  ++at_;
  type.view(target, elements, count);
  return true;
}

bool Decoder::read_map(const TypeInfo& type, void* target) {
  if (first() != '{') return fail(reasons::not_object);
  type.clear(target);
  ++at_;
  for (bool more = false; first() != '}'; more = true) {
    if (more) ++at_;  // The comma.
    const std::size_t before = scratch_.used();
    const std::string_view raw = string_body(text_, at_);
    std::string_view key = raw;
    if (!unescaped(key)) return false;
    void* element = nullptr;
    const fields::Insert outcome = type.insert(target, key, element);
    scratch_.rewind(before);
    if (outcome == fields::Insert::duplicate) return fail_at(raw, reasons::duplicate);
    if (outcome == fields::Insert::failed) return fail_at(raw, reasons::no_memory);
    at_ += 2;  // The name and the colon.
    if (!read(*type.element, element)) {
      error_.prepend_name(raw);
      return false;
    }
  }
  ++at_;
  return true;
}

// Returns: the field that the name at at_ means, or no_field. Members mostly come in the order of
// their declaration, so the search begins at the expected one.
std::uint32_t Decoder::find(const TypeInfo& type, std::uint32_t expected) const {
  const char* const name = text_ + *at_ + 1;
  std::uint64_t head = 0;
  std::memcpy(&head, name, sizeof head);
  const std::uint32_t count = type.field_count;
  for (std::uint32_t tried = 0, i = expected; tried < count; ++tried, ++i) {
    if (i >= count) i = 0;
    const Field& field = type.fields[i];
    if ((head & field.head_mask) != field.head) continue;
    if (field.name_size < sizeof head) return i;
    // The rest, and the quote behind it. A colon follows the quote, so that both are in the text.
    if (*at_ + 1 + field.name_size < at_[1] &&
        std::memcmp(name + 8, field.fragment + 2 + 8, field.name_size + 1u - 8) == 0) {
      return i;
    }
  }
  const std::string_view body = string_body(text_, at_);
  return has_escapes(body) ? find_escaped(type, body) : no_field;
}

std::uint32_t Decoder::find_escaped(const TypeInfo& type, std::string_view name) const {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    if (spells(name, type.fields[i].name())) return i;
  }
  return no_field;
}

bool Decoder::unknown_member() {
  if (options_.strict) return fail_at(string_body(text_, at_), reasons::unknown);
  at_ = skip(text_, at_ + 2);
  return true;
}

bool Decoder::check_required(const TypeInfo& type, std::uint64_t seen) {
  const std::uint64_t missing = type.required & ~seen;
  if (missing == 0) [[likely]]
    return true;
  return fail_at(type.fields[std::countr_zero(missing)].name(), reasons::required);
}

bool Decoder::read_struct(const TypeInfo& type, char* target) {
  if (first() != '{') return fail(reasons::not_object);
  std::uint64_t seen = 0;
  std::uint32_t expected = 0;
  ++at_;
  for (bool more = false; first() != '}'; more = true) {
    if (more) ++at_;  // The comma.
    const std::uint32_t i = find(type, expected);
    if (i == no_field) [[unlikely]] {
      if (!unknown_member()) return false;
      continue;
    }
    const Field& field = type.fields[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((seen & bit) != 0) return fail_at(field.name(), reasons::duplicate);
    seen |= bit;
    at_ += 2;  // The name and the colon.
    if (!read(*field.type, target + field.offset)) {
      error_.prepend_name(field.name());
      return false;
    }
    expected = i + 1;
  }
  ++at_;
  return check_required(type, seen);
}

bool Decoder::read_positional(const TypeInfo& type, char* target) {
  std::size_t place = 0;
  ++at_;
  for (; first() != ']'; ++place) {
    if (place > 0) ++at_;  // The comma.
    if (place == type.field_count) {
      error_.prepend_place(place);
      return fail(reasons::too_many);
    }
    const Field& field = type.fields[place];
    if (!read(*field.type, target + field.offset)) {
      error_.prepend_place(place);
      return false;
    }
  }
  ++at_;
  const std::uint64_t seen = place == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << place) - 1;
  const std::uint64_t missing = type.required & ~seen;
  if (missing == 0) return true;
  error_.prepend_place(static_cast<std::size_t>(std::countr_zero(missing)));
  return fail(reasons::required);
}

// Returns: what absent params mean for that type.
bool decode_absent(const TypeInfo& type, DecodeError& error) {
  if (type.kind == Kind::optional || type.kind == Kind::json) return true;
  if (type.kind == Kind::structure) {
    if (type.required == 0) return true;
    error.prepend_name(type.fields[std::countr_zero(type.required)].name());
  }
  error.reason = reasons::required;
  return false;
}

}  // namespace

bool decode(const TypeInfo& type, void* target, JsonValue value, Scratch& scratch,
            const DecodeOptions& options, DecodeError& error) {
  if (!value.exists()) return decode_absent(type, error);
  Decoder decoder(value, scratch, options, error);
  const bool by_position =
      type.kind == Kind::structure && options.positional && value.text()[*value.position()] == '[';
  return by_position ? decoder.read_positional(type, static_cast<char*>(target))
                     : decoder.read(type, target);
}

}  // namespace ringrpc::json
