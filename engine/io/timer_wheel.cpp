#include "engine/io/timer_wheel.h"

#include <bit>

#include "engine/base/assert.h"

namespace ringrpc::io {

base::Status TimerWheel::start(std::uint32_t slots, std::uint64_t now_ms) {
  RINGRPC_ASSERT(slots_ == 0 && slots > 0 && slots < first_in_list, slots);
  base::Status status = timers_.make(slots);
  if (!status.ok()) return status;
  slots_ = slots;
  tick_ = static_cast<std::uint32_t>(now_ms / limits::timer_slot_ms) + 1;
  return status;
}

// Puts a timer into the list of its due tick, or the nearest that the wheel has.
void TimerWheel::relink(std::uint32_t slot) {
  RINGRPC_ASSERT(slot < slots_, slot);
  Timer& timer = timers_[slot];
  if (timer.place != 0) unlink(slot);
  if (before(timer.due, tick_)) timer.due = tick_;
  const std::uint32_t last = tick_ + positions - 1;
  link(slot, before(last, timer.due) ? last : timer.due);
}

void TimerWheel::link(std::uint32_t slot, std::uint32_t tick) {
  const std::uint32_t position = tick % positions;
  Timer& timer = timers_[slot];
  RINGRPC_ASSERT(timer.place == 0, slot);
  ++count_;
  timer.linked = tick;
  timer.next = heads_[position];
  timer.place = first_in_list;
  if (timer.next != 0) timers_[timer.next - 1].place = slot + 1;
  heads_[position] = slot + 1;
  occupied_[position / 64] |= std::uint64_t{1} << (position % 64);
}

void TimerWheel::unlink(std::uint32_t slot) {
  Timer& timer = timers_[slot];
  const std::uint32_t position = timer.linked % positions;
  if (timer.next != 0) timers_[timer.next - 1].place = timer.place;
  if (timer.place == first_in_list) {
    RINGRPC_ASSERT(heads_[position] == slot + 1, slot);
    heads_[position] = timer.next;
    if (timer.next == 0) occupied_[position / 64] &= ~(std::uint64_t{1} << (position % 64));
  } else {
    timers_[timer.place - 1].next = timer.next;
  }
  timer.place = 0;
  --count_;
}

bool TimerWheel::advance(std::uint64_t now_ms, std::uint32_t& slot) {
  // A tick is over when its whole time has passed: deadlines are rounded up to it.
  const std::uint32_t now = static_cast<std::uint32_t>(now_ms / limits::timer_slot_ms);
  if (count_ == 0) {
    // Nothing bounds a sleep without timers, so its ticks are not walked one by one.
    if (!before(now, tick_)) tick_ = now + 1;
    return false;
  }
  while (!before(now, tick_)) {
    const std::uint32_t head = heads_[tick_ % positions];
    if (head == 0) {
      ++tick_;
      continue;
    }
    const std::uint32_t found = head - 1;
    if (before(now, timers_[found].due)) {
      // It was moved on while it was here.
      relink(found);
      continue;
    }
    unlink(found);
    slot = found;
    return true;
  }
  return false;
}

std::int64_t TimerWheel::next_ms(std::uint64_t now_ms) const {
  if (count_ == 0) return -1;
  const std::uint32_t start = tick_ % positions;
  for (std::uint32_t i = 0; i <= positions / 64; ++i) {
    const std::uint32_t word = (start / 64 + i) % (positions / 64);
    std::uint64_t bits = occupied_[word];
    if (i == 0) bits &= ~std::uint64_t{0} << (start % 64);
    if (i == positions / 64) bits &= ~(~std::uint64_t{0} << (start % 64));
    if (bits == 0) continue;
    const std::uint32_t position = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    const std::uint64_t ticks = (position - start) % positions;
    const std::uint64_t now = now_ms / limits::timer_slot_ms;
    const std::int32_t ahead = static_cast<std::int32_t>(tick_ - static_cast<std::uint32_t>(now));
    const std::int64_t due = static_cast<std::int64_t>(now + ticks) + ahead;
    const std::int64_t left = due * limits::timer_slot_ms - static_cast<std::int64_t>(now_ms);
    return left > 0 ? left : 0;
  }
  return -1;
}

void TimerWheel::check_invariants() const {
  std::uint32_t count = 0;
  for (std::uint32_t position = 0; position < positions; ++position) {
    const bool occupied = (occupied_[position / 64] >> (position % 64) & 1) != 0;
    RINGRPC_ASSERT(occupied == (heads_[position] != 0), position);
    std::uint32_t place = first_in_list;
    for (std::uint32_t at = heads_[position]; at != 0; at = timers_[at - 1].next) {
      const Timer& timer = timers_[at - 1];
      RINGRPC_ASSERT(timer.place == place, at);
      RINGRPC_ASSERT(timer.linked % positions == position, at);
      RINGRPC_ASSERT(!before(timer.due, timer.linked), at);
      place = at;
      ++count;
    }
  }
  RINGRPC_ASSERT(count == count_, count, count_);
}

}  // namespace ringrpc::io
