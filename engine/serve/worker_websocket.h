#pragma once

// A part of worker.cpp: what a WebSocket has beside messages, from its beginning out of an HTTP
// request to its close. Included by worker.cpp only.

#include <ringrpc/limits.h>

#include <string_view>

#include "engine/base/assert.h"
#include "engine/serve/worker.h"
#include "engine/serve/ws_reply.h"
#include "engine/ws/frame.h"

namespace ringrpc::serve {

// Agrees to the handshake in request_. Calls before it that are answered later keep their place:
// until they are, nothing is read.
template <class Io>
[[gnu::cold]] void Worker<Io>::upgrade(Connection& connection) {
  if (!responder_.answer_upgrade(late_.out_of(connection), request_)) {
    fail(connection);
    return;
  }
  connection.mount = request_.admission.mount & 15;
  connection.upgrading = true;
  if (!connection.late) become_websocket(connection);
}

template <class Io>
[[gnu::cold]] void Worker<Io>::become_websocket(Connection& connection) {
  RINGRPC_ASSERT(connection.protocol == Protocol::http && connection.upgrading);
  connection.protocol = Protocol::websocket;
  connection.upgrading = false;
  connection.leaving = stopping_;
  websockets_.adopt(connection, now_ms_);
}

// Says why, and ends the connection. Nothing may follow a close frame, so what is still to be
// answered is dropped; what was answered before leaves.
template <class Io>
[[gnu::cold]] void Worker<Io>::end_websocket(Connection& connection, std::uint16_t code,
                                             std::string_view reason) {
  websockets_.forget_pong();
  if (connection.state != ConnectionState::open) return;
  if (late_.busy()) late_.abandon(connection);
  connection.state = ConnectionState::finishing;
  if (!write_close(outbox_, connection.out, code, reason)) connection.broken = true;
}

// Nothing has come for a while: asks whether the peer is there, or gives it up.
template <class Io>
[[gnu::cold]] void Worker<Io>::send_ping(Connection& connection) {
  if (connection.pings_unanswered == limits::websocket_pings_unanswered_max) {
    counters_.add(base::Counter::limit_pings_unanswered);
    end_websocket(connection, ws::close_code::policy, "pings are not answered");
    return;
  }
  connection.pings_unanswered = (connection.pings_unanswered + 1) & 3;
  if (!write_ping(outbox_, connection.out)) fail(connection);
}

// Answers the last ping of what has been read. One answer that still waits for its turn makes room
// for the next, so that pings are no way to fill memory.
template <class Io>
void Worker<Io>::send_pong(Connection& connection) {
  if (!websockets_.has_pong()) return;
  char frame[pong_frame_max];
  const std::uint32_t size = write_pong(frame, websockets_.pong());
  websockets_.forget_pong();
  const bool waits = connection.pong_size != 0 && connection.out.size == connection.pong_end;
  if (!waits || !outbox_.replace_last(connection.out, connection.pong_size, frame, size)) {
    if (!append_frame(outbox_, connection.out, {frame, size})) fail(connection);
  }
  static_assert(pong_frame_max < 128, "its size has seven bits");
  connection.pong_size = size & 0x7F;
  connection.pong_end = connection.out.size & 0x1FFFFFFF;
}

}  // namespace ringrpc::serve
