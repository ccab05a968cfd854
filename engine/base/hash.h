#pragma once

// Hashing and comparing short names without calls and without branches on their length. Only
// registered names are stored in tables built with it, so a client cannot make chains long; the
// seed is chosen when the table is built.

#include <cstdint>
#include <cstring>

namespace ringrpc::base {

// The ends of a name: its first eight bytes (fewer: the rest is zero) and its last eight (zero when
// it has no more than eight). With the size they are the whole name up to 16 bytes.
struct NameKey {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint32_t size = 0;

  bool operator==(const NameKey&) const = default;
};

// Requires: 8 readable bytes at data, whatever the size; what is behind the name never matters.
inline NameKey name_key(const char* data, std::uint32_t size) {
  NameKey key;
  key.size = size;
  std::memcpy(&key.first, data, 8);
  if (size > 8) {
    std::memcpy(&key.last, data + size - 8, 8);
  } else if (size < 8) {
    key.first &= (std::uint64_t{1} << (size * 8)) - 1;
  }
  return key;
}

// One multiplication over the key; the name's middle is left to the comparison.
// Returns: a hash whose upper bits are good; take them with a shift.
inline std::uint64_t hash_key(const NameKey& key, std::uint64_t seed) {
  const std::uint64_t ends = key.first ^ (key.last << 32 | key.last >> 32) ^ key.size;
  return (ends ^ seed) * 0x9E3779B97F4A7C15u;
}

}  // namespace ringrpc::base
