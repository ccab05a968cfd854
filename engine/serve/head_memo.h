#pragma once

// The heads that came last, already parsed and admitted: clients repeat themselves byte for byte,
// except for the digits of Content-Length.

#include <array>
#include <cstdint>
#include <cstring>

#include "engine/http/request.h"
#include "engine/serve/endpoint.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ringrpc::serve {

// Requires: size >= 16. Returns: whether the two are equal.
// PERF: inline, the last 16 bytes overlapping those before: 40 instructions in place of 90 for a
// head of 91 bytes and two calls of memcmp (bench/ladder, http).
inline bool same_bytes(const char* a, const char* b, std::uint32_t size) {
#ifdef __SSE2__
  const auto difference = [a, b](std::uint32_t at) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + at)),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + at)));
  };
  __m128i all = difference(size - 16);
  for (std::uint32_t at = 0; at < size - 16; at += 16) all = _mm_or_si128(all, difference(at));
  return _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_setzero_si128())) == 0xFFFF;
#else
  return std::memcmp(a, b, size) == 0;
#endif
}

// A hit means that the same bytes were parsed before, with another length at most, so it never
// gives another answer than the parser: the digits are read again, and a length that the parser or
// the limits would refuse is a miss. Owns:   4 heads of at most 512 bytes. Thread: worker only.
// Cost: one comparison of the head's bytes where the last hit was.
class HeadMemo {
 public:
  static constexpr std::uint32_t ways = 4;
  static constexpr std::uint32_t head_size_min = 16;
  static constexpr std::uint32_t head_size_max = 512;

  struct Entry {
    http::Request head;  // base points to the input of the last hit
    Admission admission;
    std::uint32_t size = 0;       // of the head; 0: empty
    std::uint32_t length_at = 0;  // where Content-Length's digits are; size when there are none
    std::uint32_t length_end = 0;
    char bytes[head_size_max];
  };

  explicit HeadMemo(std::uint32_t message_size_max) : message_size_max_(message_size_max) {}

  // Returns: the parsed head of the bytes at `data`, null when it is not known.
  // Lifetime: until the next call; its views as long as the bytes.
  const Entry* find(const char* data, std::uint32_t size) {
    if (matches(entries_[last_], data, size)) [[likely]]
      return &entries_[last_];
    return find_slow(data, size);
  }

  // Remembers a head that was parsed from its base. Refused and chunked ones are not.
  void remember(const http::Request& head, const Admission& admission);

 private:
  // Returns: whether the entry's head stands at `data`; its base and length are those of the data
  // then.
  bool matches(Entry& entry, const char* data, std::uint32_t size) const {
    if (entry.size > size || entry.size == 0) [[unlikely]]
      return false;
    if (!same_bytes(entry.bytes, data, entry.size)) [[unlikely]]
      return matches_other_length(entry, data);
    entry.head.base = data;
    return true;
  }
  bool matches_other_length(Entry& entry, const char* data) const;
  const Entry* find_slow(const char* data, std::uint32_t size);

  std::uint32_t message_size_max_;
  std::uint32_t last_ = 0;  // where the last hit was
  std::uint32_t next_ = 0;  // which one goes next
  std::array<Entry, ways> entries_;
};

}  // namespace ringrpc::serve
