#pragma once

// What goes wrong on the fake kernel.

#include <cstdint>

namespace ringrpc::testing {

// How often each fault strikes, in percent of the occasions. All zero: a kernel without faults.
struct FakeFaults {
  std::uint32_t partial_receive = 0;    // fewer bytes than are there, at any split
  std::uint32_t short_send = 0;         // fewer bytes taken than offered
  std::uint32_t send_error = 0;         // EPIPE or ECONNRESET; the connection is gone then
  std::uint32_t receive_error = 0;      // ECONNRESET or ETIMEDOUT; the same
  std::uint32_t delay = 0;              // a socket's completions come in a later turn
  std::uint32_t reorder = 0;            // completions of different sockets change places
  std::uint32_t buffers_exhausted = 0;  // -ENOBUFS though there are buffers
  std::uint32_t end_receive = 0;        // a receive ends without `more` though nothing is wrong
  std::uint32_t stale_event = 0;        // a completion for the former socket of a slot in use
  std::uint32_t reset = 0;              // the peer resets after any byte
  std::uint32_t reset_after_fin = 0;    // the same of one that has half closed and is watched
  std::uint32_t accept_error = 0;       // an accept fails; the peer stays in the backlog
  std::uint32_t few_completions = 0;    // one to four are delivered, the others in later turns

  // Half of the faults never strike, the others with a weight of their own: a run in which one
  // fault is frequent and its masking neighbour absent finds what an even mix does not.
  static FakeFaults swarm(std::uint64_t seed);
};

}  // namespace ringrpc::testing
