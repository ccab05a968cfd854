#pragma once

// A part of worker.cpp: connections that are ended because a limit is reached, and what they are
// told. Included by worker.cpp only.

#include <string_view>

#include "engine/serve/worker.h"
#include "engine/ws/frame.h"

namespace ringrpc::serve {

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

// The peer reads too slowly for what it hears, and is to be ended for it. It is told why behind
// what is unsent, if it still reads that; an event stream ends before its end.
template <class Io>
[[gnu::cold]] void Worker<Io>::end_slow(Connection& connection) {
  connection.too_slow = false;
  const std::string_view reason =
      connection.starved ? "large_replies_size_max" : "stream_queue_size_max";
  if (connection.state != ConnectionState::open || connection.protocol == Protocol::http) {
    connection.broken = true;
  } else if (connection.protocol == Protocol::websocket) {
    end_websocket(connection, ws::close_code::try_again_later, reason);
  } else {
    late_.abandon(connection);
    connection.state = ConnectionState::finishing;
    if (!responder_.answer_broken(connection.out, Protocol::lines, 503, reason)) {
      fail(connection);
    }
  }
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

}  // namespace ringrpc::serve
