#pragma once

// JSON as text, read strictly by RFC 8259: values are delimited and checked, never stored. Written
// apart from the engine's reader, which it judges.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

// Brackets that may be open at once.
inline constexpr unsigned json_depth_max = 512;

// Returns: the text without the blanks that it begins with.
std::string_view skip_blanks(std::string_view text);

// Returns: the size of the JSON value that `text` begins with; 0 when it begins with none. The text
// of a string is checked for UTF-8, escapes and surrogates, numbers for their grammar.
std::size_t json_value_size(std::string_view text);

// Returns: true when `text` is one JSON value and blanks around it.
bool is_json(std::string_view text);

// Returns: a JSON value without the blanks between its tokens. Requires: is_json(text).
std::string compact(std::string_view text);

// Returns: text as a JSON string, quotes included.
std::string quoted(std::string_view text);

// One member of an object, as views into its text.
struct Member {
  std::string_view name;  // between its quotes, escapes as they are
  std::string_view value;
};

// Splits an object into its members, or an array into its elements.
// Returns: false when the text is not one whole JSON value of that kind.
bool split_object(std::string_view text, std::vector<Member>& members);
bool split_array(std::string_view text, std::vector<std::string_view>& elements);

// Returns: the value of the first member of that name; empty when there is none.
std::string_view find_member(const std::vector<Member>& members, std::string_view name);

}  // namespace tools
