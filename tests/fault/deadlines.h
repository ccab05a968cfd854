#pragma once

// Time limits of peers, and how a test passes one.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstdint>

#include "tests/fault/house.h"

namespace ringrpc::testing {

inline constexpr std::uint64_t slot_ms = limits::timer_slot_ms;
// The turns before it have moved the clock by some microseconds.
inline constexpr std::uint64_t moment_ms = 2;

// The defaults, and some other values.
inline const serve::PeerLimits both[] = {{},
                                         {.head_timeout_ms = 300,
                                          .idle_timeout_ms = 700,
                                          .body_grace_ms = 1'000,
                                          .body_rate_min = 100,
                                          .stall_timeout_ms = 2'000,
                                          .linger_timeout_ms = 400}};

inline serve::WorkerOptions with(const serve::PeerLimits& peer) {
  serve::WorkerOptions options = House::small();
  options.peer = peer;
  return options;
}

// Passes the deadline that is `ms` away; the peer is there until then.
inline void pass(House& house, std::uint64_t ms, base::Counter counter) {
  EXPECT_EQ(house.count(counter), 0u);
  house.wait_ms(ms - moment_ms);
  EXPECT_EQ(house.count(counter), 0u) << ms;
  EXPECT_EQ(house.connections(), 1u) << ms;
  house.wait_ms(moment_ms + 2 * slot_ms);
  EXPECT_EQ(house.count(counter), 1u) << ms;
}

}  // namespace ringrpc::testing
