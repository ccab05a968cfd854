#include "engine/serve/head_memo.h"

namespace ringrpc::serve {
namespace {

constexpr std::uint32_t digits_max = 9;  // below 2^32, and above every limit of a body

// The C library's comparison is vectorised by run-time dispatch, and reads nothing behind the ends.
bool same_bytes(const char* a, const char* b, std::uint32_t size) {
  return std::memcmp(a, b, size) == 0;
}

}  // namespace

bool HeadMemo::matches(Entry& entry, const char* data, std::uint32_t size) const {
  if (entry.size == 0 || entry.size > size) return false;
  if (!same_bytes(entry.bytes, data, entry.length_at)) return false;
  if (entry.length_end != entry.length_at) {
    // The same number of digits, so that everything behind them is where it was. The parser takes
    // no leading zero and no other byte, so neither is a hit.
    std::uint32_t length = 0;
    for (std::uint32_t at = entry.length_at; at < entry.length_end; ++at) {
      const std::uint32_t digit = static_cast<unsigned char>(data[at]) - std::uint32_t{'0'};
      if (digit > 9) return false;
      length = length * 10 + digit;
    }
    const bool zero_first = data[entry.length_at] == '0';
    if (zero_first && entry.length_end - entry.length_at > 1) return false;
    if (length > message_size_max_) return false;
    entry.head.content_length = length;
    if (!same_bytes(entry.bytes + entry.length_end, data + entry.length_end,
                    entry.size - entry.length_end)) {
      return false;
    }
  }
  entry.head.base = data;
  return true;
}

const HeadMemo::Entry* HeadMemo::find_slow(const char* data, std::uint32_t size) {
  for (std::uint32_t way = 0; way < ways; ++way) {
    if (way == last_ || !matches(entries_[way], data, size)) continue;
    last_ = way;
    return &entries_[way];
  }
  return nullptr;
}

void HeadMemo::remember(const http::Request& head, const Admission& admission) {
  if (admission.target != Target::rpc || head.chunked || head.head_size > head_size_max ||
      head.content_length_value.size > digits_max) {
    return;
  }
  Entry& entry = entries_[next_];
  last_ = next_;
  next_ = (next_ + 1) % ways;
  entry.head = head;
  entry.admission = admission;
  entry.size = head.head_size;
  entry.length_at = entry.length_end = head.head_size;
  if (head.has_length) {
    entry.length_at = head.content_length_value.offset;
    entry.length_end = entry.length_at + head.content_length_value.size;
  }
  std::memcpy(entry.bytes, head.base, head.head_size);
}

}  // namespace ringrpc::serve
