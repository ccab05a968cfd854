#pragma once

// How bytes are written inside a JSON string.

#include <array>
#include <cstdint>

namespace ringrpc::json {

// The escape of each ASCII byte; size 0: the byte stands for itself.
struct Escape {
  char text[7];
  std::uint8_t size;
};

constexpr std::array<Escape, 128> escapes = [] {
  constexpr char hex[] = "0123456789abcdef";
  std::array<Escape, 128> table{};
  for (unsigned c = 0; c < 0x20; ++c) {
    table[c] = {{'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6};
  }
  table['\b'] = {{'\\', 'b'}, 2};
  table['\t'] = {{'\\', 't'}, 2};
  table['\n'] = {{'\\', 'n'}, 2};
  table['\f'] = {{'\\', 'f'}, 2};
  table['\r'] = {{'\\', 'r'}, 2};
  table['"'] = {{'\\', '"'}, 2};
  table['\\'] = {{'\\', '\\'}, 2};
  return table;
}();
static_assert(sizeof(Escape) == 8, "an escape is copied as one word");

}  // namespace ringrpc::json
