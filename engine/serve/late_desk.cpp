#include "engine/serve/late_desk.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/assert.h"
#include "engine/rpc/reply_text.h"
#include "engine/serve/hub.h"

namespace ringrpc::serve {

base::Status LateDesk::start(rpc::LateCalls::Options options) {
  options.desk = this;
  options.subscribe = [](void* desk, rpc::LateCall& call, const rpc::TopicName& topic,
                         WhenFull when_full) {
    LateDesk& self = *static_cast<LateDesk*>(desk);
    const Subscriptions::Added added = self.subscribe(call, topic, when_full);
    if (added == Subscriptions::Added::full) return rpc::Subscribed::full;
    if (added == Subscriptions::Added::already) return rpc::Subscribed::already;
    const bool is_http = self.options_.connections[call.holder].protocol == Protocol::http;
    return is_http ? rpc::Subscribed::stream : rpc::Subscribed::connection;
  };
  options.unsubscribe = [](void* desk, rpc::LateCall& call, const rpc::TopicName& topic) {
    return static_cast<LateDesk*>(desk)->unsubscribe(call, topic);
  };
  base::Status status;
  calls_ = rpc::LateCalls::make(options, status);
  if (status.ok()) status = exchanges_.start(options.calls_max);
  if (status.ok()) status = lists_.make(options.connections_max);
  if (status.ok())
    status = subscriptions_.start(options.connections_max, limits::subscriptions_max);
  if (status.ok() && options_.hub != nullptr) {
    options_.hub->join({.calls = calls_, .subscriptions = &subscriptions_.count()});
  }
  return status;
}

void LateDesk::close() {
  if (calls_ == nullptr) return;
  if (options_.hub != nullptr) options_.hub->leave(calls_);
  drop_published();
  // A forced end leaves connections.
  const std::uint32_t connections = calls_->options().connections_max;
  for (std::uint32_t slot = 0; slot < connections; ++slot) {
    if (exchanges_.taken() == 0 && subscriptions_.taken() == 0) break;
    drop_subscriptions(slot, nullptr);
    while (lists_[slot].first != no_exchange) remove(lists_[slot].first);
  }
  // What waits for room in a connection is ours, and so is an answer behind it.
  calls_->for_each([this](rpc::LateCall& call) {
    drop_events(call);
    if (call.answered) calls_->release(call);
  });
  rpc::LateCalls::close(calls_);
  calls_ = nullptr;
}

std::uint32_t LateDesk::next(std::uint64_t now_ns) {
  if (starved_ && retry_ns_ == 0) {
    retry_ns_ = now_ns + limits::stream_memory_retry_ms * std::uint64_t{1'000'000};
  }
  for (;;) {
    while (fan_ == nullptr && published_first_ != nullptr && each_left_ > 0) begin_fan();
    std::uint32_t slot = no_connection;
    if (fan_ != nullptr && turn_left_ > 0 && !fan_waits_) {
      slot = fan_out();
    } else if (retry_ns_ != 0 && now_ns >= retry_ns_) {
      slot = retry();
    } else if (rpc::LateCall* late = calls_->expire(now_ns)) {
      slot = time_out(*late);
    } else if (rpc::Post* post = calls_->take()) {
      slot = deliver(*post);
    } else {
      return no_connection;
    }
    if (slot != no_connection) return slot;
  }
}

std::uint32_t LateDesk::deliver(rpc::Post& post) {
  switch (post.kind) {
    case rpc::PostKind::event:
      return deliver(static_cast<rpc::LateEvent&>(post));
    case rpc::PostKind::publication:
      add_published(static_cast<rpc::Publication&>(post));
      return no_connection;
    case rpc::PostKind::answer:
      break;
  }
  return deliver(static_cast<rpc::LateCall&>(post));
}

std::uint32_t LateDesk::deliver(rpc::LateCall& call) {
  const std::uint32_t slot = call.linked ? call.holder : no_connection;
  if (slot != no_connection && !call.told) {
    // Notifications leave before the answer.
    call.answered = true;
    if (!pump(call, options_.connections[slot])) return slot;
  }
  finish(call);
  return slot;
}

// The answer of a call leaves, and the call ends.
void LateDesk::finish(rpc::LateCall& call) {
  drop_events(call);
  if (call.streams && call.linked) drop_subscriptions(call.holder, &call);
  calls_->unlink(call);
  if (call.wanted && !call.told) {
    if (call.end == rpc::LateEnd::text) {
      tell(call, call.text(), {.has_body = true, .from_method = true, .error = call.code});
    } else {
      tell_error(call, rpc::error_of(call.end), call.limit_name());
    }
  }
  calls_->release(call);
}

// The deadline of a call has passed: its peer hears so now, its handler is asked to stop.
std::uint32_t LateDesk::time_out(rpc::LateCall& call) {
  if (call.answered) return no_connection;
  options_.counters->add(base::Counter::limit_call_timeout);
  const bool tells = call.wanted && !call.told;
  drop_events(call);
  if (call.streams && call.linked) drop_subscriptions(call.holder, &call);
  if (tells) tell_error(call, rpc::ErrorCode::timed_out);
  call.told = true;
  calls_->raise(call, StopReason::timed_out);
  return tells ? call.holder : no_connection;
}

void LateDesk::tell_error(rpc::LateCall& call, rpc::ErrorCode code, std::string_view reason) {
  char text[rpc::error_reply_size_max];
  JsonWriter out(text, text + sizeof(text));
  rpc::write_error(code, call.id(), true, out, reason);
  RINGRPC_ASSERT(out.ok());
  tell(call, out.view(), {.has_body = true, .error = static_cast<std::int32_t>(code)});
}

// Puts a call's reply where it belongs; with the last one the exchange leaves.
// Requires: nobody has told this call's peer yet.
void LateDesk::tell(rpc::LateCall& call, std::string_view text, const rpc::Outcome& outcome) {
  const std::uint32_t place = call.exchange;
  RINGRPC_ASSERT(place != no_exchange && !call.told, call.index);
  call.exchange = no_exchange;
  Exchange& exchange = exchanges_[place];
  Connection& connection = options_.connections[exchange.connection];
  RINGRPC_ASSERT(exchange.pending > 0, place);
  if (outcome.error != 0) exchange.endpoint->stats->count_error(rpc::error_index(outcome.error));
  --exchange.pending;
  bool ok = !exchange.batch || add_reply(exchange, call, text);
  if (exchange.pending == 0) ok = complete(place, text, outcome) && ok;
  if (!ok) fail(connection);
}

// One more reply of a batch. Returns: false when there is no memory even for an error.
bool LateDesk::add_reply(Exchange& exchange, rpc::LateCall& call, std::string_view text) {
  const Added added = add_text(exchange, text);
  if (added == Added::yes) return true;
  // An error in its place, for which there is more room.
  std::string_view reason;
  if (added == Added::no_memory) {
    options_.counters->add(base::Counter::limit_late_memory);
    reason = base::counter_name(base::Counter::limit_late_memory);
  } else {
    if (!exchange.spent) options_.counters->add(base::Counter::limit_reply_size);
    exchange.spent = true;
  }
  char error[rpc::error_reply_size_max];
  JsonWriter out(error, error + sizeof(error));
  rpc::write_error(rpc::ErrorCode::reply_too_large, call.id(), true, out, reason);
  return add_text(exchange, out.view()) == Added::yes;
}

LateDesk::Added LateDesk::add_text(Exchange& exchange, std::string_view text) {
  constexpr std::size_t marks = 2;  // a comma, the closing bracket
  const std::size_t size = exchange.body_size + text.size() + marks;
  const std::size_t most =
      std::size_t{options_.reply_size_max} + (exchange.spent ? limits::reply_overhead_max : 0);
  if (size > most) return Added::too_large;
  if (size > exchange.body_capacity) {
    const std::size_t capacity = std::min(most, 2 * size);
    if (!calls_->charge(capacity)) return Added::no_memory;
    char* const larger = new (std::nothrow) char[capacity];
    if (larger == nullptr) {
      calls_->discharge(capacity);
      return Added::no_memory;
    }
    if (exchange.body != nullptr) {
      std::memcpy(larger, exchange.body, exchange.body_size);
      delete[] exchange.body;
      calls_->discharge(exchange.body_capacity);
    }
    exchange.body = larger;
    exchange.body_capacity = capacity;
  }
  exchange.body[exchange.body_size] = exchange.body_size == 0 ? '[' : ',';
  std::memcpy(exchange.body + exchange.body_size + 1, text.data(), text.size());
  exchange.body_size += 1 + text.size();
  return Added::yes;
}

bool LateDesk::park(Connection& connection, const rpc::Message& message, const Request& request,
                    OpenReply& reply) {
  connection.calls = true;
  if (message.late_count == 0) return false;
  const std::uint32_t slot = slot_of(connection);
  const std::uint32_t place = exchanges_.take();
  Exchange& exchange = exchanges_[place];
  exchange.connection = slot;
  exchange.pending = message.late_count;
  exchange.endpoint = message.endpoint;
  exchange.batch = message.status == rpc::ReadStatus::batch;
  exchange.spent = message.budget->spent;
  exchange.last = request.last;
  exchange.old_http = request.head != nullptr && request.head->version_minor == 0;
  std::uint32_t left = message.late_count;
  bool opens = false;
  for (rpc::LateCall* call = calls_->first(slot); left != 0; call = call->next) {
    RINGRPC_ASSERT(call != nullptr, slot, left);
    if (!call->wanted || call->exchange != no_exchange || call->told) continue;
    call->exchange = place;
    exchange.events = call->streams && request.protocol == Protocol::http;
    opens = exchange.events && call->opens;
    --left;
  }
  ExchangeList& list = lists_[slot];
  exchange.previous = list.last;
  if (list.last != no_exchange) list.behind += exchanges_[list.last].behind.size;
  (list.last != no_exchange ? exchanges_[list.last].next : list.first) = place;
  list.last = place;
  connection.late = true;
  if (request.last) connection.state = ConnectionState::finishing;
  bool ok = true;
  if (message.answered) {
    // What the batch has already begins with its bracket.
    const std::string_view text = reply.writer().view().substr(message.start);
    RINGRPC_ASSERT(exchange.batch && text.front() == '[');
    ok = add_text(exchange, text.substr(1)) == Added::yes;
  }
  reply.abandon();
  if (!ok) {
    fail(connection);
  } else if (opens) {
    say_alive(exchange, connection);
  }
  return true;
}

// The last call of a message is answered: its reply is framed and takes its place.
bool LateDesk::complete(std::uint32_t place, std::string_view text, rpc::Outcome outcome) {
  Exchange& exchange = exchanges_[place];
  Connection& connection = options_.connections[exchange.connection];
  if (exchange.batch) {
    if (exchange.body == nullptr) {
      remove(place);
      return false;
    }
    exchange.body[exchange.body_size] = ']';
    text = {exchange.body, exchange.body_size + 1};
    outcome = {.has_body = true};
  }
  rpc::set_status(outcome, *exchange.endpoint->options);
  // Nothing more is asked or answered on this connection, and its peer may as well be told.
  const bool alone = exchange.next == no_exchange && exchange.previous == no_exchange &&
                     exchange.behind.empty() && connection.idle_input();
  if (stopping_ && alone) exchange.last = true;
  if (exchange.last && connection.state == ConnectionState::open) {
    connection.state = ConnectionState::finishing;
  }
  OutList& before = out_before(exchange, connection);
  const std::uint32_t size_before = before.size;
  bool ok = true;
  if (exchange.streaming) {
    ok = options_.responder->write_event(before, frame_of(exchange), text) &&
         options_.responder->end_events(before, frame_of(exchange));
  } else {
    ok = options_.responder->answer_later(before, outcome, frame_of(exchange), text);
  }
  if (exchange.next != no_exchange) lists_[exchange.connection].behind -= exchange.behind.size;
  options_.outbox->append(before, exchange.behind);
  count_behind(connection, before, size_before);
  remove(place);
  return ok;
}

// Takes an exchange out of its connection's list and gives back what it owns.
void LateDesk::remove(std::uint32_t place) {
  Exchange& exchange = exchanges_[place];
  ExchangeList& list = lists_[exchange.connection];
  if (exchange.next != no_exchange) {
    list.behind -= exchange.behind.size;
  } else if (exchange.previous != no_exchange) {
    list.behind -= exchanges_[exchange.previous].behind.size;
  }
  (exchange.previous != no_exchange ? exchanges_[exchange.previous].next : list.first) =
      exchange.next;
  (exchange.next != no_exchange ? exchanges_[exchange.next].previous : list.last) =
      exchange.previous;
  if (exchange.body != nullptr) {
    delete[] exchange.body;
    calls_->discharge(exchange.body_capacity);
  }
  options_.outbox->clear(exchange.behind);
  if (exchange.streaming) --streams_;
  options_.connections[exchange.connection].late = list.first != no_exchange;
  exchanges_.give(place);
}

void LateDesk::abandon(Connection& connection) {
  const std::uint32_t slot = slot_of(connection);
  drop_subscriptions(slot, nullptr);
  while (lists_[slot].first != no_exchange) remove(lists_[slot].first);
  while (rpc::LateCall* call = calls_->first(slot)) {
    calls_->unlink(*call);
    drop_events(*call);
    call->exchange = no_exchange;
    call->told = true;
    if (call->answered) {
      calls_->release(*call);
    } else {
      calls_->raise(*call, StopReason::disconnected);
    }
  }
}

// There is no memory for a reply: its connection ends without one.
void LateDesk::fail(Connection& connection) {
  options_.counters->add(base::Counter::limit_reply_memory);
  connection.broken = true;
}

// What was just put there may wait behind an exchange that is not the last.
void LateDesk::count_behind(const Connection& connection, const OutList& out,
                            std::uint32_t size_before) {
  if (&out != &connection.out) lists_[slot_of(connection)].behind += out.size - size_before;
}

// Returns: bytes of replies that wait for those before them. Asked at every request.
std::uint32_t LateDesk::held(const Connection& connection) const {
  const ExchangeList& list = lists_[slot_of(connection)];
  return list.first == no_exchange ? 0 : list.behind + exchanges_[list.last].behind.size;
}

bool LateDesk::is_over(Connection& connection) {
  if (connection.out.size + held(connection) > limits::unsent_size_max) {
    options_.counters->add(base::Counter::limit_unsent_size);
    return true;
  }
  const std::uint32_t most = calls_->options().calls_per_connection_max;
  const std::uint32_t count = calls_->count(slot_of(connection));
  connection.calls = count != 0;
  // Elsewhere one call too many is refused where it would begin, and what is no call is read.
  const bool full = count >= most && connection.protocol == Protocol::http;
  if (full) options_.counters->add(base::Counter::limit_in_flight_per_connection);
  return full;
}

bool LateDesk::may_resume(const Connection& connection) const {
  const std::uint32_t most = calls_->options().calls_per_connection_max;
  if (connection.out.size + held(connection) > limits::unsent_size_max / 2) return false;
  return connection.protocol != Protocol::http ||
         calls_->count(slot_of(connection)) <= most - (most + 3) / 4;
}

std::uint32_t LateDesk::add(Outbox::Held& held, std::uint32_t slot) const {
  std::uint32_t count = 0;
  std::uint32_t behind = 0;
  for (std::uint32_t at = lists_[slot].first; at != no_exchange; at = exchanges_[at].next) {
    RINGRPC_ASSERT(exchanges_[at].pending > 0 && options_.connections[slot].late, slot);
    options_.outbox->add(held, exchanges_[at].behind);
    if (at != lists_[slot].last) behind += exchanges_[at].behind.size;
    ++count;
  }
  RINGRPC_ASSERT(lists_[slot].behind == behind, slot, behind);
  return count;
}

}  // namespace ringrpc::serve
