#pragma once

// Stdin and stdout as one more connection: two threads copy between them and a socket pair, whose
// other end a worker serves like every other socket (docs/decisions/0010-stdio.md).

#include <functional>
#include <thread>

#include "engine/base/status.h"

namespace ringrpc::serve {

// Owns:   the near end of the pair, a private duplicate of stdout, the threads.
// Thread: any one; used at start and at the end only.
class Stdio {
 public:
  Stdio() = default;
  Stdio(const Stdio&) = delete;
  Stdio& operator=(const Stdio&) = delete;
  ~Stdio() { stop(); }

  // Takes stdout away from the process: from now on descriptor 1 is stderr, so that nobody prints
  // between two messages. Idempotent: the end of the pair is made anew.
  // Fails: stdin or stdout is closed; no descriptor is left.
  base::Status open();

  // Returns: the end of the pair that is a worker's. Requires: open(), not released.
  [[nodiscard]] int socket() const { return far_; }
  // Gives it up: its new owner closes it.
  void release() { far_ = -1; }

  // Begins to copy. `ended` is called once, by a thread of ours, when everything that the worker
  // has said has been written and it has ended the connection, or nobody reads stdout any more.
  void start(std::function<void()> ended);

  // Ends the copying, wherever it is. Idempotent.
  void stop();

 private:
  void copy_in();
  void copy_out();
  bool write_out(const char* data, std::size_t size);
  // Waits until one of the two has one of these events, or has ended. Returns: false at stop().
  bool wait(int fd, short events, int other, short other_events);
  void close_pair();

  int out_ = -1;   // the private stdout
  int near_ = -1;  // our end of the pair
  int far_ = -1;
  int quit_ = -1;  // an eventfd, readable from stop() on
  std::function<void()> ended_;
  std::thread in_thread_;
  std::thread out_thread_;
};

}  // namespace ringrpc::serve
