#pragma once

// The rest of worker.cpp, split off along the life of a connection: sending what is unsent, the
// deadlines, and every way to the end. Included by worker.cpp only.

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
  io_.send(handle_of(connection), front.data + front.taken, front.size - front.taken);
}

// Moves a connection along its states, as far as what is in flight allows.
template <class Io>
void Worker<Io>::settle(Connection& connection) {
  using State = ConnectionState;
  const bool sent = connection.out.empty() && !connection.sending;
  if (connection.state == State::open && connection.peer_finished && !connection.paused) {
    // The peer will ask nothing more; a request that never became whole is dropped.
    connection.state = State::finishing;
  }
  if (connection.state == State::finishing) framer_.forget(connection);
  if (connection.state == State::finishing && sent) {
    // Closing with unread bytes would reset the connection and could destroy the last reply in
    // flight, so the peer's own end, or a while, is waited for.
    connection.state = State::lingering;
    io_.shut(handle_of(connection), false);
    connection.deadline = DeadlineKind::linger;
    wheel_.set(slot_of(connection), now_ms_ + limits::linger_timeout_ms);
  }
  if (connection.state == State::lingering && connection.dropped > limits::drain_size_max) {
    counters_.add(base::Counter::limit_drain_size);
    connection.broken = true;
  }
  const bool over =
      connection.broken || (connection.state == State::lingering && connection.peer_finished);
  if (over && connection.state != State::closing) {
    connection.state = State::closing;
    framer_.forget(connection);
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

// The one deadline that the connection's situation calls for.
template <class Io>
void Worker<Io>::set_deadline(Connection& connection) {
  if (connection.state == ConnectionState::lingering ||
      connection.state == ConnectionState::closing) {
    return;
  }
  DeadlineKind kind = DeadlineKind::idle;
  std::uint64_t deadline_ms = now_ms_ + (stopping_ ? 0 : limits::idle_timeout_ms);
  if (connection.sending) {
    // Only progress moves this deadline, not what else the peer sends.
    if (connection.deadline == DeadlineKind::stall) return;
    kind = DeadlineKind::stall;
    deadline_ms = now_ms_ + limits::stall_timeout_ms;
  } else if (connection.drop_left != 0) {
    // Absolute, as for a body that is wanted: dripping does not move it.
    if (connection.deadline == DeadlineKind::body) return;
    kind = DeadlineKind::body;
    deadline_ms = now_ms_ + limits::body_grace_ms +
                  std::uint64_t{connection.drop_left} * 1000 / limits::body_rate_min;
  } else if (connection.partial != nullptr) {
    const Partial& partial = *connection.partial;
    kind = partial.head_size == 0 ? DeadlineKind::head : DeadlineKind::body;
    const std::uint64_t arrived = partial.message_size - partial.head_size;
    deadline_ms =
        partial.started_ms + (kind == DeadlineKind::head
                                  ? limits::head_timeout_ms
                                  : limits::body_grace_ms + arrived * 1000 / limits::body_rate_min);
    // A head that is not whole when the server stops gets a moment, not its whole time.
    if (stopping_ && kind == DeadlineKind::head) {
      deadline_ms = std::min(deadline_ms, stopped_ms_ + limits::linger_timeout_ms);
    }
  } else if (connection.fresh) {
    return;  // The deadline of the first head was set when the connection came.
  }
  connection.deadline = kind;
  wheel_.set(slot_of(connection), deadline_ms);
}

template <class Io>
void Worker<Io>::on_deadline(Connection& connection) {
  if (connection.state == ConnectionState::free) return;
  const DeadlineKind kind = connection.deadline;
  connection.deadline = DeadlineKind::none;
  switch (kind) {
    case DeadlineKind::none:
      return;
    case DeadlineKind::head:
    case DeadlineKind::body: {
      const bool head = kind == DeadlineKind::head;
      counters_.add(head ? base::Counter::limit_head_timeout : base::Counter::limit_body_rate);
      // Silence from the start is no request, so it is not answered.
      if (connection.partial != nullptr) responder_.answer_broken(connection.out, 408);
      connection.state = ConnectionState::finishing;
      break;
    }
    case DeadlineKind::idle:
      if (!stopping_) counters_.add(base::Counter::limit_idle_timeout);
      connection.state = ConnectionState::finishing;
      break;
    case DeadlineKind::stall:
      counters_.add(base::Counter::limit_stall_timeout);
      connection.broken = true;
      break;
    case DeadlineKind::linger:
      counters_.add(base::Counter::limit_linger_timeout);
      connection.broken = true;
      break;
  }
  send(connection);
}

// Everything that a connection holds goes back here, whichever way it ended.
template <class Io>
void Worker<Io>::release(Connection& connection) {
  RINGRPC_ASSERT(connection.state == ConnectionState::closing, connection.state);
  RINGRPC_ASSERT(!connection.receiving && !connection.sending && !connection.is_ready);
  RINGRPC_ASSERT(connection.input_first == no_input && connection.partial == nullptr);
  RINGRPC_ASSERT(connection.out.empty());
  wheel_.clear(slot_of(connection));
  connection.state = ConnectionState::free;
  --connection_count_;
  counters_.add(base::Counter::closes);
}

// Stops accepting (the backlog is still served) and ends what is idle. Requests that come now are
// the last of their connections.
template <class Io>
void Worker<Io>::begin_stop() {
  stopping_ = true;
  stopped_ms_ = now_ms_;
  io_.stop_accepting();
  for (std::uint32_t slot = 0; slot < options_.connections_max; ++slot) {
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
  std::size_t partials = 0;
  for (std::uint32_t slot = 0; slot < options_.connections_max; ++slot) {
    const Connection& connection = connections_[slot];
    if (connection.state == ConnectionState::free) continue;
    ++live;
    RINGRPC_ASSERT(!connection.sending || !connection.out.empty(), slot);
    RINGRPC_ASSERT(connection.input_first == no_input && !connection.is_ready, slot);
    if (connection.partial != nullptr) ++partials;
    RINGRPC_ASSERT(connection.state != ConnectionState::closing || connection.partial == nullptr,
                   slot);
  }
  RINGRPC_ASSERT(live == connection_count_, live, connection_count_);
  RINGRPC_ASSERT(partials == partials_.blocks_taken(), partials, partials_.blocks_taken());
  outbox_.check_invariants();
}

}  // namespace ringrpc::serve
