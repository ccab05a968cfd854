#pragma once

// A part of worker.cpp: from received bytes to whole requests. Included by worker.cpp only.

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
  do {
    if (connection.state == ConnectionState::lingering) {
      connection.drop_left -= std::min(connection.drop_left, input_.size);
    }
  } while (next_input(connection));
}

// Stops reading a connection whose replies are not read: what has come is kept for later.
template <class Io>
void Worker<Io>::pause(Connection& connection) {
  connection.paused = true;
  if (connection.receiving && !connection.stopping_receive) {
    connection.stopping_receive = true;
    io_.stop_receiving(handle_of(connection));
  }
  do {
    if (!framer_.keep(connection, input_)) {
      connection.broken = true;  // The framer has counted why.
      drop_input(connection);
      return;
    }
  } while (next_input(connection));
}

// Returns: whether request_ is a message to be read; everything else has been dealt with.
template <class Io>
bool Worker<Io>::frame(Connection& connection) {
  for (;;) {
    if (connection.state != ConnectionState::open || connection.broken) [[unlikely]] {
      drop_input(connection);
      return false;
    }
    if ((connection.late || connection.out.size > limits::unsent_size_max) &&
        Framer::may_keep(connection) && late_.is_over(connection)) [[unlikely]] {
      pause(connection);
      return false;
    }
    bool ok = true;
    switch (framer_.next(connection, input_, request_, now_ms_)) {
      case Step::need_input:
        if (!next_input(connection)) return false;
        continue;
      case Step::message:
        counters_.add(base::Counter::requests);
        if (stopping_) request_.last = true;
        if (request_.admission.target == Target::rpc) [[likely]]
          return true;
        ok = responder_.answer_plain(late_.out_of(connection), request_);
        break;
      case Step::refused:
        if (stopping_) request_.last = true;
        ok = responder_.answer_refused(late_.out_of(connection), request_);
        break;
      case Step::go_on:
        if (!responder_.answer_continue(late_.out_of(connection))) fail(connection);
        continue;
      case Step::broken:
        ok = responder_.answer_broken(late_.out_of(connection), request_.status);
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
