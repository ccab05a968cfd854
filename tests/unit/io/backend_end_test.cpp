// Goal: whatever ends (a connection, a backlog, the wait, the backend), it ends as event.h says.
// Method: as backend_test.cpp.

#include <sys/resource.h>

#include <thread>

#include "tests/unit/io/backend.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

template <typename Io>
class BackendEnds : public Backend<Io> {};
TYPED_TEST_SUITE(BackendEnds, Backends, BackendNames);

TYPED_TEST(BackendEnds, APeersFinIsAnEmptyReceive) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  ASSERT_TRUE(peer.write("last"));
  peer.fin();
  this->io_->receive(handle);
  std::string bytes;
  Event event = this->take_bytes(bytes);
  while (event.more) event = this->take_bytes(bytes);
  EXPECT_EQ(bytes, "last");
  EXPECT_EQ(event.result, 0);
  EXPECT_EQ(event.buffer, io::no_buffer);
  this->io_->send(handle, "answer", 6);
  EXPECT_EQ(this->take(EventKind::sent).result, 6);
  this->finish(handle, false);
  EXPECT_EQ(peer.read(), "answer");
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.error(), 0);
}

TYPED_TEST(BackendEnds, APeersResetEndsTheReceiveAndLaterSends) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->receive(handle);
  this->turn(0);
  peer.reset();
  std::string bytes;
  const Event event = this->take_bytes(bytes);
  EXPECT_EQ(event.result, -ECONNRESET);
  EXPECT_FALSE(event.more);
  this->io_->send(handle, "answer", 6);
  EXPECT_EQ(this->take(EventKind::sent).result, -EPIPE);
  this->finish(handle, false);
}

TYPED_TEST(BackendEnds, AResetEndsASendThatWaitsForRoom) {
  RINGRPC_START();
  const std::string sent = pattern(1 << 20);
  Peer peer(this->port());
  const Handle handle = this->accept();
  std::int32_t result = 0;
  for (int i = 0; result >= 0 && i < 1000; ++i) {
    this->io_->send(handle, sent.data(), static_cast<std::uint32_t>(sent.size()));
    for (int turns = 0; turns < 4 && this->events_.empty(); ++turns) this->turn(0);
    if (this->events_.empty()) peer.reset();  // it is full
    result = this->take(EventKind::sent).result;
  }
  EXPECT_TRUE(result == -EPIPE || result == -ECONNRESET) << result;
  this->finish(handle, false);
}

TYPED_TEST(BackendEnds, ShuttingBothWaysEndsWhatIsArmed) {
  RINGRPC_START();
  const std::string sent = pattern(256 << 10);
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->receive(handle);
  for (int i = 0; i < 1000; ++i) {
    this->io_->send(handle, sent.data(), static_cast<std::uint32_t>(sent.size()));
    for (int turns = 0; turns < 4 && this->events_.empty(); ++turns) this->turn(0);
    if (this->events_.empty()) break;  // it waits for room
    this->take(EventKind::sent);
  }
  this->io_->shut(handle, true);
  std::string bytes;
  const Event event = this->take_bytes(bytes);
  EXPECT_LE(event.result, 0);
  EXPECT_FALSE(event.more);
  this->take(EventKind::sent);  // an error, or the part that was taken
  this->finish(handle, false);
}

TYPED_TEST(BackendEnds, ShuttingOneWaySendsAFinAndStillReceives) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->receive(handle);
  this->io_->shut(handle, false);
  this->turn(0);
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.error(), 0);
  ASSERT_TRUE(peer.write("more"));
  std::string bytes;
  const Event event = this->take_bytes(bytes);
  EXPECT_EQ(bytes, "more");
  this->finish(handle, event.more);
}

TYPED_TEST(BackendEnds, ShutAndCloseInOneTurnBothHappen) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->shut(handle, false);
  this->io_->shut(handle, true);
  this->io_->close(handle);
  EXPECT_EQ(this->take(EventKind::closed).socket, handle);
  EXPECT_EQ(peer.read(), "");
}

TYPED_TEST(BackendEnds, AReusedSlotHasANewGeneration) {
  RINGRPC_START({.connections_max = 1});
  Handle former;
  for (int i = 0; i < 5; ++i) {
    Peer peer(this->port());
    const Handle handle = this->accept();
    EXPECT_EQ(handle.slot, 0u);
    EXPECT_GT(handle.generation, former.generation);
    former = handle;
    this->finish(handle, false);
  }
}

TYPED_TEST(BackendEnds, PeersBeyondTheLimitWaitForAFreeSlot) {
  RINGRPC_START({.connections_max = 2});
  Peer first(this->port());
  Peer second(this->port());
  Peer third(this->port());
  const Handle one = this->accept();
  const Handle two = this->accept();
  for (int i = 0; i < 5; ++i) this->turn(0);
  EXPECT_TRUE(this->events_.empty());
  ASSERT_TRUE(third.write("patience"));
  this->finish(one, false);
  const Handle three = this->accept();
  EXPECT_EQ(three.slot, one.slot);
  bool armed = false;
  EXPECT_EQ(this->receive_all(three, 8, armed), "patience");
  this->finish(three, armed);
  this->finish(two, false);
}

