#pragma once

// A line on stderr about something that may happen again and again.

#include <atomic>
#include <cstdint>

namespace ringrpc::base {

// Says the first one at once, and then one in each interval at most: counters tell how many there
// were.
// Thread: any; a line is written in one piece.  Cost: cold.
class Notice {
 public:
  explicit constexpr Notice(std::uint32_t interval_s = 1) : interval_s_(interval_s) {}

  // The text of printf, without the line's end.
  [[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void say(const char* format, ...);

 private:
  std::atomic<std::uint64_t> said_ns_{0};  // 0: never; relaxed, for it guards nothing else
  std::uint32_t interval_s_;
};

}  // namespace ringrpc::base
