// The desk's part of publications: from a worker's queue to the subscribers' connections.

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstdint>
#include <limits>
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

void LateDesk::begin_delivery(bool stopping, std::uint64_t now_ns) {
  constexpr std::int64_t patience_max = limits::published_patience_ms * std::int64_t{1'000'000};
  stopping_ = stopping;
  const auto passed = static_cast<std::int64_t>(now_ns - counted_ns_);
  counted_ns_ = now_ns;
  if (fan_waits_) {
    patience_ns_ -= passed;
  } else {
    patience_ns_ = std::min(patience_max, patience_ns_ + passed / limits::published_patience_share);
  }
  fan_waits_ = false;
  // Who stops may not come to another turn.
  each_left_ =
      stopping ? std::numeric_limits<std::int64_t>::max() : limits::published_each_turn_max;
  turn_left_ = stopping ? std::numeric_limits<std::int64_t>::max() : limits::published_turn_max;
}

std::uint64_t LateDesk::next_ns() const {
  constexpr std::uint64_t step_ns = 1'000'000;  // a send that ends is another reason to look
  std::uint64_t due_ns = calls_->next_ns();
  for (const std::uint64_t other : {retry_ns_, fan_waits_ ? counted_ns_ + step_ns : 0}) {
    if (other != 0 && (due_ns == 0 || other < due_ns)) due_ns = other;
  }
  return due_ns;
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

// How much is unsent tells how much was published at once, until its peer has had some time to
// read.
bool LateDesk::is_worth_waiting(const Subscription& one) const {
  return !stopping_ && !one.slow && one.latest == nullptr && patience_ns_ > 0;
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
  const bool has = has_room(connection, one.stream) && has_memory(fan_->text.size());
  if (!has && !connection.broken && is_worth_waiting(one)) {
    fan_waits_ = true;
    return slot;
  }
  one.slow = !has;
  fan_next_ = one.next_of_topic;
  if (connection.broken) {
    options_.counters->add(base::Counter::events_dropped);
  } else if (has && one.latest == nullptr) {
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
    // It reads, but others that do not have the memory.
    connection.starved = connection.out.empty();
    options_.counters->add(connection.starved ? base::Counter::limit_reply_memory
                                              : base::Counter::limit_stream_queue);
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
