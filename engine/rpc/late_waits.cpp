// What calls wait for, and what ends their waiting: timers, room, and reasons to stop.

#include <ringrpc/limits.h>

#include <chrono>
#include <iterator>
#include <type_traits>
#include <utility>

#include "engine/base/assert.h"
#include "engine/rpc/guard.h"
#include "engine/rpc/late_calls.h"

namespace ringrpc::rpc {
namespace {

constexpr std::uint32_t forever_ms = 0xFFFFFFFF;  // until something else ends the wait

// Returns: what has become of a coroutine's wait whose timer has fired.
std::uint32_t outcome_of_time(CoWait wait) {
  if (wait == CoWait::readiness) return 0;  // ready for nothing
  return wait == CoWait::turn ? co_had_its_turn : co_has_passed;
}

}  // namespace

void* LateCalls::wait(LateCall& call, std::uint32_t ms, void (*run)(void*, Call&),
                      void (*destroy)(void*)) {
  RINGRPC_ASSERT(call.wait.run == nullptr, call.index);
  call.wait.run = run;
  call.wait.destroy = destroy;
  // What has been asked to stop does not wait any more.
  const bool stopped = call.stop.load(std::memory_order_relaxed) != StopReason::none;
  if (ms != forever_ms || stopped) {
    timers_.set(wait_of(call), due_in(stopped ? 0 : ms));
  }
  return call.wait.state;
}

void LateCalls::run_wait(LateCall& call) {
  timers_.clear(wait_of(call));
  void (*const run)(void*, Call&) = std::exchange(call.wait.run, nullptr);
  const char* const thrown = guarded_wait(run, call.wait.state, call.call());
  if (thrown != nullptr) options_.counters->add(base::Counter::exceptions);
}

void LateCalls::count_lost_events() {
  constexpr base::Counter counters[] = {
      base::Counter::events_dropped, base::Counter::events_coalesced,
      base::Counter::limit_late_memory, base::Counter::bad_events, base::Counter::limit_reply_size};
  static_assert(std::size(counters) == std::extent_v<decltype(lost_)>);
  for (std::size_t how = 0; how < std::size(counters); ++how) {
    if (lost_[how].load(std::memory_order_relaxed) == 0) continue;
    options_.counters->add(counters[how], lost_[how].exchange(0, std::memory_order_relaxed));
  }
}

LateCall* LateCalls::expire(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  count_lost_events();
  for (std::uint32_t name = 0; timers_.advance(now_ns, name);) {
    LateCall& call = places_[name / timers_each];
    if (name % timers_each == 0) return &call;
    if (call.wait.run != nullptr) {
      run_wait(call);
    } else {
      end_wait(call, outcome_of_time(call.coroutine.wait));
    }
  }
  return nullptr;
}

void LateCalls::raise(LateCall& call, StopReason reason) {
  StopReason none = StopReason::none;
  // Release: pairs with the acquire in Call::stop_reason().
  if (!call.stop.compare_exchange_strong(none, reason, std::memory_order_release,
                                         std::memory_order_relaxed)) {
    return;
  }
  if (call.wait.run != nullptr) {
    run_wait(call);
  } else if (is_ended_by_stops(call.coroutine.wait)) {
    call.coroutine.told = true;
    end_wait(call, 0);
  }
  if (blocked_.load(std::memory_order_acquire) == 0) return;
  std::lock_guard lock(room_mutex_);
  room_changed_.notify_all();
}

void LateCalls::stop_all() {
  stopping_ = true;
  for_each([this](LateCall& call) { raise(call, StopReason::shutdown); });
}

std::uint32_t LateCalls::cancel(std::string_view id) {
  std::uint32_t found = 0;
  // What waits in a call may answer, but nothing is taken out of the list here.
  for (LateCall* call = holders_[holder_].first; call != nullptr; call = call->next) {
    if (!call->wanted || call->told || call->id() != id) continue;
    ++found;
    raise(*call, StopReason::cancelled);
  }
  options_.counters->add(base::Counter::calls_cancelled, found);
  return found;
}

void LateCalls::submit(LateCall& call) {
  if (options_.blocking.submit(options_.blocking.state, call)) return;
  call.hits(base::Counter::limit_blocking_queue);
  call.end = LateEnd::overloaded;
  push(call);
}

void LateCalls::has_room(LateCall& call) {
  if (call.wants_room && call.has_room()) {
    call.wants_room = false;
    if (call.wait.run != nullptr) run_wait(call);
  } else if (call.coroutine.wait == CoWait::room && call.has_room()) {
    end_wait(call, co_has_passed);
  }
  if (blocked_.load(std::memory_order_acquire) == 0) return;
  std::lock_guard lock(room_mutex_);
  room_changed_.notify_all();
}

bool LateCalls::wait_for_room(LateCall& call) {
  const auto stopped = [&call] {
    return call.stop.load(std::memory_order_acquire) != StopReason::none;
  };
  blocked_.fetch_add(1, std::memory_order_acq_rel);
  {
    std::unique_lock lock(room_mutex_);
    if (call.no_memory) {
      room_changed_.wait_for(lock, std::chrono::milliseconds(limits::stream_memory_retry_ms),
                             stopped);
    } else {
      room_changed_.wait(lock, [&] { return call.has_room() || stopped(); });
    }
  }
  blocked_.fetch_sub(1, std::memory_order_release);
  return !stopped();
}

}  // namespace ringrpc::rpc
