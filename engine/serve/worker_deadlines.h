#pragma once

// A part of worker.cpp: which deadline a connection has, and what happens when it passes. Included
// by worker.cpp only.

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstdint>

#include "engine/serve/worker.h"

namespace ringrpc::serve {

// A connection has come. One for HTTP is expected to ask; on lines, where connections are kept for
// what may come later, it may wait as between two messages.
template <class Io>
void Worker<Io>::set_first_deadline(Connection& connection) {
  const PeerLimits& most = options_.peer;
  std::uint32_t after_ms = most.linger_timeout_ms;
  connection.deadline = DeadlineKind::head;
  if (connection.protocol != Protocol::http) connection.deadline = DeadlineKind::idle;
  if (!stopping_) {
    if (connection.patient) {
      connection.deadline = DeadlineKind::none;
      return;
    }
    const bool http = connection.protocol == Protocol::http;
    after_ms = http ? most.head_timeout_ms : most.idle_timeout_ms;
  }
  wheel_.set(slot_of(connection), now_ms_ + after_ms);
}

// When a body, or a line, that has come so far is given up. The rate is an average, but what came
// fast at first buys no more than a stall's silence.
template <class Io>
std::uint64_t Worker<Io>::body_deadline_ms(const Partial& partial, std::uint64_t arrived) const {
  const PeerLimits& most = options_.peer;
  std::uint64_t deadline_ms =
      std::min(partial.started_ms + most.body_grace_ms + arrived * 1000 / most.body_rate_min,
               now_ms_ + most.stall_timeout_ms);
  if (stopping_) deadline_ms = std::min(deadline_ms, stopped_ms_ + most.body_grace_ms);
  return deadline_ms;
}

// Nothing is due from the peer of a connection whose calls are in flight; a stream shows that it
// lives.
template <class Io>
void Worker<Io>::set_late_deadline(Connection& connection) {
  const bool beats = late_.beats(connection);
  // What else the peer asks meanwhile is no sign of life of ours.
  if (beats && connection.deadline == DeadlineKind::heartbeat) return;
  connection.deadline = beats ? DeadlineKind::heartbeat : DeadlineKind::none;
  if (beats) {
    wheel_.set(slot_of(connection), now_ms_ + options_.heartbeat_ms);
  } else {
    wheel_.clear(slot_of(connection));
  }
}

// Returns: whether a stream runs. It keeps the time of what has come in part behind it, which
// begins anew when the stream has been sent.
template <class Io>
bool Worker<Io>::keeps_time(Connection& connection) const {
  const bool beats = connection.late && late_.beats(connection);
  if (Partial* const partial = connection.partial) {
    const bool begins = partial->started_ms == Partial::not_yet && !connection.sending;
    if (beats || begins) partial->started_ms = beats ? Partial::not_yet : now_ms_;
  }
  return beats;
}

// The one deadline that the connection's situation calls for.
template <class Io>
void Worker<Io>::set_deadline(Connection& connection) {
  if (connection.state == ConnectionState::lingering ||
      connection.state == ConnectionState::closing) {
    return;
  }
  if (connection.patient && !stopping_) [[unlikely]] {
    connection.deadline = DeadlineKind::none;
    return;
  }
  // What it waits for is ours: calls in flight have deadlines of their own.
  const bool quiet =
      (connection.partial == nullptr || connection.paused) && connection.drop_left == 0;
  const bool waits = connection.late || (connection.calls && connection.paused);
  const bool beats = keeps_time(connection);
  const bool pings = connection.protocol == Protocol::websocket && !connection.paused && !stopping_;
  if (waits && (quiet || beats) && !connection.sending && !pings) [[unlikely]] {
    set_late_deadline(connection);
    return;
  }
  DeadlineKind kind = DeadlineKind::idle;
  std::uint64_t deadline_ms = now_ms_ + (stopping_ ? 0 : options_.peer.idle_timeout_ms);
  if (connection.sending) {
    // Only progress moves this deadline, not what else the peer sends.
    if (connection.deadline == DeadlineKind::stall) return;
    kind = DeadlineKind::stall;
    deadline_ms = now_ms_ + options_.peer.stall_timeout_ms;
  } else if (connection.drop_left != 0) {
    // Absolute, as for a body that is wanted: dripping does not move it.
    if (connection.deadline == DeadlineKind::body) return;
    kind = DeadlineKind::body;
    deadline_ms = now_ms_ + options_.peer.body_grace_ms +
                  std::uint64_t{connection.drop_left} * 1000 / options_.peer.body_rate_min;
  } else if (connection.partial != nullptr && connection.protocol != Protocol::http) {
    const Partial& partial = *connection.partial;
    kind = DeadlineKind::body;
    deadline_ms = body_deadline_ms(partial, partial.end - partial.begin);
  } else if (connection.partial != nullptr) {
    const Partial& partial = *connection.partial;
    // The first head's began with the connection, a later one's with its first byte.
    const bool begun = connection.deadline == DeadlineKind::head && !stopping_;
    if (begun && partial.head_size == 0) return;
    kind = partial.head_size == 0 ? DeadlineKind::head : DeadlineKind::body;
    if (kind == DeadlineKind::head) {
      deadline_ms = partial.started_ms + options_.peer.head_timeout_ms;
      // A head that is not whole when the server stops gets a moment, not its whole time.
      if (stopping_)
        deadline_ms = std::min(deadline_ms, stopped_ms_ + options_.peer.linger_timeout_ms);
    } else {
      deadline_ms = body_deadline_ms(partial, partial.message_size - partial.head_size);
    }
  } else if (pings) {
    kind = DeadlineKind::ping;
    deadline_ms = now_ms_ + options_.peer.websocket_ping_ms;
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
      if (connection.protocol == Protocol::websocket) {
        end_websocket(connection, stopping_ ? ws::close_code::going_away : ws::close_code::policy,
                      "body_rate_min");
        break;
      }
      // Silence from the start is no request, so it is not answered.
      if (connection.partial != nullptr) {
        responder_.answer_broken(late_.out_of(connection), connection.protocol, 408,
                                 head ? "head_timeout_ms" : "body_rate_min");
      }
      connection.state = ConnectionState::finishing;
      break;
    }
    case DeadlineKind::idle:
      if (connection.protocol == Protocol::websocket) {
        end_websocket(connection, ws::close_code::going_away, "the server stops");
        break;
      }
      if (!stopping_) counters_.add(base::Counter::limit_idle_timeout);
      connection.state = ConnectionState::finishing;
      break;
    case DeadlineKind::stall:
      counters_.add(base::Counter::limit_stall_timeout);
      connection.broken = true;
      break;
    case DeadlineKind::ping:
      send_ping(connection);
      break;
    case DeadlineKind::heartbeat:
      if (late_.beats(connection)) late_.beat(connection);
      break;
    case DeadlineKind::linger:
      counters_.add(base::Counter::limit_linger_timeout);
      connection.broken = true;
      break;
  }
  send(connection);
}

}  // namespace ringrpc::serve
