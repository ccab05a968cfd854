#pragma once

// Whether a value is valid by a JSON Schema: the keywords that schema.h writes, and no others. It
// knows nothing of the types that the schemas are made from.

#include <ringrpc/json.h>

#include <string_view>

#include "tests/unit/fields/document.h"

namespace ringrpc::fields_test {

class SchemaChecker {
 public:
  explicit SchemaChecker(std::string_view schema) : schema_(schema) {}

  // A keyword that is not known, or a $ref that leads nowhere, fails the test.
  [[nodiscard]] bool valid(JsonValue value) const { return valid(schema_.value(), value); }

 private:
  [[nodiscard]] bool valid(JsonValue schema, JsonValue value) const;
  [[nodiscard]] bool holds(std::string_view keyword, JsonValue argument, JsonValue schema,
                           JsonValue value) const;
  [[nodiscard]] bool numbers_hold(std::string_view keyword, JsonValue bound, JsonValue value) const;
  [[nodiscard]] bool members_hold(std::string_view keyword, JsonValue argument, JsonValue schema,
                                  JsonValue value) const;
  [[nodiscard]] bool elements_hold(std::string_view keyword, JsonValue argument, JsonValue schema,
                                   JsonValue value) const;

  Document schema_;
};

}  // namespace ringrpc::fields_test
