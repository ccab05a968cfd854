#pragma once

// One timer for each slot of a backend, at the precision of limits::timer_slot_ms.
//
// Most timers are moved on long before they fire (at each request), so that moving one to a later
// time only writes the number; the wheel finds out when it comes to the old place.

#include <ringrpc/limits.h>

#include <cstdint>

#include "engine/base/status.h"
#include "engine/io/memory.h"

namespace ringrpc::io {

// A hashed wheel of intrusive lists: 16 bytes for each slot, made at start.
// Thread:   worker only.
// Cost:     set and clear O(1); advance O(1) for each wheel position passed and each timer found
//           there; next_ms O(positions / 64).
// Invariant: a running timer is in the list of a tick not later than its deadline's; it never fires
//           early, and at most timer_slot_ms late if advance() is called when next_ms() says.
class TimerWheel {
 public:
  TimerWheel() = default;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Times are milliseconds of any clock that does not go back.
  // Fails: no memory.
  base::Status start(std::uint32_t slots, std::uint64_t now_ms);

  // Sets or moves the timer of a slot. A deadline that has passed fires within timer_slot_ms.
  // Requires: the deadline is less than 2^31 timer slots (6 years) away.
  void set(std::uint32_t slot, std::uint64_t deadline_ms) {
    Timer& timer = timers_[slot];
    const std::uint32_t tick = tick_after(deadline_ms);
    timer.due = tick;
    if (timer.place != 0 && !before(tick, timer.linked)) [[likely]]
      return;
    relink(slot);
  }

  // Stops the timer of a slot, if it runs.
  void clear(std::uint32_t slot) {
    if (timers_[slot].place != 0) unlink(slot);
  }

  // Returns: true and one slot whose timer has fired (and runs no more), or false when there is no
  //          further one. Call it until then, with the same time.
  bool advance(std::uint64_t now_ms, std::uint32_t& slot);

  // Returns: milliseconds until advance() may have something to do; negative without any timer.
  [[nodiscard]] std::int64_t next_ms(std::uint64_t now_ms) const;

  // Walks everything. Tests, and debug builds.
  void check_invariants() const;

 private:
  // Positions: 102 s ahead. Later deadlines go to the last one and are sorted in again from there.
  static constexpr std::uint32_t positions = 1024;
  static_assert(positions * limits::timer_slot_ms > limits::idle_timeout_ms + limits::timer_slot_ms,
                "the commonest timer is sorted in once");

  struct Timer {
    std::uint32_t next;    // 1 + slot, 0: the last
    std::uint32_t place;   // 1 + slot before it; first_in_list; 0: in no list
    std::uint32_t due;     // the tick at which it fires
    std::uint32_t linked;  // the tick in whose list it is
  };
  static_assert(sizeof(Timer) == 16);
  static constexpr std::uint32_t first_in_list = 0xFFFFFFFF;

  // Ticks are 32 bits wide and may wrap.
  static bool before(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
  }
  // Returns: the first tick that is not before the time.
  static std::uint32_t tick_after(std::uint64_t ms) {
    return static_cast<std::uint32_t>((ms + limits::timer_slot_ms - 1) / limits::timer_slot_ms);
  }
  void relink(std::uint32_t slot);
  void link(std::uint32_t slot, std::uint32_t tick);
  void unlink(std::uint32_t slot);

  ZeroedArray<Timer> timers_;
  std::uint32_t slots_ = 0;
  std::uint32_t count_ = 0;  // timers that run
  std::uint32_t tick_ =
      0;  // the first tick that has not been passed: its list may be being emptied
  std::uint32_t heads_[positions] = {};          // 1 + slot, 0: empty
  std::uint64_t occupied_[positions / 64] = {};  // a bit for each list that is not empty
};

}  // namespace ringrpc::io
