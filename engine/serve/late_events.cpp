// The desk's part of notifications: from a call to its connection, as there is room.

#include <ringrpc/limits.h>

#include <utility>

#include "engine/base/assert.h"
#include "engine/serve/late_desk.h"

namespace ringrpc::serve {

std::uint32_t LateDesk::deliver(rpc::LateEvent& event) {
  rpc::LateCall& call = event.call;
  const std::uint32_t slot = call.linked ? call.holder : no_connection;
  if (slot == no_connection || call.told) {
    if (event.size != 0) options_.counters->add(base::Counter::events_dropped);
    forget(event);
    return slot;
  }
  Connection& connection = options_.connections[slot];
  if (event.closes) {
    options_.counters->add(base::Counter::limit_stream_queue);
    connection.too_slow = true;
  }
  if (event.size == 0) {
    forget(event);
  } else {
    (call.waiting_last != nullptr ? call.waiting_last->next : call.waiting_first) = &event;
    call.waiting_last = &event;
  }
  if (!connection.broken && !connection.too_slow) pump(call, connection);
  return slot;
}

// Gives an event back, and its place in the queue.
void LateDesk::forget(rpc::LateEvent& event) {
  rpc::LateCall& call = event.call;
  // Pairs with LateCall::coalesce(), which looks at it behind its own exchange.
  call.queued.fetch_sub(static_cast<std::uint32_t>(event.size), std::memory_order_seq_cst);
  call.free_event(&event);
}

// Drops what waits. Its owner may still make more, which comes to nothing.
void LateDesk::drop_events(rpc::LateCall& call) {
  while (rpc::LateEvent* event = call.waiting_first) {
    call.waiting_first = event->next;
    options_.counters->add(base::Counter::events_dropped);
    forget(*event);
  }
  call.waiting_last = nullptr;
}

// Returns: whether a notification may be written, of a call, or to a whole connection (null). What
// is held behind the first exchange leaves when that one ends, so it does not wait for it.
bool LateDesk::has_room(const Connection& connection, const rpc::LateCall* call) const {
  std::uint32_t before = connection.out.size;
  const bool ordered = connection.protocol == Protocol::http && call != nullptr;
  if (ordered && exchanges_[call->exchange].previous != no_exchange) before += held(connection);
  return before <= limits::unsent_size_max;
}

// Returns: whether there is memory for a notification, and for the head of its stream.
bool LateDesk::has_memory(std::size_t size) const {
  return options_.outbox->takes_notice(size + 2 * std::size_t{reply_room_min});
}

// Gives one more of the notifications that wait for memory what there is.
// Returns: its connection; none when that was the last one.
std::uint32_t LateDesk::retry() {
  if (retry_slot_ == 0) starved_ = false;
  while (retry_slot_ != calls_->options().connections_max) {
    Connection& connection = options_.connections[retry_slot_++];
    if (connection.state == ConnectionState::free || !connection.wants_room) continue;
    if (connection.broken || !connection.out.empty()) continue;
    pump(connection);
    return slot_of(connection);
  }
  retry_slot_ = 0;
  retry_ns_ = 0;
  return no_connection;
}

// Returns: whether nothing of the call waits any more.
bool LateDesk::pump(rpc::LateCall& call, Connection& connection) {
  for (;;) {
    while (rpc::LateEvent* event = call.waiting_first) {
      const bool has = has_memory(event->size);
      if (!has && connection.out.empty()) starved_ = true;
      if (!has || !has_room(connection, &call)) {
        connection.wants_room = true;
        return false;
      }
      call.waiting_first = event->next;
      if (call.waiting_first == nullptr) call.waiting_last = nullptr;
      write(call, connection, event->view());
      forget(*event);
    }
    // What is on its way here is older than what found no room, and comes through here again.
    if (call.queued.load(std::memory_order_seq_cst) != 0) break;
    rpc::LateEvent* const latest = call.latest.exchange(nullptr, std::memory_order_seq_cst);
    if (latest == nullptr) break;
    call.queued.fetch_add(static_cast<std::uint32_t>(latest->size), std::memory_order_relaxed);
    latest->next = nullptr;
    call.waiting_first = call.waiting_last = latest;
  }
  calls_->has_room(call);
  return true;
}

// What was unsent has left: the events of a connection's calls go on.
void LateDesk::pump(Connection& connection) {
  connection.wants_room = false;
  for (rpc::LateCall* call = calls_->first(slot_of(connection)); call != nullptr;) {
    rpc::LateCall* const next = call->next;
    if (call->waiting_first != nullptr && pump(*call, connection) && call->answered) finish(*call);
    call = next;
  }
  if (!pump_subscriptions(connection)) connection.wants_room = true;
}

// Puts one message on the connection.
void LateDesk::write(rpc::LateCall& call, Connection& connection, std::string_view text) {
  options_.counters->add(base::Counter::events);
  const Outbox::Notice notice(*options_.outbox);
  if (connection.protocol != Protocol::http) {
    const bool ok = options_.responder->answer_later(connection.out, {.has_body = true},
                                                     {.protocol = connection.protocol}, text);
    if (!ok) fail(connection);
    return;
  }
  Exchange& exchange = exchanges_[call.exchange];
  RINGRPC_ASSERT(call.exchange != no_exchange && exchange.events, call.index);
  OutList& out = out_before(exchange, connection);
  const std::uint32_t size_before = out.size;
  bool ok = exchange.streaming || begin(exchange, connection);
  ok = ok && options_.responder->write_event(out, frame_of(exchange), text);
  count_behind(connection, out, size_before);
  if (!ok) fail(connection);
}

bool LateDesk::begin(Exchange& exchange, Connection& connection) {
  exchange.streaming = true;
  ++streams_;
  options_.counters->add(base::Counter::streams);
  if (exchange.old_http) exchange.last = true;
  // A peer that has ended does not listen to a stream.
  if (connection.peer_finished) connection.broken = true;
  return options_.responder->begin_events(out_before(exchange, connection), frame_of(exchange));
}

bool LateDesk::beats(const Connection& connection) const {
  if (connection.protocol != Protocol::http) return false;
  const std::uint32_t first = lists_[slot_of(connection)].first;
  return first != no_exchange && exchanges_[first].events;
}

void LateDesk::beat(Connection& connection) {
  RINGRPC_ASSERT(beats(connection));
  options_.counters->add(base::Counter::heartbeats);
  say_alive(exchanges_[lists_[slot_of(connection)].first], connection);
}

// Puts a comment on an event stream, which begins with it if it has not begun.
void LateDesk::say_alive(Exchange& exchange, Connection& connection) {
  OutList& out = out_before(exchange, connection);
  const std::uint32_t size_before = out.size;
  bool ok = exchange.streaming || begin(exchange, connection);
  ok = ok && options_.responder->write_heartbeat(out, frame_of(exchange));
  count_behind(connection, out, size_before);
  if (!ok) fail(connection);
}

bool LateDesk::has_stream(const Connection& connection) const {
  for (std::uint32_t at = lists_[slot_of(connection)].first; at != no_exchange;) {
    if (exchanges_[at].streaming) return true;
    at = exchanges_[at].next;
  }
  return false;
}

}  // namespace ringrpc::serve
