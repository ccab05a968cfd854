#include "engine/ws/frame.h"

#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::ws {
namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::uint8_t length_16 = 126;
constexpr std::uint8_t length_64 = 127;

constexpr HeaderResult incomplete{HeaderStatus::incomplete, 0};
constexpr HeaderResult refused(std::uint16_t code) { return {HeaderStatus::refused, code}; }

std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }

// Returns: 0, or the close code for a first byte that cannot be.
std::uint16_t check_first(std::uint8_t first, bool in_message) {
  const std::uint8_t opcode = first & 0x0F;
  const bool final = (first & final_bit) != 0;
  if ((first & reserved_bits) != 0) return close_code::protocol_error;
  if ((opcode & 7) > 2) return close_code::protocol_error;
  if (opcode >= 8) return final ? 0 : close_code::protocol_error;
  // A continuation continues something, and nothing else may stand inside of a message.
  if ((opcode == 0) != in_message) return close_code::protocol_error;
  return opcode == 2 ? close_code::unsupported_data : 0;
}

std::uint64_t read_length(const char* at, std::uint32_t size) {
  std::uint64_t length = 0;
  for (std::uint32_t i = 0; i < size; ++i) length = length << 8 | byte_at(at + i);
  return length;
}

// Whether the `come` bytes of an extended length of `size` that are here can begin one that has to
// be that long and has no top bit.
bool possible_length(const char* at, std::uint32_t size, std::uint32_t come) {
  if (size == 2) return come < 2 || read_length(at, 2) > 125;
  if (come > 0 && (byte_at(at) & 0x80) != 0) return false;
  return come < 6 || read_length(at, 6) != 0;
}

}  // namespace

HeaderResult read_header(const char* begin, const char* end, Side reader, bool in_message,
                         FrameHeader& out) {
  RINGRPC_ASSERT(begin <= end);
  const std::ptrdiff_t come = end - begin;
  if (come < 1) return incomplete;
  const std::uint8_t first = byte_at(begin);
  if (const std::uint16_t code = check_first(first, in_message); code != 0) return refused(code);
  if (come < 2) return incomplete;
  const std::uint8_t second = byte_at(begin + 1);
  const bool masked = (second & mask_bit) != 0;
  if (masked != (reader == Side::server)) return refused(close_code::protocol_error);
  const std::uint8_t short_length = second & 0x7F;
  out.opcode = static_cast<Opcode>(first & 0x0F);
  out.final = (first & final_bit) != 0;
  if (is_control(out.opcode) && short_length > control_size_max) {
    return refused(close_code::protocol_error);
  }
  const std::uint32_t extended = short_length == length_64 ? 8 : short_length == length_16 ? 2 : 0;
  if (extended != 0) {
    const std::uint32_t here =
        static_cast<std::uint32_t>(come - 2 < extended ? come - 2 : extended);
    if (!possible_length(begin + 2, extended, here)) return refused(close_code::protocol_error);
  }
  out.size = static_cast<std::uint8_t>(2 + extended + (masked ? 4 : 0));
  if (come < out.size) return incomplete;
  out.length = extended == 0 ? short_length : read_length(begin + 2, extended);
  out.key = 0;
  if (masked) std::memcpy(&out.key, begin + 2 + extended, 4);
  return {HeaderStatus::complete, 0};
}

std::uint32_t write_header(char* out, Opcode opcode, bool final, std::uint64_t length) {
  RINGRPC_ASSERT(!is_control(opcode) || (final && length <= control_size_max), length);
  out[0] = static_cast<char>(static_cast<std::uint8_t>(opcode) | (final ? final_bit : 0));
  const std::uint32_t size = header_size(length, false);
  out[1] = static_cast<char>(size == 2 ? length : size == 4 ? length_16 : length_64);
  for (std::uint32_t i = 2; i < size; ++i) {
    out[i] = static_cast<char>(length >> (8 * (size - 1 - i)));
  }
  return size;
}

std::uint32_t write_masked_header(char* out, Opcode opcode, bool final, std::uint64_t length,
                                  std::uint32_t key) {
  const std::uint32_t size = write_header(out, opcode, final, length);
  out[1] = static_cast<char>(static_cast<std::uint8_t>(out[1]) | mask_bit);
  std::memcpy(out + size, &key, 4);
  return size + 4;
}

}  // namespace ringrpc::ws
