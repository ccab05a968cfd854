#include "engine/ws/base64.h"

#include <algorithm>

namespace ringrpc::ws {
namespace {

constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool is_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

}  // namespace

void write_base64(std::span<const std::uint8_t> bytes, char* out) {
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? bytes[at + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) {
      *out++ = i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
}

std::ptrdiff_t base64_decoded_size(std::string_view text) {
  if (text.size() % 4 != 0) return -1;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const std::string_view plain = text.substr(0, text.size() - padding);
  if (!std::all_of(plain.begin(), plain.end(), is_digit)) return -1;
  return static_cast<std::ptrdiff_t>(text.size() / 4 * 3 - padding);
}

}  // namespace ringrpc::ws
