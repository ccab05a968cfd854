#pragma once

// What a worker knows of one connection. Idle connections own nothing but this.

#include <ringrpc/limits.h>

#include <cstdint>

#include "engine/io/event.h"
#include "engine/serve/outbox.h"
#include "engine/serve/protocol.h"

namespace ringrpc::serve {

struct Partial;

inline constexpr std::uint16_t no_input = 0xFFFF;
inline constexpr std::uint32_t no_connection = 0xFFFFFFFF;

enum class ConnectionState : std::uint8_t {
  free,       // no such connection
  open,       // requests are read
  finishing,  // no more requests are read; what is unsent goes out, then the FIN
  lingering,  // our FIN is out; what the peer still sends is dropped
  closing,    // waits for the backend to let go of it
};

// Why a deadline is set; each names its own counter.
enum class DeadlineKind : std::uint8_t { none, head, idle, body, stall, linger, ping, heartbeat };

// One slot of the connection table; the position in the table is the backend's slot.
// Thread: worker only.
struct alignas(64) Connection {
  std::uint32_t generation = 0;
  ConnectionState state = ConnectionState::free;
  DeadlineKind deadline = DeadlineKind::none;
  bool receiving : 1 = false;         // a receive is armed
  bool stopping_receive : 1 = false;  // and has been asked to end
  bool sending : 1 = false;           // the front segment is with the kernel
  bool peer_finished : 1 = false;     // the peer's FIN has arrived
  bool broken : 1 = false;            // reset or error: nothing can be sent any more
  bool is_ready : 1 = false;          // in the list of connections to look at this turn
  bool paused : 1 = false;            // its unsent replies are over the limit
  bool closed : 1 = false;            // the backend has been asked to close it
  bool fresh : 1 = true;              // no byte has come yet
  bool refused : 1 = false;           // over connections_max
  bool late : 1 = false;              // has exchanges that are answered later
  bool calls : 1 = false;             // has calls in flight, or had, whoever waits for them
  Protocol protocol : 2 = Protocol::http;
  bool patient : 1 = false;              // it is not held to timeouts while the server serves
  bool leaving : 1 = false;              // not HTTP: it ends when nothing is begun any more
  std::uint16_t input_first = no_input;  // receive buffers of this turn, in order
  std::uint16_t input_last = no_input;
  std::uint32_t ready_next = no_connection;
  // Bytes that are dropped unread: of a refused body while open, of whatever comes while lingering.
  std::uint32_t drop_left = 0;
  OutList out;
  Partial* partial = nullptr;
  io::Address peer;
  // WebSocket; a connection that becomes one has had its HTTP calls answered first.
  std::uint8_t mount : 4 = 0;  // where it was opened
  std::uint8_t pings_unanswered : 2 = 0;
  bool wants_room : 1 = false;     // notifications wait for what is unsent to leave
  bool upgrading : 1 = false;      // it becomes one when its late HTTP calls are answered
  bool watched : 1 = false;        // no receive would tell whether the peer is gone altogether
  std::uint8_t pong_size : 7 = 0;  // a pong was written last, and the kernel has nothing of it
  // out.size then; when that is another now, it is not the last.
  std::uint32_t pong_end : 29 = 0;
  bool too_slow : 1 = false;    // for what it hears, whose policy is to end it
  bool starved : 1 = false;     // no: there is no memory for it
  bool skips_line : 1 = false;  // lines: the rest of one that was refused is dropped

  // Returns: whether nothing has come that is still to be read.
  [[nodiscard]] bool idle_input() const { return partial == nullptr && input_first == no_input; }
  [[nodiscard]] bool idle() const { return partial == nullptr && out.empty() && !sending && !late; }
};
static_assert(sizeof(Connection) == 64, "a connection is one cache line");
static_assert(limits::mounts_max <= 16 && limits::websocket_pings_unanswered_max <= 3,
              "they fit into a connection");

}  // namespace ringrpc::serve
