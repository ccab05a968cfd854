#pragma once

// The calls of one worker that are answered later: their places, the queue that brings their
// answers back, and their timers.

#include <ringrpc/call.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/base/memory.h"
#include "engine/base/notice.h"
#include "engine/base/status.h"
#include "engine/base/timer_heap.h"
#include "engine/rpc/envelope.h"
#include "engine/rpc/frame_pool.h"
#include "engine/rpc/late_call.h"
#include "engine/rpc/late_options.h"

namespace ringrpc::rpc {

// Owns:     calls_max places (made as they are first needed), and what calls hold beyond them: at
//           most memory_max bytes.
// Lifetime: on the heap; from make() to close(), and then to the last call that somebody holds.
// Thread:   the worker's, but for push() and charge().
// Invariant: a place is free, or open and pushed at most once. So the queue of answers, whose links
//           are the places', has room for every push.
class LateCalls {
 public:
  using Options = LateOptions;
  // Fails: no memory; null then.
  static LateCalls* make(const Options& options, base::Status& status);
  // Nobody takes answers any more. What calls own goes when they are answered or dropped.
  static void close(LateCalls* calls);

  LateCalls(const LateCalls&) = delete;
  LateCalls& operator=(const LateCalls&) = delete;

  // Whose calls begin from now on, or are cancelled. Requires: slot < connections_max.
  void set_holder(std::uint32_t slot) { holder_ = slot; }
  // Returns: the calls in flight of a connection.
  [[nodiscard]] std::uint32_t count(std::uint32_t slot) const { return holders_[slot].count; }
  // Returns: the one that began last; the others follow through next.
  [[nodiscard]] LateCall* first(std::uint32_t slot) { return holders_[slot].first; }
  // The call is no longer its connection's. Idempotent.
  void unlink(LateCall& call);

  // Takes a place for a call and copies what it needs. Requires: the index of its own message.
  // Returns: null when there is no place or no memory, which is counted; `hit` is the limit then.
  LateCall* open(const Envelope& envelope, const Method& method, const Origin& origin,
                 const json::Index& index, const Endpoint& endpoint, bool wanted, bool in_batch,
                 base::Counter& hit);
  // Returns: what was posted next, in the order of the pushes; null for none.
  Post* take();
  [[nodiscard]] bool has_posts() const {
    return taken_ != nullptr || head_.load(std::memory_order_relaxed) != nullptr;
  }
  // Gives the place back. Requires: its answer was taken, and no event of it waits.
  void release(LateCall& call);
  // Asks a call to stop; the first reason counts. What waits in it runs at once.
  void raise(LateCall& call, StopReason reason);
  // Asks all calls to stop, and each that begins from now on.
  void stop_all();
  // Raises the flag of each call of the holder that has this id. Returns: how many.
  std::uint32_t cancel(std::string_view id);
  // Runs a blocking handler elsewhere.
  void submit(LateCall& call);

  // Returns: the next call whose deadline has passed, for the transport to say so and to raise;
  // null for none. What waits for its time runs inside.
  LateCall* expire(std::uint64_t now_ns);
  // Returns: when expire() has something to do; 0 for never.
  [[nodiscard]] std::uint64_t next_ns() const { return timers_.next_ns(); }
  void set_time(std::uint64_t now_ns) { now_ns_ = now_ns; }

  [[nodiscard]] std::uint32_t in_flight() const { return in_flight_; }
  [[nodiscard]] std::size_t memory() const { return memory_.load(std::memory_order_relaxed); }
  [[nodiscard]] const Options& options() const { return options_; }
  template <class F>
  void for_each(F fn) {  // of the calls in flight
    for (std::uint32_t i = 0; i < made_; ++i) {
      if (places_[i].method != nullptr) fn(places_[i]);
    }
  }

