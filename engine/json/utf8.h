#pragma once

// UTF-8 that did not come out of a message.

#include <cstddef>
#include <string_view>

namespace ringrpc::json {

// Returns: bytes of the UTF-8 sequence at `at`, or 0 when it is none (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF). Requires: at < end.
inline std::size_t sequence_size(const char* at, const char* end) {
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::size_t room = static_cast<std::size_t>(end - at);
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return room >= 2 && follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (room < 3 || !follows(1) || !follows(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (room < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

inline bool is_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const std::size_t size = sequence_size(at, end);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

}  // namespace ringrpc::json
