#pragma once

// Which fields the engine acts on, found by length and a compare of one or two words. Private to
// engine/http.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ringrpc::http {

// The fields that change what the engine does. All others are only recorded.
enum class FieldKind : std::uint8_t {
  other,
  host,
  accept,
  expect,
  origin,
  upgrade,
  connection,
  content_type,
  content_length,
  content_encoding,
  transfer_encoding,
};

// Reads `size` bytes (at most 8) with the case bit set. On names, which hold token bytes only, that
// folds letters and leaves '-' alone.
template <std::size_t size>
inline std::uint64_t folded(const char* text) {
  std::uint64_t word = 0;
  std::memcpy(&word, text, size);
  constexpr std::uint64_t bits = 0x2020202020202020u >> (8 * (8 - size));
  return word | bits;
}

// The same word out of a literal in lower case.
template <std::size_t size>
constexpr std::uint64_t literal(const char (&text)[size]) {
  static_assert(size <= 9);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return word;
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "literal() spells little-endian words");

// Requires: name has size token bytes.
// PERF: inlined by force, for a call in the loop over lines makes it load its vector constants
// anew: 686 instead of 600 instructions for 96 bytes (parse_complete/small).
[[gnu::always_inline]] inline FieldKind classify(const char* name, std::uint32_t size) {
  switch (size) {
    case 4:
      return folded<4>(name) == literal("host") ? FieldKind::host : FieldKind::other;
    case 6:
      switch (folded<6>(name)) {
        case literal("accept"):
          return FieldKind::accept;
        case literal("expect"):
          return FieldKind::expect;
        case literal("origin"):
          return FieldKind::origin;
        default:
          return FieldKind::other;
      }
    case 7:
      return folded<7>(name) == literal("upgrade") ? FieldKind::upgrade : FieldKind::other;
    case 10:
      return folded<8>(name) == literal("connecti") && folded<2>(name + 8) == literal("on")
                 ? FieldKind::connection
                 : FieldKind::other;
    case 12:
      return folded<8>(name) == literal("content-") && folded<4>(name + 8) == literal("type")
                 ? FieldKind::content_type
                 : FieldKind::other;
    case 14:
      return folded<8>(name) == literal("content-") && folded<6>(name + 8) == literal("length")
                 ? FieldKind::content_length
                 : FieldKind::other;
    case 16:
      return folded<8>(name) == literal("content-") && folded<8>(name + 8) == literal("encoding")
                 ? FieldKind::content_encoding
                 : FieldKind::other;
    case 17:
      return folded<8>(name) == literal("transfer") && folded<8>(name + 8) == literal("-encodin") &&
                     folded<1>(name + 16) == literal("g")
                 ? FieldKind::transfer_encoding
                 : FieldKind::other;
    default:
      return FieldKind::other;
  }
}

constexpr std::uint32_t bit(FieldKind kind) { return 1u << static_cast<unsigned>(kind); }

}  // namespace ringrpc::http