  // Hands an answer or an event over. Thread: any.
  void push(Post& post);
  // Counts an event that was not sent as it was made, or not made. Thread: any.
  enum class Lost : std::uint8_t { dropped, coalesced, no_memory, invalid, too_large };
  void count_lost(Lost how) {
    lost_[static_cast<std::size_t>(how)].fetch_add(1, std::memory_order_relaxed);
  }
  base::Notice& event_notice() { return event_notice_; }
  // A call's notifications have left its queue: whoever waits for room goes on when there is.
  void has_room(LateCall& call);
  // Blocks until there is room in a call's queue, or it is to stop. Returns: whether there is room.
  // Thread: any but the worker's.
  bool wait_for_room(LateCall& call);
  // Takes from, as far as `reserve` stays, and gives back to, what calls may hold. Thread: any.
  [[nodiscard]] bool charge(std::size_t bytes, std::size_t reserve = 0);
  void discharge(std::size_t bytes) { memory_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Makes `call` wait. Requires: the worker's thread; nothing waits in it.
  void* wait(LateCall& call, std::uint32_t ms, void (*run)(void*, Call&), void (*destroy)(void*));

  // Coroutines (ringrpc/co.h): late_coroutine.cpp. Requires: the worker's thread.
  static LateCall& of(Call& call) { return *call.late_; }
  [[nodiscard]] FramePool& frames() { return frames_; }
  [[nodiscard]] const FramePool& frames() const { return frames_; }
  // The coroutine answers the call from now on; null is one that found no memory.
  void begin(LateCall& call, co::Promise* root);
  // Return: whether the coroutine stands still.
  bool wait_for_time(LateCall& call, co::Promise& waiter, std::uint32_t ms);
  bool wait_for_job(LateCall& call, co::Promise& waiter, co::Job& job);
  bool wait_for_readiness(LateCall& call, co::Promise& waiter, const co::Wanted& wanted);
  // The same for whoever sends: behind a notification of which `sent` has become, or before one.
  static bool goes_on(LateCall& call, Sent sent);
  bool wait_behind(LateCall& call, co::Promise& waiter, Sent sent);
  bool wait_for_room(LateCall& call, co::Promise& waiter);
  // A descriptor is ready (bits of Ready), or cannot be waited for (negative). Nobody may wait for
  // it any more.
  void is_ready(std::uint32_t place, std::uint32_t ticket, std::int32_t bits);

 private:
  // The calls of one connection.
  struct Holder {
    LateCall* first;
    std::uint32_t count;
  };

  explicit LateCalls(const Options& options) : options_(options) {}
  ~LateCalls();

  static constexpr std::uint32_t timers_each = 2;
  static std::uint32_t deadline_of(const LateCall& call) { return call.index * timers_each; }
  static std::uint32_t wait_of(const LateCall& call) { return call.index * timers_each + 1; }

  [[nodiscard]] std::uint64_t now() const {
    return options_.clock != nullptr ? options_.clock() : now_ns_;
  }
  // Returns: when such a wait is over: never within the turn that it began in.
  [[nodiscard]] std::uint64_t due_in(std::uint32_t ms) const {
    return now() + (ms != 0 ? ms * std::uint64_t{1'000'000} : 1);
  }
  LateCall* place();
  Post* take_any();
  void count_end(const LateCall& call);
  bool copy(LateCall& call, const Envelope& envelope, const Origin& origin,
            const json::Index& index, bool wanted);
  [[nodiscard]] bool takes_events(const Origin& origin, const Endpoint& endpoint, bool wanted,
                                  bool in_batch) const;
  void run_wait(LateCall& call);
  void count_lost_events();
  bool begin_wait(LateCall& call, co::Promise& waiter, CoWait wait);
  bool wait_to_send(LateCall& call, co::Promise& waiter, CoWait wait);
  void end_wait(LateCall& call, std::uint32_t outcome);
  void go_on(LateCall& call);
  void end_coroutine(LateCall& call, const char* thrown);
  void destroy_coroutine(LateCall& call);
  void free_memory(LateCall& call);
  static Post* closed_mark();
  void free_post(Post& post);

  const Options options_;
  base::ZeroedArray<Holder> holders_;
  std::uint32_t holder_ = 0;
  void* memory_of_places_ = nullptr;
  LateCall* places_ = nullptr;
  std::uint32_t made_ = 0;
  LateCall* free_ = nullptr;  // through next
  std::uint32_t in_flight_ = 0;
  Post* taken_ = nullptr;  // in order, through next_post
  base::TimerHeap timers_;
  std::uint64_t now_ns_ = 0;
  FramePool frames_;
  base::Notice exception_notice_;
  base::Notice event_notice_;
  bool closing_ = false;
  bool stopping_ = false;
  std::uint32_t tickets_ = 0;

  // Written by other threads, so on lines of their own.
  alignas(64) std::atomic<Post*> head_{nullptr};
  // Pushes that are under way; close() waits for them before the waker goes.
  std::atomic<std::uint32_t> pushing_{0};
  // After close(): calls that somebody holds, and the closer; whether frames are taken apart.
  std::atomic<std::uint32_t> left_{0};
  std::atomic<bool> taking_apart_{false};
  alignas(64) std::atomic<std::size_t> memory_{0};
  std::atomic<std::uint64_t> lost_[5] = {};  // until the worker counts them
  std::atomic<std::uint32_t> blocked_{0};    // threads that wait for room
  std::mutex room_mutex_;
  std::condition_variable room_changed_;
};

}  // namespace ringrpc::rpc
