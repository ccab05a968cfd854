#pragma once

// From whoever publishes to every worker that has subscribers.

#include <ringrpc/stream.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/base/counters.h"
#include "engine/base/notice.h"
#include "engine/rpc/late_calls.h"
#include "engine/rpc/publication.h"

namespace ringrpc::serve {

// One worker as the hub sees it. Lifetime: from join() to leave().
struct Listener {
  rpc::LateCalls* calls = nullptr;
  // Written by the worker, read under the hub's lock.
  const std::atomic<std::uint32_t>* subscriptions = nullptr;
};

// Thread: any. Publishers exclude each other, so that all workers hear the same order.
class Hub {
 public:
  void join(const Listener& listener);
  void leave(const rpc::LateCalls* calls);

  // Returns: Sent::no_room when a worker had no memory for it, which it counts; else Sent::yes.
  Sent publish(const rpc::TopicName& topic, std::string_view text);
  // Counts one that can never be sent, and says so. Returns: Sent::invalid.
  Sent refuse(std::string_view method, bool too_large);

  // What no worker counts.
  [[nodiscard]] const base::Counters& counters() const { return counters_; }

  // Returns: a number that no other feed has.
  std::uint32_t next_feed() { return feeds_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::mutex mutex_;
  std::vector<Listener> listeners_;
  base::Counters counters_;  // added to by whoever has the lock
  base::Notice notice_;
  std::atomic<std::uint32_t> feeds_{0};
};

}  // namespace ringrpc::serve
