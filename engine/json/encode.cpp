#include "engine/json/encode.h"

#include <ringrpc/limits.h>

#include <bit>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/json/check.h"

namespace ringrpc::json {

using fields::Field;
using fields::Kind;
using fields::Range;
using fields::TypeInfo;

static_assert(std::endian::native == std::endian::little, "low bytes come first");

namespace {

// Returns: the bytes of an unsigned integer. Requires: size is 1, 2, 4 or 8.
std::uint64_t load(const void* value, std::uint32_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, value, size);
  return bits;
}

std::int64_t load_signed(const void* value, std::uint32_t size) {
  const std::uint32_t unused = 64 - 8 * size;
  return static_cast<std::int64_t>(load(value, size) << unused) >> unused;
}

void write_enum(const TypeInfo& type, const void* value, JsonWriter& writer) {
  const std::uint64_t bits = load(value, type.size);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * type.size);
  for (std::uint32_t i = 0; i < type.name_count; ++i) {
    if ((static_cast<std::uint64_t>(type.names[i].value) & mask) == bits) {
      writer.string(type.names[i].name);
      return;
    }
  }
  writer.fail();
  writer.null();
}

void write_struct(const TypeInfo& type, const char* value, JsonWriter& writer) {
  constexpr std::size_t fragment_extra = 4;  // ,"":
  writer.begin_object();
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    const TypeInfo* member = field.type;
    const void* at = value + field.offset;
    if (member->kind == Kind::optional) {
      at = member->read(at).data;
      if (at == nullptr) continue;
      member = member->element;
    }
    writer.member_fragment(field.fragment, field.name_size + fragment_extra);
    encode(*member, at, writer);
  }
  writer.end_object();
}

void write_range(const TypeInfo& type, const void* value, JsonWriter& writer) {
  const Range range = type.read(value);
  const char* at = static_cast<const char*>(range.data);
  writer.begin_array();
  for (std::size_t i = 0; i < range.count && writer.ok(); ++i) {
    encode(*type.element, at, writer);
    at += type.element->size;
  }
  writer.end_array();
}

struct MapContext {
  const TypeInfo& element;
  JsonWriter& writer;
};

void write_map(const TypeInfo& type, const void* value, JsonWriter& writer) {
  MapContext context{*type.element, writer};
  writer.begin_object();
  type.each(value, &context, [](void* opaque, std::string_view key, const void* element) {
    const MapContext& here = *static_cast<MapContext*>(opaque);
    here.writer.member(key);
    encode(here.element, element, here.writer);
    return here.writer.ok();
  });
  writer.end_object();
}

void write_tuple(const TypeInfo& type, const char* value, JsonWriter& writer) {
  writer.begin_array();
  for (std::uint32_t i = 0; i < type.field_count && writer.ok(); ++i) {
    encode(*type.fields[i].type, value + type.fields[i].offset, writer);
  }
  writer.end_array();
}

void write_variant(const TypeInfo& type, const void* value, JsonWriter& writer) {
  const Range held = type.read(value);
  if (held.data == nullptr) {  // An exception has left it without a value.
    writer.fail();
    return writer.null();
  }
  encode(*type.fields[held.count].type, held.data, writer);
}

void write_optional(const TypeInfo& type, const void* value, JsonWriter& writer) {
  const void* const element = type.read(value).data;
  if (element == nullptr) return writer.null();
  encode(*type.element, element, writer);
}

void write_json(const void* value, JsonWriter& writer) {
  const Json& json = *static_cast<const Json*>(value);
  const std::string_view text = json.text();
  if (text.empty()) return writer.null();
  if (!json.checked() && !is_one_value(text)) writer.fail();
  writer.raw(text);
}

template <typename T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

}  // namespace

void encode(const TypeInfo& type, const void* value, JsonWriter& writer) {
  switch (type.kind) {
    case Kind::null:
      return writer.null();
    case Kind::boolean:
      return writer.boolean(as<bool>(value));
    case Kind::signed_integer:
      return writer.integer(load_signed(value, type.size));
    case Kind::unsigned_integer:
      return writer.unsigned_integer(load(value, type.size));
    case Kind::floating:
      if (type.size == sizeof(float)) return writer.short_number(as<float>(value));
      return writer.number(as<double>(value));
    case Kind::enumeration:
      return write_enum(type, value, writer);
    case Kind::string_view:
      return writer.string(as<std::string_view>(value));
    case Kind::string: {
      const Range range = type.read(value);
      return writer.string({static_cast<const char*>(range.data), range.count});
    }
    case Kind::json:
      return write_json(value, writer);
    case Kind::optional:
      return write_optional(type, value, writer);
    case Kind::variant:
      return write_variant(type, value, writer);
    default:
      break;
  }
  // Deeper than what is accepted is not sent either, and ends the recursion.
  if (writer.depth() == limits::depth_max) writer.fail();
  if (!writer.ok()) return;
  switch (type.kind) {
    case Kind::vector:
    case Kind::span:
    case Kind::array:
      return write_range(type, value, writer);
    case Kind::tuple:
      return write_tuple(type, static_cast<const char*>(value), writer);
    case Kind::map:
      return write_map(type, value, writer);
    case Kind::structure:
      return write_struct(type, static_cast<const char*>(value), writer);
    default:
      RINGRPC_ASSERT(false, type.kind);
  }
}

}  // namespace ringrpc::json
