#pragma once

// Types at run time: the tables that fields.h makes, and that the engine's decoder and encoder work
// from. Nothing here is a template.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::fields {

// What a type looks like in JSON, and how its bytes are read and written.
enum class Kind : std::uint8_t {
  null,  // std::nullptr_t and std::monostate
  boolean,
  signed_integer,    // size bytes
  unsigned_integer,  // size bytes
  floating,          // float or double, by size
  enumeration,       // a string, one of names[]
  string_view,
  string,
  json,       // ringrpc::Json: any value, as its text
  optional,   // element or null
  vector,     // array of element
  span,       // array of element, in the scratch of the call
  array,      // array of count elements
  map,        // object of element
  tuple,      // array of fields[], which have no names
  variant,    // one of fields[], told by the JSON type of the value
  structure,  // object of fields[], or array of them by position
};

// What a value is in JSON: bits, since some types may be more than one.
namespace json_type {
inline constexpr std::uint8_t null = 1, boolean = 2, number = 4, string = 8, array = 16,
                              object = 32, any = 63;
}

struct TypeInfo;

// One member of a struct.
struct Field {
  const char* fragment = nullptr;  // ,"name": with 16 readable bytes at least.
  std::uint64_t head = 0;          // The first eight bytes of name", the quote included.
  std::uint64_t head_mask = 0;     // Which bits of head count, for names under eight bytes.
  const TypeInfo* type = nullptr;
  std::uint64_t bit = 0;  // 1 << its place in the struct.
  std::uint32_t offset = 0;
  std::uint16_t name_size = 0;

  [[nodiscard]] constexpr std::string_view name() const { return {fragment + 2, name_size}; }
};

// One enumerator.
struct EnumName {
  std::string_view name;
  std::int64_t value = 0;
};

// The elements of a vector, span, string or optional.
struct Range {
  const void* data = nullptr;
  std::size_t count = 0;
};

enum class Insert : std::uint8_t { done, duplicate, failed };

// Called for each entry of a map; false ends the iteration.
using Visit = bool (*)(void* context, std::string_view key, const void* value);

// A type at run time. The functions are compiled in the user's file and catch what a container
// throws there: the engine is built without exceptions.
// Lifetime: static, immutable.
struct TypeInfo {
  Kind kind = Kind::null;
  std::uint8_t field_count = 0;
  std::uint8_t json_types = 0;  // What its values may be in JSON.
  std::uint16_t name_count = 0;
  std::uint32_t size = 0;
  std::uint32_t count = 0;     // Of an array's elements.
  std::uint64_t required = 0;  // Bit i: fields[i] must be present.
  // Of integers: the largest magnitude without and with a minus.
  std::uint64_t magnitude_max[2] = {0, 0};
  const Field* fields = nullptr;
  const EnumName* names = nullptr;
  const TypeInfo* element = nullptr;
  std::string_view name = {};  // Of a structure, without namespaces and template arguments.

  void (*clear)(void* self) = nullptr;  // optional, vector, map
  // optional: engages; vector: appends. Returns: the new element, or null when it failed.
  void* (*append)(void* self) = nullptr;
  Insert (*insert)(void* self, std::string_view key, void*& element) = nullptr;  // map
  bool (*assign)(void* self, const char* data, std::size_t count) = nullptr;     // string
  void (*view)(void* self, const void* data, std::size_t count) = nullptr;       // span
  // variant: makes it hold that one of its types. Returns: as append().
  void* (*select)(void* self, std::uint32_t place) = nullptr;
  // optional, vector, span, array, string; variant: the value held, and its place for a count.
  Range (*read)(const void* self) = nullptr;
  bool (*each)(const void* self, void* context, Visit visit) = nullptr;  // map

  [[nodiscard]] bool is_optional() const { return kind == Kind::optional; }
};

}  // namespace ringrpc::fields
