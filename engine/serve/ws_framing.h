#pragma once

// One text message out of a WebSocket's frames: unmasked in the receive buffer and handed on from
// there when it came in one frame and one piece, else put together once in a block of the pool.

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/serve/connection.h"
#include "engine/serve/partial_pool.h"
#include "engine/serve/request.h"
#include "engine/ws/decoder.h"

namespace ringrpc::serve {

// Thread: worker only. Cost: for a message in one piece, its unmasking in place.
// Invariant: a pong is pending only within the pass of one connection.
class WsFramer {
 public:
  struct Options {
    PartialPool* pool;
    base::Counters* counters;
    std::uint8_t mount_first;  // the endpoint of the first mount
    std::uint32_t message_size_max;
  };

  explicit WsFramer(const Options& options) : options_(options) {
    rules_.message_size_max = options.message_size_max;
  }

  // Takes from the input what the next step needs. Pings and pongs are dealt with on the way.
  // Returns: Step::broken with the code to close with, also for the peer's own close.
  Step next(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);

  // Saves what is left of the input for later, because the connection is paused. What was kept is
  // to be read with an empty input first. Returns: false when the pool is used up.
  bool keep(Connection& connection, Input& input);

  // The connection has become a WebSocket: what stands behind its last request are frames.
  void adopt(Connection& connection, std::uint64_t now_ms);

  // The payload of the last ping that has not been answered: one pong may answer all before it.
  [[nodiscard]] bool has_pong() const { return pong_pending_; }
  [[nodiscard]] std::string_view pong() const { return {pong_.data(), pong_size_}; }
  void forget_pong() { pong_pending_ = false; }

 private:
  Step next_partial(Connection& connection, Input& input, Request& request);
  Step begin(Connection& connection, Input& input, Request& request, std::uint64_t now_ms);
  Step deliver(Connection& connection, std::string_view text, Request& request);
  Step control(ws::Opcode opcode, std::string_view payload, Request& request);
  Step close(Request& request, std::uint16_t code);
  Step refuse(Request& request, std::uint16_t code);
  Step full(Request& request);
  bool put(Connection& connection, std::string_view piece);
  bool append(Connection& connection, std::string_view bytes, std::uint64_t coming);
  void settle(Connection& connection, std::uint64_t now_ms);
  void forget(Connection& connection);

  Options options_;
  ws::Rules rules_;
  bool pong_pending_ = false;
  std::uint8_t pong_size_ = 0;
  std::array<char, ws::control_size_max> pong_;
};

}  // namespace ringrpc::serve
