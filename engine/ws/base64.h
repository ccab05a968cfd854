#pragma once

// Base64 as the handshake needs it.
//
// Source: RFC 4648, 4.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ringrpc::ws {

constexpr std::size_t base64_size(std::size_t size) { return (size + 2) / 3 * 4; }

// Writes base64_size(bytes.size()) characters.
void write_base64(std::span<const std::uint8_t> bytes, char* out);

// Returns: how many bytes the text stands for, -1 when it is not base64: whole groups of four, with
// padding at the end only. The bits that padding leaves over may be anything.
std::ptrdiff_t base64_decoded_size(std::string_view text);

}  // namespace ringrpc::ws
