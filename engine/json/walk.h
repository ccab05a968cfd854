#pragma once

// The grammar of JSON, over an index that is built already (engine/json/index.h).
//
// Cursors are pointers into the index. What bounds every step: the last entry of the text is a
// closing bracket, which the caller checks first. So each token but the last has a next one, each
// scan of digits meets a byte that ends it, and only closing a bracket can arrive at the end.
// Loads may touch the limits::padding bytes behind the text, but no verdict depends on them.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ringrpc::json {

static_assert(std::endian::native == std::endian::little, "names are compared as loaded words");

// A cursor over the index of one text.
struct Walk {
  const char* text;
  const std::uint32_t* end;  // one past the last entry
};

// Bytes that may stand behind a number or a literal.
inline constexpr std::array<bool, 256> delimiters = [] {
  std::array<bool, 256> table{};
  for (const char c : {' ', '\t', '\n', '\r', ',', ']', '}'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

inline bool is_delimiter(char c) { return delimiters[static_cast<unsigned char>(c)]; }

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Requires: 16 readable bytes. Returns: a bit for each of them that is no digit.
inline std::uint32_t non_digits_of_16(const char* at) {
#ifdef __SSE2__
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  // '0' to '9' become 0 to 9, and 0x76 more leaves only their highest bits clear.
  const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
  const __m128i marked = _mm_adds_epu8(values, _mm_set1_epi8(0x76));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(marked));
#else
  std::uint32_t mask = 0;
  for (std::uint32_t i = 0; i < 16; ++i) {
    if (static_cast<unsigned char>(at[i] - '0') > 9) mask |= 1u << i;
  }
  return mask;
#endif
}

inline const char* skip_digits(const char* at) {
  std::uint32_t others = non_digits_of_16(at);
  while (others == 0) [[unlikely]] {
    at += 16;
    others = non_digits_of_16(at);
  }
  return at + static_cast<std::size_t>(std::countr_zero(others));
}

// The rest of a number from its point or exponent on. Returns: as scan_number().
const char* scan_fraction(const char* at);

inline bool begins_number(char c) { return static_cast<unsigned char>(c - '0') < 10 || c == '-'; }

// Requires: begins_number(at[0]). Returns: one past the number, where a delimiter stands, or
// nullptr if there is no number or no delimiter behind it.
inline const char* scan_number(const char* at) {
  at += *at == '-' ? 1 : 0;
  const char* const after = skip_digits(at);
  if (after == at || (*at == '0' && after != at + 1)) return nullptr;
  return is_delimiter(*after) ? after : scan_fraction(after);
}

// Returns: whether `true`, `false` or `null` stands there, and a delimiter behind it.
inline bool check_literal(const char* at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  constexpr std::uint32_t true_word = 0x65757274;
  constexpr std::uint32_t null_word = 0x6C6C756E;
  constexpr std::uint32_t fals_word = 0x736C6166;
  if (word == true_word || word == null_word) return is_delimiter(at[4]);
  return word == fals_word && at[4] == 'e' && is_delimiter(at[5]);
}

// Returns: whether the number or literal at `at` is one.
inline bool check_scalar(const char* at) {
  return begins_number(*at) ? scan_number(at) != nullptr : check_literal(at);
}

// Returns: whether the value at `at` is complete without brackets. Strings are checked already.
inline bool check_plain(const char* at) { return *at == '"' || check_scalar(at); }

// Requires: `at` is the entry of a `{` or `[`. Returns: one past the entry of the bracket that
// closes it; nullptr if the value is not JSON, is nested deeper than limits::depth_max, or ends
// the text (the values walked here are parts of a message, so its own bracket must follow).
// Cost: iterative, a constant for each entry.
const std::uint32_t* skip_container(Walk walk, const std::uint32_t* at);

// Notes that nesting was the reason. Returns: nullptr.
const std::uint32_t* note_too_deep();
// Returns: whether a walk of this thread has ended for that reason since the last call.
[[gnu::cold]] bool take_too_deep();

// Requires: `at` is the entry of a value's first byte. Returns: as skip_container().
inline const std::uint32_t* skip_value(Walk walk, const std::uint32_t* at) {
  const char* const first = walk.text + *at;
  if (*first == '"') return at + 1;
  if (begins_number(*first)) return scan_number(first) != nullptr ? at + 1 : nullptr;
  if (*first == '{' || *first == '[') return skip_container(walk, at);
  return check_literal(first) ? at + 1 : nullptr;
}

// Returns: whether a text that is this one token and white space around it is JSON. Cold: no
// message is one, and every byte must be bounded, because no bracket stops a scan.
bool check_root_scalar(std::string_view token);

// Requires: `at` is an entry that is not the first. Returns: one past the last byte of the token
// before it: white space between the two is the only thing that no entry tells of.
inline const char* end_before(Walk walk, const std::uint32_t* at) {
  const char* end = walk.text + *at;
  while (is_blank(end[-1])) --end;
  return end;
}

}  // namespace ringrpc::json
