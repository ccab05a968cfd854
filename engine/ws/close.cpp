#include "engine/ws/close.h"

#include <cstring>

#include "engine/base/assert.h"
#include "engine/ws/utf8.h"

namespace ringrpc::ws {

bool may_be_sent(std::uint16_t code) {
  if (code >= 3000) return code <= 4999;
  // 1004 to 1006 and 1015 are never on the wire, and nothing is defined above.
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

std::uint16_t read_close(std::string_view payload, Close& out) {
  out = {};
  if (payload.empty()) return 0;
  if (payload.size() == 1) return close_code::protocol_error;
  out.code = static_cast<std::uint16_t>(static_cast<std::uint8_t>(payload[0]) << 8 |
                                        static_cast<std::uint8_t>(payload[1]));
  if (!may_be_sent(out.code)) return close_code::protocol_error;
  out.reason = payload.substr(2);
  Utf8 utf8;
  const bool good = utf8.feed(out.reason.data(), out.reason.size()) && utf8.complete();
  return good ? 0 : close_code::bad_text;
}

std::uint32_t write_close(char* out, std::uint16_t code, std::string_view reason) {
  RINGRPC_ASSERT(may_be_sent(code), code);
  RINGRPC_ASSERT(reason.size() <= close_reason_size_max, reason.size());
  const std::uint32_t size = write_header(out, Opcode::close, true, 2 + reason.size());
  out[size] = static_cast<char>(code >> 8);
  out[size + 1] = static_cast<char>(code & 0xFF);
  if (!reason.empty()) std::memcpy(out + size + 2, reason.data(), reason.size());
  return size + 2 + static_cast<std::uint32_t>(reason.size());
}

}  // namespace ringrpc::ws
