// Goal: timers fire once, in order, when they are due, whatever was set, moved and cleared before.
// Method: against a sorted list of the standard library, with random operations.

#include "engine/base/timer_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace ringrpc::base {
namespace {

TEST(TimerHeap, AgreesWithASortedList) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  constexpr std::uint32_t names = 200;
  TimerHeap heap;
  ASSERT_TRUE(heap.start(names).ok());
  std::map<std::uint32_t, std::uint64_t> due;
  std::uint64_t now = 1;
  for (int step = 0; step < 50'000; ++step) {
    const std::uint32_t name = static_cast<std::uint32_t>(random() % names);
    switch (random() % 4) {
      case 0:
      case 1:
        due[name] = now + random() % 1000;
        heap.set(name, due[name]);
        break;
      case 2:
        due.erase(name);
        heap.clear(name);
        break;
      default:
        now += random() % 100;
        std::uint64_t last = 0;
        for (std::uint32_t fired = 0; heap.advance(now, fired);) {
          ASSERT_EQ(due.count(fired), 1u);
          ASSERT_LE(due[fired], now);
          ASSERT_GE(due[fired], last);
          last = due[fired];
          due.erase(fired);
        }
        for (const auto& [left, at] : due) ASSERT_GT(at, now) << left;
    }
    std::uint64_t earliest = 0;
    for (const auto& [left, at] : due) {
      if (earliest == 0 || at < earliest) earliest = at;
    }
    ASSERT_EQ(heap.next_ns(), earliest);
    ASSERT_EQ(heap.count(), due.size());
    if (step % 100 == 0) heap.check_invariants();
  }
}

TEST(TimerHeap, SaysNothingWhenNothingRuns) {
  TimerHeap heap;
  ASSERT_TRUE(heap.start(4).ok());
  std::uint32_t name = 0;
  EXPECT_EQ(heap.next_ns(), 0u);
  EXPECT_FALSE(heap.advance(~std::uint64_t{0}, name));
  heap.set(3, 5);
  heap.clear(3);
  heap.clear(3);
  EXPECT_FALSE(heap.advance(~std::uint64_t{0}, name));
}

}  // namespace
}  // namespace ringrpc::base
