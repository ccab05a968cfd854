#include <ringrpc/schema.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc {
namespace {

using fields::Field;
using fields::Kind;
using fields::TypeInfo;

// Structs nested deeper than this stand in "$defs", so that a schema does not nest as deep.
constexpr std::size_t nested_max = 8;
// The first number that rounds to no float: halfway between the largest one and 2^128.
constexpr std::string_view float_bound = "340282356779733661637539395458142568448";

// One struct of the type that is described.
struct Use {
  const TypeInfo* type;
  bool shared;       // it has an entry in "$defs"
  std::string name;  // there
};

class Schema {
 public:
  explicit Schema(const SchemaOptions& options) : options_(options) {}

  std::string text(const TypeInfo& type) {
    look_at(type, 0);
    name_shared();
    text_ = "{";
    if (options_.dialect) {
      add(R"("$schema":"https://json-schema.org/draft/2020-12/schema",)");
    }
    if (type.kind == Kind::structure) {
      write_members(type, false);
    } else if (type.kind != Kind::json) {
      write_inside(type, false);
    }
    if (text_.back() == ',') text_.pop_back();
    write_shared();
    return std::move(text_) + "}";
  }

 private:
  void look_at(const TypeInfo& type, std::size_t depth);
  void name_shared();
  Use* find(const TypeInfo& type);

  void add(std::string_view text) { text_ += text; }
  void add_quoted(std::string_view text) { text_.append("\"").append(text).append("\""); }
  void add_type(std::string_view name, bool nullable);
  void add_count(std::string_view keyword, std::size_t count);

  // A whole schema; and one without its braces.
  void write(const TypeInfo& type, bool nullable);
  void write_inside(const TypeInfo& type, bool nullable);
  void write_integer(const TypeInfo& type, bool nullable);
  void write_floating(const TypeInfo& type, bool nullable);
  void write_enum(const TypeInfo& type, bool nullable);
  void write_array(const TypeInfo& type, bool nullable);
  void write_tuple(const TypeInfo& type, bool nullable);
  void write_variant(const TypeInfo& type, bool nullable);
  void write_structure(const TypeInfo& type, bool nullable);
  void write_members(const TypeInfo& type, bool nullable);
  void write_shared();

  SchemaOptions options_;
  std::vector<Use> uses_;
  std::string text_;
};

Use* Schema::find(const TypeInfo& type) {
  const auto place = std::find_if(uses_.begin(), uses_.end(),
                                  [&type](const Use& use) { return use.type == &type; });
  return place == uses_.end() ? nullptr : &*place;
}

// Finds every struct, and which of them need an entry in "$defs".
void Schema::look_at(const TypeInfo& type, std::size_t depth) {
  if (type.kind == Kind::structure) {
    if (Use* const use = find(type); use != nullptr) {
      use->shared = true;
      return;
    }
    uses_.push_back({.type = &type, .shared = depth >= nested_max, .name = {}});
    ++depth;
  }
  if (type.element != nullptr) look_at(*type.element, depth);
  for (const Field* field = type.fields; field != type.fields + type.field_count; ++field) {
    look_at(*field->type, depth);
  }
}

// Structs of one name are told apart by a number.
void Schema::name_shared() {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (!uses_[i].shared) continue;
    const auto taken = [this, i](const std::string& name) {
      return std::any_of(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(i),
                         [&name](const Use& use) { return use.name == name; });
    };
    std::string name(uses_[i].type->name);
    for (int number = 2; taken(name); ++number) {
      name = std::string(uses_[i].type->name) + std::to_string(number);
    }
    uses_[i].name = std::move(name);
  }
}

void Schema::add_type(std::string_view name, bool nullable) {
  add(R"("type":)");
  if (nullable) add("[");
  add_quoted(name);
  if (nullable) add(R"(,"null"])");
}

void Schema::add_count(std::string_view keyword, std::size_t count) {
  add(",");
  add_quoted(keyword);
  add(":");
  add(std::to_string(count));
}

void Schema::write(const TypeInfo& type, bool nullable) {
  if (type.kind == Kind::json) return add("true");
  if (type.kind == Kind::optional) return write(*type.element, true);
  add("{");
  write_inside(type, nullable);
  add("}");
}

void Schema::write_inside(const TypeInfo& type, bool nullable) {
  switch (type.kind) {
    case Kind::null:
      return add_type("null", false);
    case Kind::boolean:
      return add_type("boolean", nullable);
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      return write_integer(type, nullable);
    case Kind::floating:
      return write_floating(type, nullable);
    case Kind::enumeration:
      return write_enum(type, nullable);
    case Kind::string_view:
    case Kind::string:
      return add_type("string", nullable);
    case Kind::json:
      return;
    case Kind::optional:
      return write_inside(*type.element, true);
    case Kind::vector:
    case Kind::span:
    case Kind::array:
      return write_array(type, nullable);
    case Kind::map:
      add_type("object", nullable);
      add(R"(,"additionalProperties":)");
      return write(*type.element, false);
    case Kind::tuple:
      return write_tuple(type, nullable);
    case Kind::variant:
      return write_variant(type, nullable);
    case Kind::structure:
      return write_structure(type, nullable);
  }
}

void Schema::write_integer(const TypeInfo& type, bool nullable) {
  add_type("integer", nullable);
  add(R"(,"minimum":)");
  if (type.magnitude_max[1] != 0) add("-");
  add(std::to_string(type.magnitude_max[1]));
  add(R"(,"maximum":)");
  add(std::to_string(type.magnitude_max[0]));
}

void Schema::write_floating(const TypeInfo& type, bool nullable) {
  add_type("number", nullable);
  if (type.size != sizeof(float)) return;
  add(R"(,"exclusiveMinimum":-)");
  add(float_bound);
  add(R"(,"exclusiveMaximum":)");
  add(float_bound);
}

void Schema::write_enum(const TypeInfo& type, bool nullable) {
  add(R"("enum":[)");
  for (std::uint32_t i = 0; i < type.name_count; ++i) {
    if (i > 0) add(",");
    add_quoted(type.names[i].name);
  }
  if (nullable) add(",null");
  add("]");
}

void Schema::write_array(const TypeInfo& type, bool nullable) {
  add_type("array", nullable);
  add(R"(,"items":)");
  write(*type.element, false);
  if (type.kind != Kind::array) return;
  if (!type.element->is_optional()) add_count("minItems", type.count);
  add_count("maxItems", type.count);
}

void Schema::write_tuple(const TypeInfo& type, bool nullable) {
  add_type("array", nullable);
  std::size_t required = 0;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    add(i == 0 ? R"(,"prefixItems":[)" : ",");
    write(*type.fields[i].type, false);
    if ((type.required & type.fields[i].bit) != 0) required = i + 1;
  }
  if (type.field_count > 0) add("]");
  add(R"(,"items":false)");
  if (required > 0) add_count("minItems", required);
}

