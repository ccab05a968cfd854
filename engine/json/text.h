#pragma once

// Escapes in JSON strings.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::json {

// Checks every escape of a text at once: backslashes stand in strings only (the walk refuses all
// others), so the first one begins an escape, and each next one behind it the next.
// Requires: [at, end) is a text from its first backslash on, in a validated index; padding behind.
// Returns: whether all are escapes of RFC 8259 and no surrogate stands alone.
bool check_escapes(const char* at, const char* end);

// Writes the string between two quotes, unescaped.
// Requires: the escapes in `raw` are checked already.
// Returns: bytes written, or SIZE_MAX if they would be more than capacity.
std::size_t unescape(std::string_view raw, char* out, std::size_t capacity);

}  // namespace ringrpc::json
