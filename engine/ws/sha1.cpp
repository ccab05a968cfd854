#include "engine/ws/sha1.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace ringrpc::ws {
namespace {

constexpr std::size_t block_size = 64;
using State = std::array<std::uint32_t, 5>;

void add_block(State& state, const std::uint8_t* block) {
  std::uint32_t words[80];
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint8_t* at = block + 4 * i;
    words[i] = std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
               std::uint32_t{at[3]};
  }
  for (std::size_t i = 16; i < 80; ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t mixed = b ^ c ^ d;
    std::uint32_t constant = i < 40 ? 0x6ED9EBA1 : 0xCA62C1D6;
    if (i < 20) {
      mixed = (b & c) | (~b & d);
      constant = 0x5A827999;
    } else if (i >= 40 && i < 60) {
      mixed = (b & c) | (b & d) | (c & d);
      constant = 0x8F1BBCDC;
    }
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

}  // namespace

std::array<std::uint8_t, 20> sha1(std::string_view bytes) {
  State state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const std::size_t size = bytes.size();
  std::uint8_t block[block_size];
  for (; bytes.size() >= block_size; bytes.remove_prefix(block_size)) {
    std::memcpy(block, bytes.data(), block_size);
    add_block(state, block);
  }
  std::memset(block, 0, block_size);
  if (!bytes.empty()) std::memcpy(block, bytes.data(), bytes.size());
  block[bytes.size()] = 0x80;
  if (bytes.size() + 1 > block_size - 8) {
    add_block(state, block);
    std::memset(block, 0, block_size);
  }
  const std::uint64_t bits = std::uint64_t{size} * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    block[block_size - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  add_block(state, block);
  std::array<std::uint8_t, 20> digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace ringrpc::ws
