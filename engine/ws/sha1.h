#pragma once

// SHA-1, for Sec-WebSocket-Accept only: it guards nothing there, it shows that the server has read
// the key.
//
// Source: RFC 3174; FIPS 180-4, 6.1.

#include <array>
#include <cstdint>
#include <string_view>

namespace ringrpc::ws {

// Requires: fewer than 2^29 bytes.
std::array<std::uint8_t, 20> sha1(std::string_view bytes);

}  // namespace ringrpc::ws
