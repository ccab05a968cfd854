#pragma once

// The clocks. The hot path reads one of them once a turn, here; everything else is told the time.

#include <cstdint>
#include <ctime>

namespace ringrpc::base {

// Returns: nanoseconds of CLOCK_MONOTONIC.
inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Returns: seconds since the epoch, from the coarse clock.
inline std::int64_t wall_seconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now.tv_sec;
}

}  // namespace ringrpc::base
