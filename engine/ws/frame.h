#pragma once

// The header of one WebSocket frame, read strictly and written.
//
// Source: RFC 6455, 5.2. No extension is ever agreed on, so the reserved bits are always zero.

#include <cstdint>
#include <string_view>

namespace ringrpc::ws {

enum class Opcode : std::uint8_t {
  continuation = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10,
};

constexpr bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

// What a close frame says; RFC 6455, 7.4, and the registry of IANA.
namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t going_away = 1001;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;  // a binary message: JSON is text
inline constexpr std::uint16_t none = 1005;              // a close frame without a code; not sent
inline constexpr std::uint16_t bad_text = 1007;          // no UTF-8
inline constexpr std::uint16_t policy = 1008;
inline constexpr std::uint16_t too_large = 1009;
inline constexpr std::uint16_t internal_error = 1011;
inline constexpr std::uint16_t try_again_later = 1013;
}  // namespace close_code

// Who reads: servers get masked frames, clients unmasked ones.
enum class Side : std::uint8_t { server, client };

inline constexpr std::uint32_t header_size_max = 14;
inline constexpr std::uint32_t control_size_max = 125;  // payload of a control frame

struct FrameHeader {
  std::uint64_t length = 0;  // of the payload
  std::uint32_t key = 0;     // as it lies in memory; 0 when the frame is not masked
  Opcode opcode = Opcode::text;
  bool final = false;
  std::uint8_t size = 0;  // of the header
};

enum class HeaderStatus : std::uint8_t { complete, incomplete, refused };

struct HeaderResult {
  HeaderStatus status;
  std::uint16_t close_code;  // when refused, else 0

  friend bool operator==(HeaderResult, HeaderResult) = default;
};

// Reads the header that starts at begin, and refuses it at its first impossible byte.
// Requires: in_message says whether a fragmented message has begun and not ended.
// Returns:  `out` is meaningful only when complete. A binary message is refused as unsupported.
HeaderResult read_header(const char* begin, const char* end, Side reader, bool in_message,
                         FrameHeader& out);

// Bytes of the header of a frame with `length` bytes of payload.
constexpr std::uint32_t header_size(std::uint64_t length, bool masked) {
  const std::uint32_t size = length < 126 ? 2 : length <= 0xFFFF ? 4 : 10;
  return masked ? size + 4 : size;
}

// Writes the header of an unmasked frame. Requires: room for header_size_max bytes.
// Returns: its size.
std::uint32_t write_header(char* out, Opcode opcode, bool final, std::uint64_t length);

// The same for a client's frame, whose payload is to be masked with the key (engine/ws/mask.h).
std::uint32_t write_masked_header(char* out, Opcode opcode, bool final, std::uint64_t length,
                                  std::uint32_t key);

}  // namespace ringrpc::ws
