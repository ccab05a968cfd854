#include "engine/ws/utf8.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace ringrpc::ws {
namespace {

// Returns: the first byte that is no ASCII, or end.
const char* skip_ascii(const char* at, const char* end) {
#if defined(__x86_64__)
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const unsigned high = static_cast<unsigned>(_mm_movemask_epi8(bytes));
    if (high != 0) return at + std::countr_zero(high);
  }
#else
  for (std::uint64_t word; end - at >= 8; at += 8) {
    std::memcpy(&word, at, 8);
    if ((word & 0x8080'8080'8080'8080) != 0) break;
  }
#endif
  while (at < end && (static_cast<std::uint8_t>(*at) & 0x80) == 0) ++at;
  return at;
}

}  // namespace

// Returns: whether a code point may begin with the byte, which is no ASCII.
bool Utf8::begin(std::uint8_t lead) {
  if (lead < 0xC2 || lead > 0xF4) return false;
  left_ = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  low_ = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  high_ = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return true;
}

bool Utf8::feed(const char* data, std::size_t size) {
  const char* at = data;
  const char* const end = data + size;
  while (at < end) {
    if (left_ == 0) {
      at = skip_ascii(at, end);
      if (at == end) break;
      if (!begin(static_cast<std::uint8_t>(*at++))) return false;
      continue;
    }
    const std::uint8_t next = static_cast<std::uint8_t>(*at++);
    if (next < low_ || next > high_) return false;
    --left_;
    low_ = 0x80;
    high_ = 0xBF;
  }
  return true;
}

}  // namespace ringrpc::ws
