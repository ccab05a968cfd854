#pragma once

// Classes of bytes in HTTP, and text helpers over them. One table, so that every parser of this
// folder agrees on what a token is.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::http {

namespace chars {
inline constexpr std::uint8_t token = 1;     // tchar of RFC 9110, 5.6.2: names and methods
inline constexpr std::uint8_t value = 2;     // field values: HTAB, SP, visible, 0x80 to 0xff
inline constexpr std::uint8_t target = 4;    // request targets: 0x21 to 0x7e but '#'
inline constexpr std::uint8_t host = 8;      // names and IPv4 addresses in Host
inline constexpr std::uint8_t address = 16;  // inside the brackets of an IPv6 address
inline constexpr std::uint8_t blank = 32;    // optional white space: SP and HTAB

constexpr bool is_alphanumeric(unsigned c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr std::uint8_t classes_of(unsigned c) {
  constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
  constexpr std::string_view host_marks = "-._~";
  const char byte = static_cast<char>(c);
  unsigned classes = 0;
  if (is_alphanumeric(c) || (c != 0 && token_marks.find(byte) != token_marks.npos)) {
    classes |= token;
  }
  if (c == '\t' || (c >= 0x20 && c != 0x7f)) classes |= value;
  if (c >= 0x21 && c <= 0x7e && c != '#') classes |= target;
  if (is_alphanumeric(c) || (c != 0 && host_marks.find(byte) != host_marks.npos)) classes |= host;
  if ((c >= '0' && c <= ':') || c == '.' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')) {
    classes |= address;
  }
  if (c == ' ' || c == '\t') classes |= blank;
  return static_cast<std::uint8_t>(classes);
}

inline constexpr std::array<std::uint8_t, 256> table = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) classes[c] = classes_of(c);
  return classes;
}();
}  // namespace chars

inline bool is_class(char c, std::uint8_t classes) {
  return (chars::table[static_cast<unsigned char>(c)] & classes) != 0;
}
inline bool is_token(char c) { return is_class(c, chars::token); }
inline bool is_value(char c) { return is_class(c, chars::value); }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// Requires: lower_case holds no upper-case letter.
inline bool equals_folded(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != lower_case[i]) return false;
  }
  return true;
}

inline std::string_view trim_left(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

inline std::string_view trim_right(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

inline std::string_view trim(std::string_view text) { return trim_right(trim_left(text)); }

}  // namespace ringrpc::http
