#include "engine/serve/subscriptions.h"

#include <ringrpc/limits.h>

#include "engine/base/assert.h"

namespace ringrpc::serve {

base::Status Subscriptions::start(std::uint32_t connections_max, std::uint32_t subscriptions_max) {
  places_max_ = subscriptions_max;
  base::Status status = places_.make(std::size_t{subscriptions_max} + 1);
  if (status.ok()) status = connections_.make(connections_max);
  return status;
}

std::uint32_t Subscriptions::find(std::uint32_t connection, const rpc::TopicName& topic) const {
  std::uint32_t at = connections_[connection].first;
  while (at != no_subscription) {
    if (places_[at].stream == nullptr && *places_[at].topic == topic) break;
    at = places_[at].next_of_connection;
  }
  return at;
}

std::uint32_t Subscriptions::first_of(const rpc::TopicName& topic) const {
  const auto found = topics_.find(topic);
  return found == topics_.end() ? no_subscription : found->second;
}

Subscriptions::Added Subscriptions::add(std::uint32_t connection, rpc::LateCall* stream,
                                        const rpc::TopicName& topic, WhenFull when_full) {
  if (stream == nullptr && find(connection, topic) != no_subscription) return Added::already;
  Held& held = connections_[connection];
  if (held.count == limits::subscriptions_per_connection_max) return Added::full;
  std::uint32_t place = free_;
  if (place != no_subscription) {
    free_ = places_[place].next_of_connection;
  } else if (made_ < places_max_) {
    place = ++made_;
  } else {
    return Added::full;
  }
  const auto [entry, is_new] = topics_.try_emplace(topic, no_subscription);
  Subscription& one = places_[place];
  one = {};
  one.connection = connection;
  one.topic = &entry->first;
  one.stream = stream;
  one.when_full = when_full;
  one.next_of_topic = entry->second;
  if (!is_new) places_[entry->second].previous_of_topic = place;
  entry->second = place;
  one.next_of_connection = held.first;
  held.first = place;
  ++held.count;
  // Relaxed: a single writer, and nothing is read by it.
  count_.store(taken() + 1, std::memory_order_relaxed);
  return Added::yes;
}

void Subscriptions::remove(std::uint32_t place) {
  Subscription& one = places_[place];
  RINGRPC_ASSERT(one.topic != nullptr && one.latest == nullptr, place);
  Held& held = connections_[one.connection];
  std::uint32_t* link = &held.first;
  while (*link != place) link = &places_[*link].next_of_connection;
  *link = one.next_of_connection;
  --held.count;
  if (one.next_of_topic != no_subscription) {
    places_[one.next_of_topic].previous_of_topic = one.previous_of_topic;
  }
  if (one.previous_of_topic != no_subscription) {
    places_[one.previous_of_topic].next_of_topic = one.next_of_topic;
  } else {
    const auto entry = topics_.find(*one.topic);
    RINGRPC_ASSERT(entry != topics_.end() && entry->second == place, place);
    entry->second = one.next_of_topic;
    if (one.next_of_topic == no_subscription) topics_.erase(entry);
  }
  one = {};
  one.next_of_connection = free_;
  free_ = place;
  count_.store(taken() - 1, std::memory_order_relaxed);
}

}  // namespace ringrpc::serve
