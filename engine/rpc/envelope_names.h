#pragma once

// The names that the members of a message have, as they lie in memory.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/json/walk.h"

namespace ringrpc::rpc {

// The members of a message that mean something, as bits.
inline constexpr std::uint32_t member_none = 0;
inline constexpr std::uint32_t member_jsonrpc = 1;
inline constexpr std::uint32_t member_id = 2;
inline constexpr std::uint32_t member_method = 4;
inline constexpr std::uint32_t member_params = 8;
inline constexpr std::uint32_t member_all = 15;
inline constexpr std::uint32_t member_answer = 16;  // `result` or `error`

// A name and its closing quote as they lie in memory. With the quote, one comparison of a loaded
// word decides: a name that ends earlier has its quote where a letter is expected.
consteval std::uint64_t name_word(std::string_view quoted) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(quoted[i])} << (8 * i);
  }
  return word;
}

consteval std::uint64_t first_bytes(std::uint32_t count) {
  return ~std::uint64_t{0} >> (64 - 8 * count);
}

// Returns: whether `"id":` stands there.
inline bool is_id(const char* quote) {
  std::uint64_t word = 0;
  std::memcpy(&word, quote, sizeof(word));
  return (word & first_bytes(5)) == name_word("\"id\":");
}

// Returns: which member the name is whose first byte, behind the quote, is at `name`.
inline std::uint32_t member_of(const char* name) {
  std::uint64_t word = 0;
  std::memcpy(&word, name, sizeof(word));
  if (word == name_word("jsonrpc\"")) return member_jsonrpc;
  const std::uint64_t seven = word & first_bytes(7);
  if (seven == name_word("method\"")) return member_method;
  if (seven == name_word("params\"")) return member_params;
  if ((word & first_bytes(3)) == name_word("id\"")) return member_id;
  if (seven == name_word("result\"")) return member_answer;
  if ((word & first_bytes(6)) == name_word("error\"")) return member_answer;
  return member_none;
}

// The same for the name at an entry of the index, which may be spelled with escapes.
std::uint32_t escaped_member_of(json::Walk walk, const std::uint32_t* name);

// Returns: whether the value is "2.0", spelled with escapes. Requires: `after` is one past it.
bool is_version_with_escapes(json::Walk walk, const std::uint32_t* value,
                             const std::uint32_t* after);

}  // namespace ringrpc::rpc
