#pragma once

// A part of worker.cpp, split off along the life of a connection: sending what is unsent, and every
// way to the end. Included by worker.cpp only.

#include <poll.h>
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

// Nothing more is said on a connection: what is in flight is made to end.
template <class Io>
void Worker<Io>::begin_close(Connection& connection) {
  connection.state = ConnectionState::closing;
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
  if (connection.watched) io_.stop_watching(handle_of(connection));
  connection.closed = false;
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
  if (over && connection.state != State::closing) begin_close(connection);
  if (connection.state == State::closing) {
    const bool busy = connection.receiving || connection.sending || connection.watched;
    if (!busy && !connection.closed) {
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
  const bool deaf = connection.paused ? !connection.receiving : connection.peer_finished;
  if (deaf && (connection.late || connection.calls) && !connection.watched) {
    // No receive tells that nobody waits for its calls. Goes on when reading does, for the next.
    connection.watched = true;
    io_.watch(handle_of(connection));
  }
}

// The network, or the peer, has ended the connection. The kernel's own stall timeout is a little
// longer than ours, and yet the first to fire when this loop is kept from running.
template <class Io>
[[gnu::cold]] void Worker<Io>::lose(Connection& connection, std::int32_t error) {
  const bool stalled = error == -ETIMEDOUT && connection.deadline == DeadlineKind::stall;
  if (stalled && !connection.broken) counters_.add(base::Counter::limit_stall_timeout);
  connection.broken = true;
}

// A peer that was not read is gone altogether, or is watched no more. What came before a reset is
// lost with it; what came before a close is still to be read, though nobody waits for answers.
template <class Io>
[[gnu::cold]] void Worker<Io>::on_gone(Connection& connection, std::int32_t result) {
  RINGRPC_ASSERT(connection.watched);
  connection.watched = false;
  if (result > 0) {
    const bool all_is_read = !connection.paused && connection.peer_finished;
    if (all_is_read || (result & POLLERR) != 0) {
      connection.broken = true;
    } else if (connection.paused) {
      if (late_.busy()) late_.abandon(connection);
      connection.paused = !late_.may_resume(connection);
      if (!connection.paused) make_ready(connection);
    }
  }
  // What could not be watched is not tried again before there is another reason to look.
  if (connection.broken || connection.state == ConnectionState::closing) make_ready(connection);
}

// Everything that a connection holds goes back here, whichever way it ended.
template <class Io>
void Worker<Io>::release(Connection& connection) {
  RINGRPC_ASSERT(connection.state == ConnectionState::closing, connection.state);
  RINGRPC_ASSERT(!connection.receiving && !connection.sending && !connection.watched);
  RINGRPC_ASSERT(!connection.is_ready);
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
  late_.calls().stop_all();
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

}  // namespace ringrpc::serve
