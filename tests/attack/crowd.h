#pragma once

// Plays conversations over many connections at the same time, with a second client that must be
// served meanwhile.

#include <ringrpc/server.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/spec/player.h"
#include "tests/support/conversation.h"

namespace ringrpc::testing {

// One connection: a conversation, and where its bytes are torn apart.
struct Part {
  const Conversation* one = nullptr;
  Cuts cuts;
};

// In lock step: each connection goes as far as its next tear, then the server takes everything that
// was sent, then the second client has its call answered, then all go on.
// Thread: one; nobody else is a client of the server, which has one worker and knows the method
//         `witness`.
class Crowd {
 public:
  explicit Crowd(Server& server);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Returns: a complaint for each that did not go as it should, with the conversation's place.
  std::vector<std::string> play(std::span<const Part> parts);

  // Waits until only the second client is left.
  // Returns: what the server does not give back, empty when it is nothing.
  std::string check_baseline();

 private:
  // One of the connections.
  struct Member {
    Part part;
    int fd = -1;
    std::size_t step = 0;
    std::size_t sends = 0;      // before this step
    std::size_t step_sent = 0;  // bytes of this step
    std::uint64_t sent = 0;
    std::string received;
    bool reset = false;
    bool done = false;
    std::string complaint;
  };

  void advance(Member& member);
  bool send_step(Member& member, const Step& step);
  void write(Member& member, std::string_view bytes);
  std::string read_reply(Member& member, const ExpectedReply& expected);
  std::string read_end(Member& member);
  std::string probe(Member& member);
  // Returns: as recv(), and -2 when nothing came for very long.
  long read_more(Member& member);
  std::string wait_until_taken(std::span<const Member> members);
  std::string begin_witness();
  std::string end_witness();
  [[nodiscard]] int connect() const;
  [[nodiscard]] std::uint64_t metric(std::string_view name) const;
  bool wait_for(std::string_view name, std::uint64_t value);

  Server& server_;
  Member witness_;
  std::uint64_t witness_calls_ = 0;
  std::string witness_rest_;
  std::uint64_t taken_before_ = 0;
  std::uint64_t sent_ = 0;  // since then, by all
  std::size_t descriptors_ = 0;
};

}  // namespace ringrpc::testing
