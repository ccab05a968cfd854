#pragma once

// What a close frame carries: nothing, or a code and a reason in UTF-8.
//
// Source: RFC 6455, 5.5.1 and 7.4.

#include <cstdint>
#include <string_view>

#include "engine/ws/frame.h"

namespace ringrpc::ws {

struct Close {
  std::uint16_t code = close_code::none;  // none: it carries no code
  std::string_view reason;
};

// Returns: 0, or the code to refuse it with: half a code, a code that may not be sent, or a reason
// that is no UTF-8. `out` is meaningful only when accepted; its reason points into the payload.
std::uint16_t read_close(std::string_view payload, Close& out);

// Whether the code may be in a close frame. Codes are for the protocol (those defined), libraries
// (3000 to 3999) and applications (4000 to 4999).
bool may_be_sent(std::uint16_t code);

inline constexpr std::uint32_t close_reason_size_max = control_size_max - 2;

// Writes a whole unmasked close frame. Requires: room for 2 + control_size_max bytes; a code that
// may be sent; the reason is UTF-8 of at most close_reason_size_max bytes.
// Returns: its size.
std::uint32_t write_close(char* out, std::uint16_t code, std::string_view reason);

}  // namespace ringrpc::ws
