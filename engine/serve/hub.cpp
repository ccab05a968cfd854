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

Sent Hub::publish(const rpc::TopicName& topic, std::string_view text) {
  Sent sent = Sent::yes;
  std::lock_guard lock(mutex_);
  for (const Listener& one : listeners_) {
    // Relaxed: whoever subscribes at the same time may hear this one or not.
    if (one.subscriptions->load(std::memory_order_relaxed) == 0) continue;
    const std::size_t size = sizeof(rpc::Publication) + topic.name.size() + text.size();
    if (!one.calls->charge(size)) {
      one.calls->count_lost(rpc::LateCalls::Lost::dropped);
      sent = Sent::no_room;
      continue;
    }
    one.calls->push(*new rpc::Publication(topic, text));
  }
  return sent;
}

Sent Hub::refuse(std::string_view method, bool too_large) {
  {
    std::lock_guard lock(mutex_);
    counters_.add(too_large ? base::Counter::limit_reply_size : base::Counter::bad_events);
  }
  rpc::say_invalid(notice_, method, too_large);
  return Sent::invalid;
}

}  // namespace ringrpc::serve
