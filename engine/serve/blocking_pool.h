#pragma once

// The threads that run blocking handlers, and what coroutines offload.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/notice.h"
#include "engine/rpc/late_calls.h"

namespace ringrpc::serve {

// A bounded queue of calls and the threads that take from it, first come, first served. A call that
// was asked to stop while it waited is answered so and never runs; what a coroutine offloads runs
// unless the pool itself has stopped.
// Owns:   the threads, from the first start() to stop_within().
// Thread: any.
class BlockingPool {
 public:
  BlockingPool(std::uint32_t threads, std::uint32_t queue_max)
      : thread_count_(threads), jobs_(queue_max) {}
  // Requires: stop_within() has said that all threads have ended, or start() never came.
  ~BlockingPool() = default;
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Makes the threads. Idempotent.
  void start();
  // Answers what waits as stopped, and ends the threads after what they run. Idempotent.
  // Returns: false when a handler has not ended by then; the pool has to outlive it.
  bool stop_within(std::uint32_t ms);

  // Returns: how calls come here.
  [[nodiscard]] rpc::BlockingDoor door() { return {.state = this, .submit = &submit}; }

 private:
  static bool submit(void* state, rpc::LateCall& call);
  bool push(rpc::LateCall& call);
  void work();
  void run(rpc::LateCall& call, bool stopping);

  const std::uint32_t thread_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<rpc::LateCall*> jobs_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  std::uint32_t alive_ = 0;  // threads that have not ended
  std::condition_variable ended_;
  std::mutex notice_mutex_;
  base::Notice exception_notice_;
};

}  // namespace ringrpc::serve
