#include "tests/unit/fields/schema_checker.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace ringrpc::fields_test {
namespace {

using Kind = JsonValue::Kind;
using Entry = JsonValue::Entry;

std::string text_of(JsonValue value) {
  std::string text;
  EXPECT_TRUE(value.get(text)) << value.raw();
  return text;
}

// 64 bits of mantissa: whole numbers are exact as far as any integer type goes.
long double number_of(JsonValue value) {
  return std::strtold(std::string(value.raw()).c_str(), nullptr);
}

bool is_type(std::string_view type, JsonValue value) {
  switch (value.kind()) {
    case Kind::null:
      return type == "null";
    case Kind::boolean:
      return type == "boolean";
    case Kind::string:
      return type == "string";
    case Kind::array:
      return type == "array";
    case Kind::object:
      return type == "object";
    case Kind::number:
      return type == "number" ||
             (type == "integer" && std::floor(number_of(value)) == number_of(value));
    default:
      return false;
  }
}

bool is_any_type(JsonValue types, JsonValue value) {
  if (types.kind() == Kind::string) return is_type(text_of(types), value);
  for (Entry type = types.first(); type; type = type.next()) {
    if (is_type(text_of(type.value()), value)) return true;
  }
  return false;
}

// Strings and null are all that enums have.
bool is_listed(JsonValue list, JsonValue value) {
  for (Entry one = list.first(); one; one = one.next()) {
    if (one.value().kind() != value.kind()) continue;
    if (value.kind() == Kind::null || text_of(one.value()) == text_of(value)) return true;
  }
  return false;
}

}  // namespace

bool SchemaChecker::valid(JsonValue schema, JsonValue value) const {
  if (schema.kind() == Kind::boolean) return schema.raw() == "true";
  EXPECT_EQ(schema.kind(), Kind::object) << schema.raw();
  for (Entry entry = schema.first(); entry; entry = entry.next()) {
    if (!holds(entry.raw_name(), entry.value(), schema, value)) return false;
  }
  return true;
}

bool SchemaChecker::holds(std::string_view keyword, JsonValue argument, JsonValue schema,
                          JsonValue value) const {
  if (keyword == "$schema" || keyword == "$defs") return true;
  if (keyword == "type") return is_any_type(argument, value);
  if (keyword == "enum") return is_listed(argument, value);
  if (keyword == "$ref") {
    const std::string place = text_of(argument);
    constexpr std::string_view begin = "#/$defs/";
    EXPECT_TRUE(place.starts_with(begin)) << place;
    const JsonValue target = schema_.value().find("$defs").find(place.substr(begin.size()));
    EXPECT_TRUE(target.exists()) << place;
    return target.exists() && valid(target, value);
  }
  if (keyword == "anyOf") {
    for (Entry one = argument.first(); one; one = one.next()) {
      if (valid(one.value(), value)) return true;
    }
    return false;
  }
  if (keyword.ends_with("imum")) return numbers_hold(keyword, argument, value);
  if (keyword.ends_with("roperties") || keyword == "required") {
    return members_hold(keyword, argument, schema, value);
  }
  return elements_hold(keyword, argument, schema, value);
}

bool SchemaChecker::numbers_hold(std::string_view keyword, JsonValue bound, JsonValue value) const {
  if (value.kind() != Kind::number) return true;
  const long double number = number_of(value);
  const long double limit = number_of(bound);
  if (keyword == "minimum") return number >= limit;
  if (keyword == "maximum") return number <= limit;
  if (keyword == "exclusiveMinimum") return number > limit;
  EXPECT_EQ(keyword, "exclusiveMaximum");
  return number < limit;
}

bool SchemaChecker::members_hold(std::string_view keyword, JsonValue argument, JsonValue schema,
                                 JsonValue value) const {
  if (value.kind() != Kind::object) return true;
  if (keyword == "required") {
    for (Entry name = argument.first(); name; name = name.next()) {
      if (!value.find(text_of(name.value())).exists()) return false;
    }
    return true;
  }
  for (Entry member = value.first(); member; member = member.next()) {
    const JsonValue known = schema.find("properties").find(member.raw_name());
    if (keyword == "properties" && known.exists() && !valid(known, member.value())) return false;
    if (keyword == "additionalProperties" && !known.exists() && !valid(argument, member.value())) {
      return false;
    }
  }
  return true;
}

bool SchemaChecker::elements_hold(std::string_view keyword, JsonValue argument, JsonValue schema,
                                  JsonValue value) const {
  if (value.kind() != Kind::array) return true;
  if (keyword == "minItems") return static_cast<long double>(value.size()) >= number_of(argument);
  if (keyword == "maxItems") return static_cast<long double>(value.size()) <= number_of(argument);
  const std::size_t prefix = schema.find("prefixItems").size();
  if (keyword == "prefixItems") {
    for (std::size_t i = 0; i < prefix && i < value.size(); ++i) {
      if (!valid(argument.at(i), value.at(i))) return false;
    }
    return true;
  }
  EXPECT_EQ(keyword, "items");
  for (std::size_t i = prefix; i < value.size(); ++i) {
    if (!valid(argument, value.at(i))) return false;
  }
  return true;
}

}  // namespace ringrpc::fields_test
