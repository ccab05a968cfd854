#pragma once

// The heads that came last, already parsed and admitted: clients repeat themselves byte for byte,
// except for the digits of Content-Length.

#include <array>
#include <cstdint>

#include "engine/base/same_bytes.h"
#include "engine/http/request.h"
#include "engine/serve/endpoint.h"

namespace ringrpc::serve {

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
    if (!base::same_bytes(entry.bytes, data, entry.size)) [[unlikely]]
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
