#pragma once

// Waiting that SIGINT, SIGTERM and SIGHUP end.

#include <poll.h>

#include <csignal>
#include <cstdint>

namespace ringtop {

// Keeps those signals blocked but while it waits, so that none is lost between two waits. One that
// is ignored stays ignored.
// Thread: the program's only one. One at a time.
class Stop {
 public:
  Stop();
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  enum class Wait : std::uint8_t { ready, timed_out, stopped };

  // Waits until the descriptor has one of the events (a descriptor of -1: never), or it is
  // deadline_ns of the monotonic clock.
  Wait wait(int fd, short events, std::uint64_t deadline_ns) const;

 private:
  sigset_t before_{};
};

}  // namespace ringtop
