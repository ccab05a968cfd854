#pragma once

// From whoever publishes to every worker that has subscribers.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

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

  // Returns: false when a worker had no memory for it, which it counts.
  bool publish(const rpc::TopicName& topic, std::string_view text);

  // Returns: a number that no other feed has.
  std::uint32_t next_feed() { return feeds_.fetch_add(1, std::memory_order_relaxed) + 1; }

 private:
  std::mutex mutex_;
  std::vector<Listener> listeners_;
  std::atomic<std::uint32_t> feeds_{0};
};

}  // namespace ringrpc::serve
