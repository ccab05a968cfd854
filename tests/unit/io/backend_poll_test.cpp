// Goal: a backend waits for descriptors of others: once for each poll(), whatever they are, and
// gives everything back. Method: one typed suite on pipes, socket pairs, files and what is none.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "tests/unit/io/backend.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

namespace {

// Two ends that are closed.
struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const int end : ends) close(end);
  }
  void say() const { EXPECT_EQ(write(ends[1], "x", 1), 1); }
  void hear() const {
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
  }
  int ends[2];
};

}  // namespace

template <typename Io>
class BackendPoll : public Backend<Io> {
 protected:
  // Returns: whether none came in some turns that did not sleep.
  bool nothing_comes() {
    for (int i = 0; i < 4; ++i) this->turn(0);
    return this->events_.empty();
  }
};
TYPED_TEST_SUITE(BackendPoll, Backends, BackendNames);

TYPED_TEST(BackendPoll, WhatBecomesReadableIsToldOnce) {
  RINGRPC_START({.polls_max = 8});
  const Pair pair;
  this->io_->poll({3, 7}, pair.ends[0], POLLIN);
  EXPECT_TRUE(this->nothing_comes());
  pair.say();
  const Event event = this->take(EventKind::polled);
  EXPECT_EQ(event.socket, (Handle{3, 7}));
  EXPECT_NE(event.result & POLLIN, 0);
  EXPECT_TRUE(this->nothing_comes());
  // It still is, so that who asks again hears so at once.
  this->io_->poll({3, 8}, pair.ends[0], POLLIN);
  EXPECT_EQ(this->take(EventKind::polled).socket, (Handle{3, 8}));
  pair.hear();
  this->io_->poll({3, 9}, pair.ends[0], POLLIN);
  EXPECT_TRUE(this->nothing_comes());
  this->io_->stop_polling({3, 9});
}

TYPED_TEST(BackendPoll, OneDescriptorServesSeveral) {
  RINGRPC_START({.polls_max = 8});
  const int open = open_descriptors();
  {
    const Pair pair;
    for (std::uint32_t i = 0; i < 4; ++i) this->io_->poll({i, 10 + i}, pair.ends[0], POLLIN);
    this->io_->poll({4, 99}, pair.ends[0], POLLOUT);
    EXPECT_EQ(this->take(EventKind::polled).socket, (Handle{4, 99}));
    EXPECT_TRUE(this->nothing_comes());
    this->io_->stop_polling({2, 12});
    EXPECT_TRUE(this->nothing_comes());
    pair.say();
    std::uint32_t seen = 0;
    for (int i = 0; i < 3; ++i) {
      const Event event = this->take(EventKind::polled);
      EXPECT_EQ(event.socket.generation, 10 + event.socket.slot);
      seen |= 1u << event.socket.slot;
    }
    EXPECT_EQ(seen, 0b1011u);
    EXPECT_TRUE(this->nothing_comes());
  }
  EXPECT_EQ(open_descriptors(), open);
}

TYPED_TEST(BackendPoll, AnEndIsReadyForBoth) {
  RINGRPC_START({.polls_max = 8});
  const Pair pair;
  this->io_->poll({0, 1}, pair.ends[0], POLLIN | POLLOUT);
  EXPECT_EQ(this->take(EventKind::polled).result & (POLLIN | POLLOUT), POLLOUT);
  this->io_->poll({1, 1}, pair.ends[0], POLLIN);
  shutdown(pair.ends[1], SHUT_RDWR);
  EXPECT_NE(this->take(EventKind::polled).result & POLLIN, 0);
}

TYPED_TEST(BackendPoll, WhatCannotBeWaitedForIsToldSo) {
  RINGRPC_START({.polls_max = 8});
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  this->io_->poll({0, 1}, file, POLLIN);
  EXPECT_NE(this->take(EventKind::polled).result & POLLIN, 0);
  close(file);
  for (const int none : {file, -1}) {
    this->io_->poll({0, 2}, none, POLLIN);
    EXPECT_EQ(this->take(EventKind::polled).result, -EBADF) << none;
  }
}

TYPED_TEST(BackendPoll, OneThatIsStoppedTellsNothingAndItsNameServesAgain) {
  RINGRPC_START({.polls_max = 8});
  const Pair pair;
  const Pair other;
  for (std::uint32_t round = 1; round < 2000; ++round) {
    this->io_->poll({5, round}, pair.ends[0], POLLIN);
    if (round % 3 == 0) this->turn(0);
    this->io_->stop_polling({5, round});
  }
  this->io_->poll({5, 9999}, other.ends[0], POLLIN);
  other.say();
  const Event event = this->take(EventKind::polled);
  EXPECT_EQ(event.socket, (Handle{5, 9999}));
  pair.say();
  EXPECT_TRUE(this->nothing_comes());
}

TYPED_TEST(BackendPoll, WhoAsksAgainAtOnceLeavesTimeForOthers) {
  RINGRPC_START({.polls_max = 8});
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  this->io_->poll({0, 1}, file, POLLIN);
  for (int turns = 0; turns < 10; ++turns) {
    this->io_->wait(0);
    int events = 0;
    for (Event event; this->io_->next(event);) {
      ASSERT_LT(++events, 4) << "a turn does not end";
      if (event.kind == EventKind::polled) this->io_->poll({0, 1}, file, POLLIN);
    }
  }
  close(file);
}

TYPED_TEST(BackendPoll, ManyAreWaitedForAndAllGoWithTheBackend) {
  constexpr std::uint32_t many = 3000;
  RINGRPC_START({.polls_max = many});
  const int open = open_descriptors();
  const Pair pair;
  for (std::uint32_t i = 0; i < many; ++i) {
    this->io_->poll({i, i}, pair.ends[i % 2 == 0 ? 0 : 1], POLLIN);
  }
  EXPECT_TRUE(this->nothing_comes());
  pair.say();
  std::vector<bool> seen(many, false);
  for (std::uint32_t i = 0; i < many / 2; ++i) {
    const Event event = this->take(EventKind::polled);
    ASSERT_FALSE(seen[event.socket.slot]);
    ASSERT_EQ(event.socket.slot % 2, 0u);
    seen[event.socket.slot] = true;
  }
  this->io_.reset();
  EXPECT_LE(open_descriptors(), open + 2);
}

}  // namespace ringrpc::testing
