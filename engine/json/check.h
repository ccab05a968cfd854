#pragma once

// Whether a text from outside of a message is JSON: what handlers give as an error's data.

#include <string_view>

namespace ringrpc::json {

// Returns: whether the text is one JSON value by RFC 8259, nested at most limits::depth_max deep.
// Cold: allocates an index for the text.
[[gnu::cold]] bool is_json(std::string_view text);

// The same, byte by byte, slower and without an allocation: for raw text in results.
[[gnu::noinline]] bool is_one_value(std::string_view text);

// Returns: whether a value is an object or an array, as params are. Requires: it is JSON.
bool is_structured(std::string_view value);

}  // namespace ringrpc::json