void Schema::write_variant(const TypeInfo& type, bool nullable) {
  add(R"("anyOf":[)");
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    if (i > 0) add(",");
    write(*type.fields[i].type, false);
  }
  if (nullable && (type.json_types & fields::json_type::null) == 0) add(R"(,{"type":"null"})");
  add("]");
}

void Schema::write_structure(const TypeInfo& type, bool nullable) {
  const Use& use = *find(type);
  if (!use.shared) return write_members(type, nullable);
  if (nullable) add(R"("anyOf":[{)");
  add(R"("$ref":"#/$defs/)");
  add(use.name);
  add("\"");
  if (nullable) add(R"(},{"type":"null"}])");
}

void Schema::write_members(const TypeInfo& type, bool nullable) {
  add_type("object", nullable);
  add(R"(,"properties":{)");
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    if (i > 0) add(",");
    add_quoted(type.fields[i].name());
    add(":");
    write(*type.fields[i].type, false);
  }
  add("}");
  bool first = true;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    if ((type.required & type.fields[i].bit) == 0) continue;
    add(first ? R"(,"required":[)" : ",");
    add_quoted(type.fields[i].name());
    first = false;
  }
  if (!first) add("]");
  if (options_.strict) add(R"(,"additionalProperties":false)");
}

void Schema::write_shared() {
  bool first = true;
  for (const Use& use : uses_) {
    if (!use.shared) continue;
    if (text_.back() != '{') add(",");
    if (first) add(R"("$defs":{)");
    add_quoted(use.name);
    add(":{");
    write_members(*use.type, false);
    add("}");
    first = false;
  }
  if (!first) add("}");
}

}  // namespace

std::string json_schema(const fields::TypeInfo& type, const SchemaOptions& options) {
  return Schema(options).text(type);
}

}  // namespace ringrpc
