#pragma once

// Steps over a validated index: where a token ends, and what comes behind a value.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/json/text.h"

namespace ringrpc::json {

constexpr bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Requires: *position is a string's opening quote.
// Returns: its closing quote, the last quote before the next token.
inline const char* closing_quote(const char* text, const std::uint32_t* position) {
  const char* at = text + position[1] - 1;
  while (*at != '"') --at;
  return at;
}

// Requires: *position is a string's opening quote.
// Returns: what is between the quotes, escapes as they came.
inline std::string_view string_body(const char* text, const std::uint32_t* position) {
  const char* const begin = text + *position + 1;
  return {begin, static_cast<std::size_t>(closing_quote(text, position) - begin)};
}

// Returns: whether a string's body must be unescaped.
inline bool has_escapes(std::string_view body) {
  return may_have_backslash(body.data(), body.size()) &&
         find_backslash(body.data(), body.data() + body.size()) != body.data() + body.size();
}

// Returns: whether a string's body, escapes included, spells this name.
bool spells(std::string_view body, std::string_view name);

// Requires: *position is the first byte of a string, number or literal.
inline std::string_view scalar_text(const char* text, const std::uint32_t* position) {
  const char* end = text + position[1];
  while (is_blank(end[-1])) --end;
  return {text + *position, static_cast<std::size_t>(end - (text + *position))};
}

// Requires: *position is the first byte of a value.
// Returns: the entry behind it. Cost: O(entries inside).
inline const std::uint32_t* skip(const char* text, const std::uint32_t* position) {
  std::uint32_t depth = 0;
  do {
    const char c = text[*position++];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  } while (depth > 0);
  return position;
}

}  // namespace ringrpc::json
