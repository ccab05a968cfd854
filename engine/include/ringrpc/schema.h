#pragma once

// JSON Schema (2020-12) of reflected types: what the decoder accepts, and what the encoder writes.
//
//   std::string text = ringrpc::json_schema<Sum>();
//
// The same type gives the same text with every compiler. A value is valid by the schema if and only
// if it decodes, but for what a schema cannot say: a known member that occurs twice is refused, a
// number that no double can hold (1e999) too, and params may also fill a struct by position.

#include <ringrpc/fields.h>

#include <string>

namespace ringrpc {

struct SchemaOptions {
  bool strict = false;  // of a method that refuses unknown members
  bool dialect = true;  // says "$schema"; without it for schemas inside of other documents
};

// Returns: the schema of a type that fields.h knows. A struct that holds itself, or that occurs
// more than once, stands in "$defs" under its name; the outermost one is always written out. Cost:
// cold; walks the type and allocates.
[[nodiscard]] std::string json_schema(const fields::TypeInfo& type,
                                      const SchemaOptions& options = {});

template <class T>
[[nodiscard]] std::string json_schema(const SchemaOptions& options = {}) {
  return json_schema(fields::type_of<T>(), options);
}

}  // namespace ringrpc
