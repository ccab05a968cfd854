#pragma once

// A part of worker.cpp: from the received bytes of a connection to one message after the other, and
// what is answered without a method. Included by worker.cpp only.

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/serve/worker.h"

namespace ringrpc::serve {

// Gives the buffer that has been read back and turns to the next one.
// Returns: false when there is none.
template <class Io>
bool Worker<Io>::next_input(Connection& connection) {
  if (input_buffer_ != no_input) give(input_buffer_);
  input_buffer_ = connection.input_first;
  input_ = {};
  if (input_buffer_ == no_input) return false;
  connection.input_first = input_next_[input_buffer_];
  if (connection.input_first == no_input) connection.input_last = no_input;
  input_ = {io_.buffer(input_buffer_), input_size_[input_buffer_]};
  return true;
}

template <class Io>
void Worker<Io>::give(std::uint16_t buffer) {
  RINGRPC_ASSERT(lent_ > 0);
  --lent_;
  io_.give(buffer);
}

template <class Io>
void Worker<Io>::drop_input(Connection& connection) {
  websockets_.forget_pong();
  do {
    if (connection.state == ConnectionState::lingering) {
      connection.drop_left -= std::min(connection.drop_left, input_.size);
    }
  } while (next_input(connection));
}

template <class Io>
bool Worker<Io>::keep(Connection& connection) {
  switch (connection.protocol) {
    case Protocol::http:
      return framer_.keep(connection, input_);
    case Protocol::lines:
      return lines_.keep(connection, input_);
    case Protocol::websocket:
      return websockets_.keep(connection, input_);
  }
  return false;
}

// Stops reading a connection whose replies are not read: what has come is kept for later.
template <class Io>
void Worker<Io>::pause(Connection& connection) {
  connection.paused = true;
  send_pong(connection);
  if (connection.receiving && !connection.stopping_receive) {
    connection.stopping_receive = true;
    io_.stop_receiving(handle_of(connection));
  }
  do {
    if (!keep(connection)) {
      connection.broken = true;  // The framer has counted why.
      drop_input(connection);
      return;
    }
  } while (next_input(connection));
}

template <class Io>
[[gnu::always_inline]] inline Step Worker<Io>::next_step(Connection& connection) {
  if (connection.protocol == Protocol::http) [[likely]]
    return framer_.next(connection, input_, request_, now_ms_);
  if (connection.protocol == Protocol::lines)
    return lines_.next(connection, input_, request_, now_ms_);
  return websockets_.next(connection, input_, request_, now_ms_);
}

// Nothing more has come from a peer whose messages need not end with a byte of their own.
// Returns: what the peer's end makes of what it has begun; Step::need_input when that is nothing.
template <class Io>
Step Worker<Io>::end_of_input(Connection& connection) {
  if (connection.protocol == Protocol::websocket) {
    send_pong(connection);
    if (connection.leaving && connection.partial == nullptr && !connection.late) {
      end_websocket(connection, ws::close_code::going_away, "the server stops");
    }
    return Step::need_input;
  }
  if (connection.peer_finished) {
    const Step step = lines_.end(connection, request_);
    if (step != Step::need_input) return step;
  }
  if (connection.leaving && connection.partial == nullptr) {
    connection.state = ConnectionState::finishing;
  }
  return Step::need_input;
}

// The server stops. HTTP says that a reply is the last one; elsewhere nothing does, so all that has
// come is answered, and the connection ends when nothing is begun any more.
template <class Io>
[[gnu::cold]] void Worker<Io>::end_after_this(Connection& connection) {
  if (connection.protocol == Protocol::http) {
    request_.last = true;
  } else {
    connection.leaving = true;
  }
}

// Returns: whether request_ is a message to be read; everything else has been dealt with.
template <class Io>
bool Worker<Io>::frame(Connection& connection) {
  for (;;) {
    if (connection.state != ConnectionState::open || connection.broken) [[unlikely]] {
      drop_input(connection);
      return false;
    }
    if ((connection.late || connection.calls || connection.out.size > limits::unsent_size_max) &&
        Framer::may_keep(connection) && (connection.upgrading || late_.is_over(connection)))
        [[unlikely]] {
      pause(connection);
      return false;
    }
    bool ok = true;
    request_.protocol = connection.protocol;
    Step step = next_step(connection);
    if (step == Step::need_input) {
      if (next_input(connection)) continue;
      if (connection.protocol == Protocol::http) [[likely]]
        return false;
      step = end_of_input(connection);
    }
    switch (step) {
      case Step::need_input:
        return false;
      case Step::message:
        counters_.add(base::Counter::requests);
        if (stopping_) end_after_this(connection);
        if (request_.admission.target == Target::rpc) [[likely]]
          return true;
        if (request_.admission.target == Target::websocket) {
          upgrade(connection);
          continue;
        }
        ok = responder_.answer_plain(late_.out_of(connection), request_);
        break;
      case Step::refused:
        if (stopping_) end_after_this(connection);
        ok = responder_.answer_refused(late_.out_of(connection), request_);
        break;
      case Step::go_on:
        if (!responder_.answer_continue(late_.out_of(connection))) fail(connection);
        continue;
      case Step::broken:
        if (connection.protocol == Protocol::websocket) {
          end_websocket(connection, request_.status, {});
          continue;
        }
        ok = responder_.answer_broken(late_.out_of(connection), connection.protocol,
                                      request_.status, request_.reason);
        break;
    }
    answered(connection, ok, 0);
  }
}

template <class Io>
void Worker<Io>::answered(Connection& connection, bool ok, std::uint32_t calls) {
  calls_ += calls;
  if (!ok) [[unlikely]] {
    fail(connection);
  } else if (request_.last) [[unlikely]] {
    connection.state = ConnectionState::finishing;
  }
}

template <class Io>
Peer Worker<Io>::peer_of(const Connection& connection) const {
  Peer peer;
  std::memcpy(peer.address.data(), connection.peer.bytes, peer.address.size());
  peer.port = connection.peer.port;
  return peer;
}

}  // namespace ringrpc::serve
