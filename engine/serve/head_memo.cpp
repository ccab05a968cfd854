#include "engine/serve/head_memo.h"

namespace ringrpc::serve {
namespace {

constexpr std::uint32_t digits_max = 9;  // below 2^32, and above every limit of a body

}  // namespace

// The same head with other digits in Content-Length, as many as before, so that everything behind
// them is where it was. The entry takes them over: the next request is likely to have them too.
bool HeadMemo::matches_other_length(Entry& entry, const char* data) const {
  const std::uint32_t digits = entry.length_end - entry.length_at;
  if (digits == 0 || std::memcmp(entry.bytes, data, entry.length_at) != 0) return false;
  // The parser takes no leading zero and no other byte, so neither is a hit.
  std::uint32_t length = 0;
  for (std::uint32_t at = entry.length_at; at < entry.length_end; ++at) {
    const std::uint32_t digit = static_cast<unsigned char>(data[at]) - std::uint32_t{'0'};
    if (digit > 9) return false;
    length = length * 10 + digit;
  }
  if (data[entry.length_at] == '0' && digits > 1) return false;
  if (length > message_size_max_) return false;
  if (std::memcmp(entry.bytes + entry.length_end, data + entry.length_end,
                  entry.size - entry.length_end) != 0) {
    return false;
  }
  std::memcpy(entry.bytes + entry.length_at, data + entry.length_at, digits);
  entry.head.content_length = length;
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
      head.head_size < head_size_min || head.content_length_value.size > digits_max) {
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
