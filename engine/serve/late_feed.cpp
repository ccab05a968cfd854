// The desk's part of publications: from a worker's queue to the subscribers' connections.

#include <ringrpc/limits.h>

#include <utility>

#include "engine/base/assert.h"
#include "engine/serve/hub.h"
#include "engine/serve/late_desk.h"

namespace ringrpc::serve {

Subscriptions::Added LateDesk::subscribe(rpc::LateCall& call, const rpc::TopicName& topic,
                                         WhenFull when_full) {
  if (!call.linked || call.told) return Subscriptions::Added::already;
  const bool is_http = options_.connections[call.holder].protocol == Protocol::http;
  const auto added = subscriptions_.add(call.holder, is_http ? &call : nullptr, topic, when_full);
  if (added == Subscriptions::Added::full) {
    options_.counters->add(base::Counter::limit_subscriptions);
  }
  // It may be long until something is published, and the peer is to see that it listens; nothing
  // can become a plain error any more. See park().
  call.opens = is_http && added == Subscriptions::Added::yes;
  return added;
}

bool LateDesk::unsubscribe(rpc::LateCall& call, const rpc::TopicName& topic) {
  if (!call.linked) return false;
  const std::uint32_t place = subscriptions_.find(call.holder, topic);
  if (place == no_subscription) return false;
  drop_subscription(place);
  return true;
}

void LateDesk::drop_subscription(std::uint32_t place) {
  if (fan_next_ == place) fan_next_ = subscriptions_[place].next_of_topic;
  keep(subscriptions_[place], nullptr);
  subscriptions_.remove(place);
  if (subscriptions_.taken() == 0) drop_published();
}

// Lets a subscription keep that publication in place of the one that it kept.
void LateDesk::keep(Subscription& one, rpc::Publication* publication) {
  rpc::Publication* const before = std::exchange(one.latest, publication);
  if (publication != nullptr) ++publication->kept;
  if (before == nullptr) return;
  --before->kept;
  if (before != fan_) free_unkept(before);
}

void LateDesk::free_unkept(rpc::Publication* publication) {
  if (publication->kept != 0) return;
  calls_->discharge(publication->size());
  delete publication;
}

void LateDesk::drop_subscriptions(std::uint32_t connection, const rpc::LateCall* stream) {
  std::uint32_t place = subscriptions_.first_of(connection);
  while (place != no_subscription) {
    const std::uint32_t next = subscriptions_[place].next_of_connection;
    if (stream == nullptr || subscriptions_[place].stream == stream) drop_subscription(place);
    place = next;
  }
}

// It is given to its subscribers when those before it have been.
void LateDesk::add_published(rpc::Publication& publication) {
  if (subscriptions_.taken() == 0) return free_unkept(&publication);
  publication.next_post.store(nullptr, std::memory_order_relaxed);
  if (published_first_ == nullptr) {
    published_first_ = &publication;
  } else {
    published_last_->next_post.store(&publication, std::memory_order_relaxed);
  }
  published_last_ = &publication;
}

void LateDesk::begin_fan() {
  RINGRPC_ASSERT(fan_ == nullptr && published_first_ != nullptr);
  fan_ = published_first_;
  published_first_ =
      static_cast<rpc::Publication*>(fan_->next_post.load(std::memory_order_relaxed));
  fan_next_ = subscriptions_.first_of(fan_->topic);
  if (fan_next_ == no_subscription) return end_fan();
  each_left_ -= static_cast<std::int64_t>(fan_->text.size());
}

// Nobody listens any more.
void LateDesk::drop_published() {
  if (fan_ != nullptr) end_fan();
  while (rpc::Publication* const first = published_first_) {
    published_first_ =
        static_cast<rpc::Publication*>(first->next_post.load(std::memory_order_relaxed));
    free_unkept(first);
  }
}

void LateDesk::end_fan() { free_unkept(std::exchange(fan_, nullptr)); }

// What an earlier turn has sent and is still unsent, its peer does not read. What has never been
// sent, or goes on because its peer has taken some, says nothing of it before the next turn.
bool LateDesk::is_unproved(const Connection& connection) const {
  if (stopping_ || connection.out.size <= limits::unsent_size_max) return false;
  return again_ || !connection.sending;
}

// Gives what is being published to one more of its subscribers. Returns: whose connection it is.
std::uint32_t LateDesk::fan_out() {
  if (fan_next_ == no_subscription) {
    end_fan();  // The last ones have left meanwhile.
    return no_connection;
  }
  Subscription& one = subscriptions_[fan_next_];
  Connection& connection = options_.connections[one.connection];
  const std::uint32_t slot = one.connection;
  const bool is_first = one.latest == nullptr && !connection.broken;
  if (is_first && is_unproved(connection)) {
    fan_waits_ = true;
    return slot;
  }
  fan_next_ = one.next_of_topic;
  if (connection.broken) {
    options_.counters->add(base::Counter::events_dropped);
  } else if (is_first && has_room(connection, one.stream) && has_memory(fan_->text.size())) {
    turn_left_ -= static_cast<std::int64_t>(fan_->text.size());
    tell(one, connection, fan_->text);
  } else {
    find_no_room(one, connection);
  }
  if (fan_next_ == no_subscription) end_fan();
  return slot;
}

void LateDesk::find_no_room(Subscription& one, Connection& connection) {
  if (one.when_full == WhenFull::close) {
    options_.counters->add(base::Counter::limit_stream_queue);
    connection.too_slow = true;
  } else if (one.when_full == WhenFull::coalesce) {
    if (one.latest != nullptr) options_.counters->add(base::Counter::events_coalesced);
    keep(one, fan_);
    connection.wants_room = true;
    if (connection.out.empty()) starved_ = true;
  } else {
    options_.counters->add(base::Counter::events_dropped);
  }
}

void LateDesk::tell(Subscription& one, Connection& connection, std::string_view text) {
  if (one.stream != nullptr) return write(*one.stream, connection, text);
  options_.counters->add(base::Counter::events);
  const Outbox::Notice notice(*options_.outbox);
  const bool ok = options_.responder->answer_later(connection.out, {.has_body = true},
                                                   {.protocol = connection.protocol}, text);
  if (!ok) fail(connection);
}

// What was kept for want of room goes on. Returns: whether all of it has.
bool LateDesk::pump_subscriptions(Connection& connection) {
  for (std::uint32_t place = subscriptions_.first_of(slot_of(connection)); place != no_subscription;
       place = subscriptions_[place].next_of_connection) {
    Subscription& one = subscriptions_[place];
    if (one.latest == nullptr) continue;
    const bool has = has_memory(one.latest->text.size());
    if (!has && connection.out.empty()) starved_ = true;
    if (!has || !has_room(connection, one.stream)) return false;
    tell(one, connection, one.latest->text);
    keep(one, nullptr);
  }
  return true;
}

}  // namespace ringrpc::serve
