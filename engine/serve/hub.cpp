#include "engine/serve/hub.h"

#include <new>

#include "engine/base/assert.h"

namespace ringrpc::serve {

void Hub::join(const Listener& listener) {
  RINGRPC_ASSERT(listener.calls != nullptr && listener.subscriptions != nullptr);
  std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
}

void Hub::leave(const rpc::LateCalls* calls) {
  std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [calls](const Listener& one) { return one.calls == calls; });
}

bool Hub::publish(const rpc::TopicName& topic, std::string_view text) {
  bool all = true;
  std::lock_guard lock(mutex_);
  for (const Listener& one : listeners_) {
    // Relaxed: whoever subscribes at the same time may hear this one or not.
    if (one.subscriptions->load(std::memory_order_relaxed) == 0) continue;
    const std::size_t size = sizeof(rpc::Publication) + topic.name.size() + text.size();
    if (!one.calls->charge(size)) {
      one.calls->count_lost(rpc::LateCalls::Lost::dropped);
      all = false;
      continue;
    }
    one.calls->push(*new rpc::Publication(topic, text));
  }
  return all;
}

}  // namespace ringrpc::serve
