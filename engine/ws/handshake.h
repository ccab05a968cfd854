#pragma once

// The opening handshake: what a client must ask for, and what proves that it was understood.
//
// Source: RFC 6455, 4.2.1 and 4.2.2. Extensions and subprotocols may be offered; none is taken.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ringrpc::ws {

inline constexpr std::string_view version = "13";
inline constexpr std::size_t key_bytes = 16;
inline constexpr std::size_t accept_size = 28;

// What of an HTTP request counts.
struct UpgradeRequest {
  bool get = false;
  bool version_1_1 = false;         // HTTP/1.1 or a later 1.x
  bool upgrade_websocket = false;   // Upgrade lists websocket
  bool connection_upgrade = false;  // Connection lists upgrade
  bool has_body = false;
  std::uint32_t version_count = 0;  // Sec-WebSocket-Version fields
  std::string_view version;         // of the first
  std::uint32_t key_count = 0;      // Sec-WebSocket-Key fields
  std::string_view key;             // of the first
};

enum class UpgradeVerdict : std::uint8_t {
  none,         // no WebSocket is asked for: an HTTP request like others
  accepted,     // 101
  malformed,    // 400
  bad_version,  // 426 with the version that is spoken
};

UpgradeVerdict check_upgrade(const UpgradeRequest& request);

// Writes the accept_size characters of Sec-WebSocket-Accept.
void write_accept(std::string_view key, char* out);

// For clients: writes a Sec-WebSocket-Key of base64_size(key_bytes) characters.
void write_key(std::span<const std::uint8_t, key_bytes> random, char* out);

}  // namespace ringrpc::ws
