#pragma once

// A program that a client talks to over its stdin and stdout.

#include <sys/types.h>

#include <string>
#include <vector>

namespace ringrpc::client {

// Owns:   the process, until close(): it is always waited for, so that none is left behind.
// Thread: one owner.
class Child {
 public:
  Child() = default;
  ~Child() { close(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts the program, looked up in PATH, with both streams on one socket, whose other end is
  // given back non-blocking; its stderr is this process's. Requires: it is closed.
  // Returns: the descriptor, or a negated errno value.
  int open(const std::vector<std::string>& command);

  // Waits for its end, which the end of its stdin asks for; later SIGTERM, and at last SIGKILL.
  // Requires: the descriptor is closed, or shut both ways.
  // Returns: how it ended, for people; empty when there is none.
  std::string close();

 private:
  pid_t pid_ = -1;
};

}  // namespace ringrpc::client
