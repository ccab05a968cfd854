#pragma once

// When each request of an open loop is meant to leave, whatever the server does.

#include <cstdint>

namespace ringload {

// The rate is `from` while the warm-up lasts, goes in a straight line to `to`, and stays there.
struct RatePlan {
  double from = 0;  // requests each second, of all threads
  double to = 0;
  double ramp_s = 0;
  double warmup_s = 0;
};

// Returns: the nanosecond after the start at which request `index` (0, 1, ...) is due; the largest
// value when that never comes.
std::uint64_t due_ns(const RatePlan& plan, std::uint64_t index);

}  // namespace ringload
