#pragma once

// Masking, which is its own inverse: each byte XOR a byte of a four-byte key, in turn.
//
// Source: RFC 6455, 5.3.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ringrpc::ws {

// The key for the bytes behind the first `count`.
constexpr std::uint32_t rotate_key(std::uint32_t key, std::uint64_t count) {
  const int bits = static_cast<int>(count % 4) * 8;
  if constexpr (std::endian::native == std::endian::little) return std::rotr(key, bits);
  return std::rotl(key, bits);
}

// Masks or unmasks in place; the first byte meets the key's first one. Touches nothing else.
// Returns: whether all bytes are ASCII afterwards.
// Cost:    one pass, 32 or 64 bytes a step where the processor can.
using Masker = bool (*)(char* data, std::size_t size, std::uint32_t key);

bool mask(char* data, std::size_t size, std::uint32_t key);

struct MaskKernel {
  std::string_view name;
  bool (*supported)();  // by this processor
  Masker mask;
};

// All that were compiled, the best one first; the last one is portable.
std::span<const MaskKernel> mask_kernels();

}  // namespace ringrpc::ws
