#pragma once

// JSON worked out the slow and obvious way: a recursive parser that builds trees of strings. Shares
// nothing with the engine, so that the fuzzers can hold one against the other.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::fuzz {

// Lifetime: the views point into the text that was parsed.
struct Value {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  std::string_view raw;                     // as it came, without blanks around
  std::string text;                         // of a string, unescaped
  std::vector<std::string> names;           // of an object, unescaped
  std::vector<std::string_view> raw_names;  // the same as they came
  std::vector<Value> items;                 // of an array or object

  [[nodiscard]] bool is(Kind wanted) const { return kind == wanted; }
};

// Reads one whole text with no more than `depth` brackets open at once.
// Returns: nothing when it is not JSON.
std::optional<Value> parse_value(std::string_view text, int depth);

// The same for a message or a batch, whose own brackets do not count.
std::optional<Value> parse_message(std::string_view text, int depth);

// An integer as it was written, whatever its form: 20, 20.0, 2e1, 200e-1.
struct Integer {
  bool is_whole = false;
  bool fits = false;  // into the magnitude
  bool negative = false;
  std::uint64_t magnitude = 0;
};
// Requires: the token of a number.
Integer integer_of(std::string_view token);

// Returns: the text as a JSON string, quotes included. Requires: it is UTF-8.
std::string quoted(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace ringrpc::fuzz
