#pragma once

// One backend on one listener, and turns until something arrives. The same tests run on every
// backend: io_uring, io_uring as on an old kernel, epoll.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/io/epoll_io.h"
#include "engine/io/listener.h"
#include "engine/io/uring_io.h"
#include "tests/support/io_uring.h"
#include "tests/unit/io/peer.h"

namespace ringrpc::testing {

class OldUringIo : public io::UringIo {
 public:
  OldUringIo() { pretend_old_kernel(); }
};

using Backends = ::testing::Types<io::UringIo, OldUringIo, io::EpollIo>;

struct BackendNames {
  template <typename Io>
  static std::string GetName(int) {
    if (std::is_same_v<Io, io::UringIo>) return "Uring";
    return std::is_same_v<Io, OldUringIo> ? "OldUring" : "Epoll";
  }
};

template <typename Io>
class Backend : public ::testing::Test {
 protected:
  // A hang is a failure after so many turns of turn_ns.
  static constexpr int turns_max = 2000;
  static constexpr std::int64_t turn_ns = 10'000'000;

  // Returns: false when this machine refuses the backend; the test is skipped then.
  // Starts the backend. Use RINGRPC_START, which skips or fails the test when it does not start.
  // Returns: why it did not, empty when it did.
  std::string start(io::IoOptions options = {}) {
    const base::Status listening = listener_.open("127.0.0.1:0", 1);
    if (!listening.ok()) return listening.sentence();
    const int sockets[] = {listener_.socket(0)};
    options.listeners = sockets;
    options.counters = &counters_;
    io_ = std::make_unique<Io>();
    const base::Status status = io_->start(options);
    if (!status.ok()) return status.sentence();
    listener_.release(0);
    return {};
  }

  // Returns: whether a failure to start is the machine's: the kernel, asked without our code, gives
  // no ring at all. epoll is never refused.
  static bool may_be_refused() {
    if constexpr (std::is_same_v<Io, io::EpollIo>) return false;
    return io_uring_is_refused();
  }

  std::uint16_t port() const { return listener_.port(); }

  // One turn; what it brings is appended to events_.
  void turn(std::int64_t timeout_ns = turn_ns) {
    io_->wait(timeout_ns);
    for (io::Event event; io_->next(event);) events_.push_back(event);
  }

  // Returns: the first event of the kind that has not been taken, after as many turns as it needs.
  io::Event take(io::EventKind kind) {
    for (int turns = 0; turns < turns_max; ++turns) {
      for (std::size_t i = 0; i < events_.size(); ++i) {
        if (events_[i].kind != kind) continue;
        const io::Event event = events_[i];
        events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
        return event;
      }
      turn();
    }
    ADD_FAILURE() << "no event of kind " << static_cast<int>(kind);
    return {};
  }

  io::Handle accept() { return take(io::EventKind::accepted).socket; }

  // Takes a received event, appends its bytes, gives its buffer back.
  io::Event take_bytes(std::string& bytes) {
    const io::Event event = take(io::EventKind::received);
    if (event.result > 0) {
      bytes.append(io_->buffer(event.buffer), static_cast<std::size_t>(event.result));
    }
    if (event.buffer != io::no_buffer) io_->give(event.buffer);
    return event;
  }

  // Receives until there are so many bytes, arming again whenever a receive has ended.
  std::string receive_all(io::Handle handle, std::size_t size, bool& armed) {
    std::string bytes;
    while (bytes.size() < size) {
      if (!armed) io_->receive(handle);
      const io::Event event = take_bytes(bytes);
      armed = event.more;
      if (event.result <= 0 && event.result != -ENOBUFS && event.result != -ECANCELED) break;
    }
    return bytes;
  }

  // Ends an armed receive and closes the socket.
  void finish(io::Handle handle, bool armed) {
    std::string ignored;
    if (armed) io_->stop_receiving(handle);
    while (armed) armed = take_bytes(ignored).more;
    io_->close(handle);
    EXPECT_EQ(take(io::EventKind::closed).socket, handle);
  }

  // Nobody listens on the port any more. (A connection to a free port may end up at itself, so
  // that it would tell nothing.)
  void expect_free_port() {
    io::Listener again;
    const base::Status status = again.open("127.0.0.1:" + std::to_string(port()), 1);
    EXPECT_TRUE(status.ok()) << status.sentence();
  }

  base::Counters counters_;
  io::Listener listener_;
  std::unique_ptr<Io> io_;
  std::vector<io::Event> events_;
};

// Bytes in which any loss, repetition or exchange shows.
inline std::string pattern(std::size_t size, std::uint32_t seed = 1) {
  std::string bytes(size, '\0');
  std::uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace ringrpc::testing

// Starts the fixture's backend with the options given. A backend that this kernel refuses skips the
// test, with the reason; one that does not start although it could fails it.
#define RINGRPC_START(...)                                                         \
  if (const std::string reason = this->start(__VA_ARGS__); !reason.empty()) {      \
    if (this->may_be_refused()) GTEST_SKIP() << "io_uring is refused: " << reason; \
    FAIL() << "the backend did not start: " << reason;                             \
  }                                                                                \
  static_assert(true)
