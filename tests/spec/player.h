#pragma once

// Plays conversations against a server over real sockets.

#include <ringrpc/server.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/support/conversation.h"

namespace ringrpc::testing {

// Where the bytes of one send are torn apart. At each tear the client waits until the server has
// taken what came before.
struct Cuts {
  static constexpr std::size_t nowhere = ~std::size_t{0};
  std::size_t step = nowhere;    // the send; nowhere: all of them
  std::size_t offset = nowhere;  // nowhere: between any two bytes, when a step is meant
  bool every_byte = false;
};

// Thread: one, and the only client of its server, which has one worker and one listener.
class Player {
 public:
  // `lines`: whether the listener speaks lines of JSON.
  explicit Player(Server& server, bool lines = false) : server_(server), lines_(lines) {}
  ~Player() { hang_up(); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Returns: a complaint, empty when everything came as it should. Keeps the connection for the
  // next conversation when this one leaves it open.
  std::string play(const Conversation& conversation, const Cuts& cuts);

  // Asks something else on the kept connection: whether it is where it should be.
  std::string probe();

 private:
  std::string play_steps(const Conversation& conversation, const Cuts& cuts);
  std::string send(std::string_view bytes, const Cuts& cuts);
  std::string write(std::string_view bytes);
  std::string wait_until_taken();
  std::string read_reply(const ExpectedReply& expected);
  std::string read_end();
  // Returns: bytes read, 0 at the end, -1 after a reset, -2 when nothing came in time.
  long read_more();
  bool connect();
  bool connect_to_path();
  void hang_up();
  [[nodiscard]] std::uint64_t metric(std::string_view name) const;

  Server& server_;
  const bool lines_;
  int fd_ = -1;
  std::string received_;
  std::uint64_t sent_ = 0;          // on this connection
  std::uint64_t taken_before_ = 0;  // by the server, on earlier ones
  bool reset_ = false;
};

// Handlers started so far, by method.
std::map<std::string, std::uint64_t> calls_of(const Server& server);

// Returns: the value of a metric's line; 0 when it is not there.
std::uint64_t metric_of(const std::string& metrics, std::string_view name);

}  // namespace ringrpc::testing
