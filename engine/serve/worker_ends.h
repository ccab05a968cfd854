#pragma once

// A part of worker.cpp, split off along the life of a connection: sending what is unsent, and every
// way to the end. Included by worker.cpp only.

#include <ringrpc/limits.h>

#include <cerrno>

#include "engine/base/assert.h"
#include "engine/serve/worker.h"

namespace ringrpc::serve {

template <class Io>
void Worker<Io>::send(Connection& connection) {
  if (connection.broken || connection.state != ConnectionState::open || connection.peer_finished ||
      !connection.receiving) [[unlikely]] {
    settle(connection);
  }
  send_front(connection);
  set_deadline(connection);
}

template <class Io>
void Worker<Io>::send_front(Connection& connection) {
  if (connection.sending || connection.broken || connection.out.empty()) return;
  const Segment& front = outbox_.front(connection.out);
  connection.sending = true;
  connection.pong_size = 0;
  io_.send(handle_of(connection), front.data + front.taken, front.size - front.taken);
}

// Moves a connection along its states, as far as what is in flight allows.
template <class Io>
void Worker<Io>::settle(Connection& connection) {
  using State = ConnectionState;
  const bool sent = connection.out.empty() && !connection.sending && !connection.late;
  if (connection.peer_finished && connection.late && late_.has_stream(connection)) [[unlikely]] {
    connection.broken = true;  // Nobody listens to an event stream behind its own end.
  }
  if (connection.state == State::open && connection.peer_finished && !connection.paused) {
    // The peer will ask nothing more; a request that never became whole is dropped.
    connection.state = State::finishing;
  }
  if (connection.state == State::finishing) {
    framer_.forget(connection);
    // Over HTTP a subscription is a reply that is still to end; elsewhere it would outlast them.
    if (connection.protocol != Protocol::http && late_.busy()) late_.unsubscribe(connection);
  }
  if (connection.state == State::finishing && sent) {
    // Closing with unread bytes would reset the connection and could destroy the last reply in
    // flight, so the peer's own end, or a while, is waited for.
    connection.state = State::lingering;
    connection.drop_left = options_.peer.drain_size_max + 1;
    io_.shut(handle_of(connection), false);
    // Calls that nobody waits for are left: what they would say cannot be sent any more.
    if (late_.busy()) late_.abandon(connection);
    connection.deadline = DeadlineKind::linger;
    wheel_.set(slot_of(connection), now_ms_ + options_.peer.linger_timeout_ms);
  }
  if (connection.state == State::lingering && connection.drop_left == 0) {
    counters_.add(base::Counter::limit_drain_size);
    connection.broken = true;
  }
  const bool over =
      connection.broken || (connection.state == State::lingering && connection.peer_finished);
  if (over && connection.state != State::closing) {
    connection.state = State::closing;
    framer_.forget(connection);
    if (late_.busy()) late_.abandon(connection);
    wheel_.clear(slot_of(connection));
    connection.deadline = DeadlineKind::none;
    // Shutting both ways makes the operations in flight end; the handle is closed after the last.
    if (connection.receiving || connection.sending) io_.shut(handle_of(connection), true);
    if (connection.receiving && !connection.stopping_receive) {
      connection.stopping_receive = true;
      io_.stop_receiving(handle_of(connection));
    }
    connection.closed = false;
  }
  if (connection.state == State::closing) {
    if (!connection.receiving && !connection.sending && !connection.closed) {
      connection.closed = true;
      outbox_.clear(connection.out);
      io_.close(handle_of(connection));
    }
    return;
  }
  if (!connection.receiving && !connection.paused && !connection.peer_finished) {
    connection.receiving = true;
    io_.receive(handle_of(connection));
  }
}

// There is no memory for a reply: its connection ends without one, which the client can tell from
// every other answer.
template <class Io>
void Worker<Io>::fail(Connection& connection) {
  counters_.add(base::Counter::limit_reply_memory);
  if (connection.protocol == Protocol::websocket) {
    end_websocket(connection, ws::close_code::internal_error, "no memory for a reply");
    return;
  }
  connection.broken = true;
}

// The network, or the peer, has ended the connection. The kernel's own stall timeout is a little
// longer than ours, and yet the first to fire when this loop is kept from running.
template <class Io>
[[gnu::cold]] void Worker<Io>::lose(Connection& connection, std::int32_t error) {
  const bool stalled = error == -ETIMEDOUT && connection.deadline == DeadlineKind::stall;
  if (stalled && !connection.broken) counters_.add(base::Counter::limit_stall_timeout);
  connection.broken = true;
}

// There are as many connections as there may be: this one is told so, whatever it would ask.
template <class Io>
void Worker<Io>::refuse(Connection& connection) {
  counters_.add(base::Counter::limit_connections);
  connection.refused = true;
  ++refused_count_;
  connection.state = ConnectionState::finishing;
  if (!responder_.answer_broken(connection.out, connection.protocol, 503, "connections_max")) {
    fail(connection);
  }
  make_ready(connection);
}

// Everything that a connection holds goes back here, whichever way it ended.
template <class Io>
void Worker<Io>::release(Connection& connection) {
  RINGRPC_ASSERT(connection.state == ConnectionState::closing, connection.state);
  RINGRPC_ASSERT(!connection.receiving && !connection.sending && !connection.is_ready);
  RINGRPC_ASSERT(connection.input_first == no_input && connection.partial == nullptr);
  RINGRPC_ASSERT(connection.out.empty() && !connection.late);
  wheel_.clear(slot_of(connection));
  connection.state = ConnectionState::free;
  --connection_count_;
  if (connection.refused) --refused_count_;
  counters_.add(base::Counter::closes);
}

// Stops accepting (the backlog is still served) and ends what is idle. Requests that come now are
// the last of their connections.
template <class Io>
void Worker<Io>::begin_stop() {
  stopping_ = true;
  stopped_ms_ = now_ms_;
  io_.stop_accepting();
  rpc::LateCalls& calls = late_.calls();
  calls.for_each([&](rpc::LateCall& call) { calls.raise(call, StopReason::shutdown); });
  for (std::uint32_t slot = 0; slot < places(); ++slot) {
    Connection& connection = connections_[slot];
    if (connection.state != ConnectionState::open) continue;
    if (!connection.idle()) {
      set_deadline(connection);
      continue;
    }
    // One more turn: a request that is already in the socket is still answered.
    connection.deadline = DeadlineKind::idle;
    wheel_.set(slot, now_ms_ + limits::timer_slot_ms);
  }
}

template <class Io>
void Worker<Io>::check_invariants() const {
  // Between two turns: every receive buffer has gone back, and no other connection holds memory.
  RINGRPC_ASSERT(ready_first_ == no_connection && lent_ == 0, lent_);
  std::uint32_t live = 0;
  std::uint32_t refused = 0;
  std::size_t partials = 0;
  std::uint32_t waiting = 0;  // exchanges
  Outbox::Held held;
  for (std::uint32_t slot = 0; slot < places(); ++slot) {
    const Connection& connection = connections_[slot];
    if (connection.state == ConnectionState::free) continue;
    ++live;
    if (connection.refused) ++refused;
    outbox_.add(held, connection.out);
    waiting += late_.add(held, slot);
    RINGRPC_ASSERT(!connection.sending || !connection.out.empty(), slot);
    RINGRPC_ASSERT(connection.input_first == no_input && !connection.is_ready, slot);
    if (connection.partial != nullptr) ++partials;
    RINGRPC_ASSERT(connection.state != ConnectionState::closing || connection.partial == nullptr,
                   slot);
  }
  RINGRPC_ASSERT(waiting == late_.exchanges(), waiting, late_.exchanges());
  RINGRPC_ASSERT(live == connection_count_, live, connection_count_);
  RINGRPC_ASSERT(refused == refused_count_, refused, refused_count_);
  RINGRPC_ASSERT(partials == partials_.blocks_taken(), partials, partials_.blocks_taken());
  outbox_.check_invariants(held);
  // The walk over every segment, of which there may be many, comes now and then.
  if (counters_.get(base::Counter::turns) % 64 == 0) outbox_.check_invariants();
}

}  // namespace ringrpc::serve
