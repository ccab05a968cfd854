#pragma once

// Frames for tests, written by a plain writer of their own.

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrpc::ws::test {

inline constexpr std::string_view test_key = "\x37\xfa\x21\x3d";

// A frame with the shortest length. An empty key leaves it unmasked.
inline std::string frame(std::uint8_t first, std::string_view payload,
                         std::string_view key = test_key) {
  std::string bytes(1, static_cast<char>(first));
  const std::size_t size = payload.size();
  const int extended = size < 126 ? 0 : size <= 0xFFFF ? 2 : 8;
  const std::size_t length = extended == 0 ? size : extended == 2 ? 126 : 127;
  bytes += static_cast<char>(length | (key.empty() ? 0 : 0x80));
  for (int i = extended - 1; i >= 0; --i) bytes += static_cast<char>(size >> (8 * i));
  bytes += key;
  for (std::size_t i = 0; i < size; ++i) {
    bytes += key.empty() ? payload[i] : static_cast<char>(payload[i] ^ key[i % 4]);
  }
  return bytes;
}

inline constexpr std::uint8_t first_text = 0x81, first_binary = 0x82, first_close = 0x88,
                              first_ping = 0x89, first_pong = 0x8A;

// A message in fragments: all but the last are not final.
inline std::string opens(std::string_view payload) { return frame(0x01, payload); }
inline std::string more(std::string_view payload) { return frame(0x00, payload); }
inline std::string ends(std::string_view payload) { return frame(0x80, payload); }

}  // namespace ringrpc::ws::test
