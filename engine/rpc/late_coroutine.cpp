// Calls that are answered by coroutines: their waits, their way on, their ends. Thread: the
// worker's.

#include <ringrpc/async.h>
#include <ringrpc/co.h>
#include <ringrpc/co_stream.h>
#include <ringrpc/limits.h>

#include <utility>

#include "engine/base/assert.h"
#include "engine/rpc/guard.h"
#include "engine/rpc/late_calls.h"

namespace ringrpc {
namespace rpc {
void LateCalls::begin(LateCall& call, co::Promise* root) {
  if (root == nullptr) {
    call.hits(base::Counter::limit_frame_memory);
    call.end = LateEnd::overloaded;
    push(call);
    return;
  }
  co::Run& run = call.coroutine.run;
  run.call = &call.call();
  run.root = run.next = root;
  root->run = &run;
  go_on(call);
}

// Returns: false when there is nothing to wait for: the call is to stop.
bool LateCalls::begin_wait(LateCall& call, co::Promise& waiter, CoWait wait) {
  LateCoroutine& coroutine = call.coroutine;
  RINGRPC_ASSERT(waiter.run == &coroutine.run && "a coroutine waits by the call that it answers");
  RINGRPC_ASSERT(coroutine.wait == CoWait::nothing, call.index);
  coroutine.outcome = 0;
  if (call.stop.load(std::memory_order_relaxed) != StopReason::none) {
    if (coroutine.told) {
      coroutine.end = CoEnd::stopped;
      return false;
    }
    coroutine.told = true;
    if (wait != CoWait::job) return false;
  }
  coroutine.wait = wait;
  coroutine.waiter = &waiter;
  coroutine.sends = 0;
  return true;
}

bool LateCalls::wait_for_time(LateCall& call, co::Promise& waiter, std::uint32_t ms) {
  if (!begin_wait(call, waiter, CoWait::time)) return call.coroutine.end != CoEnd::none;
  timers_.set(wait_of(call), due_in(ms));
  return true;
}

bool LateCalls::wait_for_job(LateCall& call, co::Promise& waiter, co::Job& job) {
  if (!begin_wait(call, waiter, CoWait::job)) return true;
  call.coroutine.job = &job;
  if (options_.blocking.submit(options_.blocking.state, call)) return true;
  call.hits(base::Counter::limit_blocking_queue);
  call.coroutine.job = nullptr;
  call.coroutine.wait = CoWait::nothing;
  call.coroutine.end = CoEnd::overloaded;
  return true;
}

bool LateCalls::wait_for_readiness(LateCall& call, co::Promise& waiter, const co::Wanted& wanted) {
  if (!begin_wait(call, waiter, CoWait::readiness)) return call.coroutine.end != CoEnd::none;
  LateCoroutine& coroutine = call.coroutine;
  coroutine.asked = wanted.events;
  coroutine.ticket = ++tickets_;
  options_.readiness.begin(options_.readiness.state, call.index, coroutine.ticket, wanted.fd,
                           wanted.events);
  if (wanted.timeout_ms != 0) timers_.set(wait_of(call), due_in(wanted.timeout_ms));
  return true;
}

bool LateCalls::goes_on(LateCall& call, Sent sent) {
  if (call.stop.load(std::memory_order_relaxed) != StopReason::none) return false;
  if (sent == Sent::no_room && call.when_full == WhenFull::wait) return false;
  return ++call.coroutine.sends < limits::stream_sends_max;
}

bool LateCalls::wait_behind(LateCall& call, co::Promise& waiter, Sent sent) {
  const bool for_room = sent == Sent::no_room && call.when_full == WhenFull::wait;
  return wait_to_send(call, waiter, for_room ? CoWait::room : CoWait::turn);
}

bool LateCalls::wait_for_room(LateCall& call, co::Promise& waiter) {
  if (call.no_memory || !call.has_room()) return wait_to_send(call, waiter, CoWait::room);
  if (!goes_on(call, Sent::yes)) return wait_to_send(call, waiter, CoWait::turn);
  call.coroutine.outcome = co_has_passed;
  return false;
}

bool LateCalls::wait_to_send(LateCall& call, co::Promise& waiter, CoWait wait) {
  if (!begin_wait(call, waiter, wait)) return call.coroutine.end != CoEnd::none;
  if (wait == CoWait::turn) {
    timers_.set(wait_of(call), due_in(0));
  } else if (call.no_memory) {
    timers_.set(wait_of(call), due_in(limits::stream_memory_retry_ms));
  }
  return true;
}

void LateCalls::is_ready(std::uint32_t place, std::uint32_t ticket, std::int32_t bits) {
  if (place >= made_) return;
  LateCall& call = places_[place];
  LateCoroutine& coroutine = call.coroutine;
  if (coroutine.wait != CoWait::readiness || coroutine.ticket != ticket) return;
  coroutine.ticket = 0;
  if (bits < 0) {
    // The kernel has no memory for it, or no descriptor.
    call.hits(base::Counter::limit_readiness);
    coroutine.end = CoEnd::overloaded;
    coroutine.waiter = nullptr;
    end_wait(call, 0);
    return;
  }
  const std::uint32_t asked = static_cast<std::uint32_t>(coroutine.asked);
  const std::uint32_t ready = static_cast<std::uint32_t>(bits) & asked;
  end_wait(call, ready != 0 ? ready : asked);
}

void LateCalls::end_wait(LateCall& call, std::uint32_t outcome) {
  LateCoroutine& coroutine = call.coroutine;
  if (coroutine.wait != CoWait::job) timers_.clear(wait_of(call));
  if (coroutine.wait == CoWait::readiness && coroutine.ticket != 0) {
    options_.readiness.end(options_.readiness.state, call.index, coroutine.ticket);
  }
  coroutine.wait = CoWait::nothing;
  coroutine.job = nullptr;
  coroutine.outcome = outcome;
  coroutine.run.next = std::exchange(coroutine.waiter, nullptr);
  go_on(call);
}

void LateCalls::go_on(LateCall& call) {
  LateCoroutine& coroutine = call.coroutine;
  const char* thrown = nullptr;
  {
    const CurrentFrames frames(frames_);
    thrown = guarded_run(coroutine.run);
  }
  if (coroutine.wait == CoWait::nothing) end_coroutine(call, thrown);
}

void LateCalls::end_coroutine(LateCall& call, const char* thrown) {
  LateCoroutine& coroutine = call.coroutine;
  if (thrown != nullptr) {
    coroutine.run.running->broken = true;
    frames_.expect_losses();
  } else {
    thrown = text_of(coroutine.run.root->thrown);
  }
  if (thrown != nullptr) {
    exception_notice_.say("the handler of \"%s\" threw: %s", call.method->name.c_str(), thrown);
    call.end = LateEnd::threw;
  } else if (coroutine.run.refused) {
    call.hits(base::Counter::limit_frame_memory);
    call.end = LateEnd::overloaded;
  } else if (coroutine.end == CoEnd::overloaded) {
    call.end = LateEnd::overloaded;
  } else {
    if (coroutine.end == CoEnd::stopped) {
      const Error error = stop_error(call.stop.load(std::memory_order_relaxed));
      call.reply().error(error.code, error.message, error.data);
    } else {
      RINGRPC_ASSERT(coroutine.run.root->self.done(), call.index);
    }
    call.seal();
  }
  destroy_coroutine(call);
  push(call);
}

void LateCalls::destroy_coroutine(LateCall& call) {
  const CurrentFrames frames(frames_);
  co::Promise& root = *std::exchange(call.coroutine.run.root, nullptr);
  const std::coroutine_handle<> self = root.self;
  root.broken ? co::give_frame(self.address()) : self.destroy();
}

}  // namespace rpc

namespace co {

void begin(Deferred deferred, Promise* root) {
  rpc::LateCall& call = *std::exchange(deferred.late_, nullptr);
  call.home.begin(call, root);
}

void join(Promise& parent, Promise* child) {
  Run& run = *parent.run;
  if (child == nullptr) {
    run.refused = true;
    return;
  }
  RINGRPC_ASSERT(child->run == nullptr && "a Co is awaited once");
  child->run = &run;
  child->parent = &parent;
  run.next = child;
}

Reply& reply_of(Run& run) { return rpc::LateCalls::of(*run.call).reply(); }

bool wait_for_time(Call& call, Promise& waiter, std::uint32_t ms) {
  rpc::LateCall& late = rpc::LateCalls::of(call);
  return late.home.wait_for_time(late, waiter, ms);
}

bool wait_for_job(Call& call, Promise& waiter, Job& job) {
  rpc::LateCall& late = rpc::LateCalls::of(call);
  return late.home.wait_for_job(late, waiter, job);
}

bool wait_for_readiness(Call& call, Promise& waiter, const Wanted& wanted) {
  rpc::LateCall& late = rpc::LateCalls::of(call);
  return late.home.wait_for_readiness(late, waiter, wanted);
}

bool wait_for_room(Call& call, Promise& waiter) {
  rpc::LateCall& late = rpc::LateCalls::of(call);
  return late.home.wait_for_room(late, waiter);
}

bool Send::goes_on() {
  sent_ = try_to();
  return rpc::LateCalls::goes_on(late_, sent_);
}

bool Send::wait(Promise& waiter) {
  stood_ = true;
  return late_.home.wait_behind(late_, waiter, sent_);
}

Sent Send::end() {
  if (!stood_ || late_.coroutine.outcome == rpc::co_had_its_turn) return sent_;
  return late_.coroutine.outcome == 0 ? Sent::stopped : try_to();
}

Sent Send::try_to() {
  if (type_ != nullptr) return Stream::send_event(late_, method_, *type_, params_);
  return Stream::send_event(late_, method_, json_);
}

std::uint32_t outcome_of(Call& call) { return rpc::LateCalls::of(call).coroutine.outcome; }

}  // namespace co
}  // namespace ringrpc