TYPED_TEST(BackendEnds, AThousandConnectionsLeaveNothingBehind) {
  RINGRPC_START({.receive_buffers = 2});
  const int before = open_descriptors();
  for (int i = 0; i < 1000; ++i) {
    Peer peer(this->port());
    const Handle handle = this->accept();
    this->io_->receive(handle);
    if (i % 3 != 0) {
      EXPECT_TRUE(peer.write("x"));
    }
    if (i % 2 == 0) peer.reset();
    if (i % 2 != 0) peer.shut();
    std::string bytes;
    Event event = this->take_bytes(bytes);
    while (event.more) event = this->take_bytes(bytes);
    ASSERT_NE(event.result, -ENOBUFS) << "a buffer was lost, round " << i;
    this->finish(handle, false);
  }
  EXPECT_EQ(this->io_->open_count(), 0u);
  EXPECT_EQ(open_descriptors(), before);
}

TYPED_TEST(BackendEnds, MoreCompletionsThanTheQueuesHoldAllArrive) {
  constexpr std::size_t count = 4300;  // the queues of io_uring hold 512 and 4096
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit more{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &more);
  if (limit.rlim_max < 2 * count + 100) GTEST_SKIP() << "too few descriptors";
  RINGRPC_START({.connections_max = count});
  std::vector<Peer> peers;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < count; ++i) {
    peers.emplace_back(this->port());
    handles.push_back(this->accept());
  }
  for (const Handle handle : handles) this->io_->close(handle);
  for (std::size_t i = 0; i < count; ++i) this->take(EventKind::closed);
  EXPECT_EQ(this->io_->open_count(), 0u);
  EXPECT_TRUE(this->events_.empty());
  const std::uint64_t overflows = this->counters_.get(base::Counter::completion_overflows);
  EXPECT_EQ(overflows > 0, (!std::is_same_v<TypeParam, io::EpollIo>));
  Peer peer(this->port());
  this->finish(this->accept(), false);
}

TYPED_TEST(BackendEnds, StoppingServesTheBacklogAndThenRefuses) {
  RINGRPC_START();
  this->turn(0);
  std::vector<Peer> peers;
  for (int i = 0; i < 60; ++i) peers.emplace_back(this->port());
  this->io_->stop_accepting();
  this->io_->stop_accepting();
  for (int turns = 0; this->io_->accepting() && turns < this->turns_max; ++turns) this->turn();
  EXPECT_FALSE(this->io_->accepting());
  EXPECT_EQ(this->events_.size(), peers.size());
  this->expect_free_port();
  for (std::size_t i = 0; i < peers.size(); ++i) this->finish(this->accept(), false);
}

TYPED_TEST(BackendEnds, StoppingAnIdleBackendClosesItsListener) {
  RINGRPC_START();
  this->turn(0);
  this->io_->stop_accepting();
  for (int turns = 0; this->io_->accepting() && turns < this->turns_max; ++turns) this->turn();
  EXPECT_FALSE(this->io_->accepting());
  this->expect_free_port();
}

TYPED_TEST(BackendEnds, ItsEndFreesThePortAndTheDescriptors) {
  const int before = open_descriptors();
  RINGRPC_START();
  Peer peer(this->port());
  this->io_->receive(this->accept());
  this->turn(0);
  this->io_.reset();
  this->expect_free_port();
  EXPECT_EQ(open_descriptors(), before + 1);
}

TYPED_TEST(BackendEnds, AWakeEndsTheWaitWhicheverComesFirst) {
  RINGRPC_START();
  this->io_->wake();
  this->io_->wake();
  this->io_->wait(-1);
  Event event;
  ASSERT_TRUE(this->io_->next(event));
  EXPECT_EQ(event.kind, EventKind::woken);
  EXPECT_FALSE(this->io_->next(event)) << "two wakes before one wait are one";
  for (int i = 0; i < 200; ++i) {
    std::thread other([this] { this->io_->wake(); });
    bool woken = false;
    while (!woken) {
      this->io_->wait(-1);
      while (this->io_->next(event)) woken |= event.kind == EventKind::woken;
    }
    other.join();
  }
}

TYPED_TEST(BackendEnds, WithASpinItReceivesSendsAndWakesAllTheSame) {
  RINGRPC_START({.spin_us = 200});
  Peer peer(this->port());
  const Handle handle = this->accept();
  bool armed = false;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(peer.write("ping"));
    EXPECT_EQ(this->receive_all(handle, 4, armed), "ping");
    this->io_->send(handle, "pong", 4);
    EXPECT_EQ(this->take(EventKind::sent).result, 4);
    EXPECT_EQ(peer.read(4), "pong");
    std::thread other([this] { this->io_->wake(); });
    this->take(EventKind::woken);
    other.join();
  }
  this->finish(handle, armed);
}

TYPED_TEST(BackendEnds, AFailureToAcceptIsCountedAndTriedAgainWithoutABusyLoop) {
  if (!std::is_same_v<TypeParam, io::EpollIo>) GTEST_SKIP() << "direct descriptors are not limited";
  RINGRPC_START();
  Peer peer(this->port());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{.rlim_cur = 3, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  for (int i = 0; i < 5; ++i) this->turn(1'000'000'000);
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::uint64_t errors = this->counters_.get(base::Counter::accept_errors);
  EXPECT_GE(errors, 1u);
  EXPECT_LE(errors, 5u);
  EXPECT_TRUE(this->events_.empty());
  this->finish(this->accept(), false);
}

}  // namespace ringrpc::testing
