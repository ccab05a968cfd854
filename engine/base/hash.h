#pragma once

// A short hash for short names. Only registered names are stored in tables built with it, so a
// client cannot make them long; the seed is chosen at build time of the table.

#include <cstdint>
#include <cstring>

namespace ringrpc::base {

// Compares short texts without a call. Requires: both have size readable bytes.
inline bool same_bytes(const char* a, const char* b, std::uint32_t size) {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) {
    std::uint64_t words[4];
    std::memcpy(&words[0], a, 8);
    std::memcpy(&words[1], b, 8);
    std::memcpy(&words[2], a + size - 8, 8);
    std::memcpy(&words[3], b + size - 8, 8);
    return words[0] == words[1] && words[2] == words[3];
  }
  if (size >= 4) {
    std::uint32_t words[4];
    std::memcpy(&words[0], a, 4);
    std::memcpy(&words[1], b, 4);
    std::memcpy(&words[2], a + size - 4, 4);
    std::memcpy(&words[3], b + size - 4, 4);
    return words[0] == words[1] && words[2] == words[3];
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Hashes the length with the first and the last eight bytes: two loads, two multiplications.
// Requires: data has size readable bytes.
inline std::uint64_t hash_name(const char* data, std::uint32_t size, std::uint64_t seed) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  if (size >= 8) [[likely]] {
    std::memcpy(&first, data, 8);
    std::memcpy(&last, data + size - 8, 8);
  } else if (size >= 4) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, data, 4);
    std::memcpy(&high, data + size - 4, 4);
    first = low;
    last = high;
  } else if (size > 0) {
    first = static_cast<unsigned char>(data[0]);
    last = (static_cast<std::uint64_t>(static_cast<unsigned char>(data[size / 2])) << 8) |
           static_cast<unsigned char>(data[size - 1]);
  }
  std::uint64_t mixed = (first ^ seed) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 32;
  mixed = (mixed + last + size) * 0xD6E8FEB86659FD93u;
  return mixed ^ (mixed >> 32);
}

}  // namespace ringrpc::base
