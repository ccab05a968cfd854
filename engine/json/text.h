#pragma once

// Escapes in JSON strings.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ringrpc::json {

// Returns: the first backslash in [at, end), or end. Requires: padding behind the end.
const char* find_backslash(const char* at, const char* end);

// Returns: whether a backslash may be there: true if there is one in the blocks of 64 bytes that
// cover the text, which end in the padding. Most texts have none, and then this is all they pay.
// PERF: 13 instructions a block, against 40 and a call for memchr (bench/micro/json_bench.cpp).
inline bool may_have_backslash(const char* text, std::size_t size) {
#ifdef __SSE2__
  const __m128i backslashes = _mm_set1_epi8('\\');
  const auto equal = [backslashes](const char* at) {
    return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), backslashes);
  };
  for (const char* const end = text + size; text < end; text += 64) {
    const __m128i any = _mm_or_si128(_mm_or_si128(equal(text), equal(text + 16)),
                                     _mm_or_si128(equal(text + 32), equal(text + 48)));
    if (_mm_movemask_epi8(any) != 0) return true;
  }
  return false;
#else
  return size > 0 && std::memchr(text, '\\', size) != nullptr;
#endif
}

// Checks every escape of a text at once: backslashes stand in strings only (the walk refuses all
// others), so the first one begins an escape, and each next one behind it the next.
// Requires: [at, end) is a text from its first backslash on, in a validated index; padding behind.
// Returns: whether all are escapes of RFC 8259 and no surrogate stands alone.
bool check_escapes(const char* at, const char* end);

// Writes the string between two quotes, unescaped.
// Requires: the escapes in `raw` are checked already.
// Returns: bytes written, or SIZE_MAX if they would be more than capacity.
std::size_t unescape(std::string_view raw, char* out, std::size_t capacity);

}  // namespace ringrpc::json
