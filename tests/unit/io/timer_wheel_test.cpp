// Goal: no timer fires early, none later than one slot, each once, moved and stopped ones as told.
// Method: by hand for each rule, then at random against a map.

#include "engine/io/timer_wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace ringrpc::testing {

using io::TimerWheel;

namespace {

std::vector<std::uint32_t> fired(TimerWheel& wheel, std::uint64_t now_ms) {
  std::vector<std::uint32_t> slots;
  std::uint32_t slot = 0;
  while (wheel.advance(now_ms, slot)) slots.push_back(slot);
  return slots;
}

}  // namespace

TEST(TimerWheelTest, ATimerFiresOnceAndNeverEarly) {
  TimerWheel wheel;
  ASSERT_TRUE(wheel.start(4, 1000).ok());
  wheel.set(2, 1501);
  EXPECT_TRUE(fired(wheel, 1500).empty());
  EXPECT_EQ(fired(wheel, 1501 + limits::timer_slot_ms), std::vector<std::uint32_t>{2});
  EXPECT_TRUE(fired(wheel, 100'000).empty());
}

TEST(TimerWheelTest, AMovedTimerFiresAtItsNewTimeOnly) {
  TimerWheel wheel;
  ASSERT_TRUE(wheel.start(4, 0).ok());
  wheel.set(0, 1000);
  wheel.set(0, 5000);
  wheel.set(1, 5000);
  wheel.set(1, 1000);
  EXPECT_EQ(fired(wheel, 1100), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(fired(wheel, 4900).empty());
  EXPECT_EQ(fired(wheel, 5100), std::vector<std::uint32_t>{0});
}

TEST(TimerWheelTest, AStoppedTimerDoesNotFire) {
  TimerWheel wheel;
  ASSERT_TRUE(wheel.start(3, 0).ok());
  for (std::uint32_t slot = 0; slot < 3; ++slot) wheel.set(slot, 1000);
  wheel.clear(1);
  wheel.clear(1);
  EXPECT_EQ(fired(wheel, 2000).size(), 2u);
  EXPECT_EQ(wheel.next_ms(2000), -1);
}

TEST(TimerWheelTest, ATimerBeyondTheWheelFiresInItsOwnTurn) {
  TimerWheel wheel;
  ASSERT_TRUE(wheel.start(1, 7).ok());
  const std::uint64_t day = 86'400'000;
  wheel.set(0, day);
  std::uint64_t now = 7;
  int wakes = 0;
  while (fired(wheel, now).empty()) {
    ASSERT_GE(wheel.next_ms(now), 0);
    now += static_cast<std::uint64_t>(wheel.next_ms(now));
    ++wakes;
  }
  EXPECT_GE(now, day);
  EXPECT_LE(now, day + limits::timer_slot_ms);
  EXPECT_LE(wakes, 1000);
}

TEST(TimerWheelTest, RandomTimersFireAsAMapSays) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::uint32_t slots = 1 + static_cast<std::uint32_t>(random() % 50);
    // Every third run passes the place where 32 bits of ticks wrap.
    const std::uint64_t wrap = (std::uint64_t{1} << 32) * limits::timer_slot_ms;
    std::uint64_t now = random() % 50'000 + (seed % 3 == 0 ? wrap - 100'000 : 0);
    TimerWheel wheel;
    ASSERT_TRUE(wheel.start(slots, now).ok());
    std::map<std::uint32_t, std::uint64_t> model;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t kind = random() % 10;
      const std::uint32_t slot = static_cast<std::uint32_t>(random() % slots);
      if (kind < 5) {
        model[slot] = now + random() % (random() % 4 == 0 ? 300'000 : 2000);
        wheel.set(slot, model[slot]);
      } else if (kind == 5) {
        wheel.clear(slot);
        model.erase(slot);
      } else {
        const std::int64_t next = wheel.next_ms(now);
        ASSERT_EQ(next < 0, model.empty());
        if (next < 0) {
          now += random() % 100'000'000;
        } else {
          now += kind < 8 ? static_cast<std::uint64_t>(next) : random() % 200;
        }
        for (const std::uint32_t expired : fired(wheel, now)) {
          ASSERT_TRUE(model.contains(expired));
          ASSERT_LE(model[expired], now);
          model.erase(expired);
        }
        for (const auto& [left, deadline] : model) {
          ASSERT_GT(deadline + limits::timer_slot_ms, now) << left;
        }
      }
      wheel.check_invariants();
    }
  }
}

}  // namespace ringrpc::testing
