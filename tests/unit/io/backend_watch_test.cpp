// Goal: a backend tells, once, when a peer whose bytes nobody receives is gone altogether, and
// never of one that has half closed its connection and listens. Method: as backend_test.cpp, on TCP
// and on a socket pair.

#include <poll.h>

#include "tests/unit/io/backend.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

template <typename Io>
class BackendWatch : public Backend<Io> {
 protected:
  // A connection behind its peer's FIN.
  Handle half_closed(Peer& peer) {
    const Handle handle = this->accept();
    peer.fin();
    this->io_->receive(handle);
    take_fin();
    return handle;
  }
  void take_fin() {
    std::string bytes;
    Event event = this->take_bytes(bytes);
    while (event.more) event = this->take_bytes(bytes);
    EXPECT_EQ(event.result, 0);
  }
  // Returns: whether none came in some turns that did not sleep.
  bool nothing_comes() {
    for (int i = 0; i < 8; ++i) this->turn(0);
    return this->events_.empty();
  }
  void unwatch(Handle handle) {
    this->io_->stop_watching(handle);
    const Event event = this->take(EventKind::gone);
    EXPECT_EQ(event.socket, handle);
    EXPECT_LT(event.result, 0);
  }
};
TYPED_TEST_SUITE(BackendWatch, Backends, BackendNames);

TYPED_TEST(BackendWatch, AResetBehindAFinIsToldOnce) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->half_closed(peer);
  this->io_->watch(handle);
  EXPECT_TRUE(this->nothing_comes());
  peer.reset();
  const Event event = this->take(EventKind::gone);
  EXPECT_EQ(event.socket, handle);
  EXPECT_GE(event.result, 0);
  EXPECT_TRUE(this->nothing_comes());
  this->finish(handle, false);
}

// Before the FIN, too, and what was sent before it is not taken.
TYPED_TEST(BackendWatch, AFinIsNotToldAndLosesNothing) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->watch(handle);
  peer.write("unread");
  EXPECT_TRUE(this->nothing_comes());
  peer.fin();
  EXPECT_TRUE(this->nothing_comes());
  this->io_->receive(handle);
  std::string bytes;
  while (this->take_bytes(bytes).more) {
  }
  EXPECT_EQ(bytes, "unread");
  this->unwatch(handle);
  this->finish(handle, false);
}

TYPED_TEST(BackendWatch, AResetOfOneThatIsNotReadIsTold) {
  RINGRPC_START();
  for (const bool fin : {false, true}) {
    Peer peer(this->port());
    const Handle handle = this->accept();
    this->io_->watch(handle);
    peer.write("unread");
    if (fin) peer.fin();
    EXPECT_TRUE(this->nothing_comes());
    peer.reset();
    EXPECT_NE(this->take(EventKind::gone).result & POLLERR, 0) << fin;
    EXPECT_TRUE(this->nothing_comes());
    this->finish(handle, false);
  }
}

TYPED_TEST(BackendWatch, AResetThatCameBeforeIsTold) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->half_closed(peer);
  peer.reset();
  EXPECT_TRUE(this->nothing_comes());
  this->io_->watch(handle);
  EXPECT_GE(this->take(EventKind::gone).result, 0);
  this->finish(handle, false);
}

TYPED_TEST(BackendWatch, APeerThatOnlyListensIsServed) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->half_closed(peer);
  this->io_->watch(handle);
  for (int i = 0; i < 3; ++i) {
    this->io_->send(handle, "answer", 6);
    EXPECT_EQ(this->take(EventKind::sent).result, 6);
    EXPECT_EQ(peer.read(6), "answer");
    EXPECT_TRUE(this->nothing_comes());
  }
  this->unwatch(handle);
  this->finish(handle, false);
  EXPECT_EQ(peer.read(), "");
  EXPECT_EQ(peer.error(), 0) << "the watch has kept the socket open, or reset it";
}

TYPED_TEST(BackendWatch, OurOwnFinEndsIt) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->half_closed(peer);
  this->io_->watch(handle);
  EXPECT_TRUE(this->nothing_comes());
  this->io_->shut(handle, false);
  EXPECT_GE(this->take(EventKind::gone).result, 0);
  this->finish(handle, false);
  EXPECT_EQ(peer.read(), "");
}

TYPED_TEST(BackendWatch, OneThatIsStoppedMayBeWatchedAgain) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->half_closed(peer);
  for (int i = 0; i < 600; ++i) {
    this->io_->watch(handle);
    if (i % 3 == 0) this->turn(0);
    this->unwatch(handle);
  }
  this->io_->watch(handle);
  EXPECT_TRUE(this->nothing_comes());
  peer.reset();
  EXPECT_GE(this->take(EventKind::gone).result, 0);
  this->finish(handle, false);
}

// Whatever comes first, there is one event.
TYPED_TEST(BackendWatch, AStopAndAResetInOneTurnAreOneEvent) {
  RINGRPC_START();
  for (int i = 0; i < 100; ++i) {
    Peer peer(this->port());
    const Handle handle = this->half_closed(peer);
    this->io_->watch(handle);
    if (i % 2 == 0) this->turn(0);
    if (i % 3 == 0) peer.reset();
    if (i % 4 == 0) this->turn(0);
    bool told = false;
    for (const Event& event : this->events_) told |= event.kind == EventKind::gone;
    if (!told) this->io_->stop_watching(handle);
    if (i % 3 == 1) peer.reset();
    EXPECT_EQ(this->take(EventKind::gone).socket, handle);
    this->finish(handle, false);
    EXPECT_TRUE(this->nothing_comes());
  }
  EXPECT_EQ(this->io_->open_count(), 0u);
}

TYPED_TEST(BackendWatch, ManyAreWatchedAndAllGoWithTheBackend) {
  RINGRPC_START();
  const int before = open_descriptors();
  std::vector<Peer> peers;
  std::vector<Handle> handles;
  for (int i = 0; i < 200; ++i) {
    peers.emplace_back(this->port());
    handles.push_back(this->half_closed(peers.back()));
    this->io_->watch(handles.back());
  }
  EXPECT_TRUE(this->nothing_comes());
  for (std::size_t i = 0; i < peers.size(); i += 2) peers[i].reset();
  for (std::size_t i = 0; i < peers.size(); i += 2) {
    const Event event = this->take(EventKind::gone);
    EXPECT_GE(event.result, 0);
    this->finish(event.socket, false);
  }
  EXPECT_TRUE(this->nothing_comes());
  this->io_.reset();
  peers.clear();
  EXPECT_LE(open_descriptors(), before);
}

TYPED_TEST(BackendWatch, AUnixSocketTellsThatItsPeerIsClosed) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const std::string reason = this->start({.adopted = pair[1]});
  if (!reason.empty()) {
    close(pair[0]);
    close(pair[1]);
    if (this->may_be_refused()) GTEST_SKIP() << "io_uring is refused: " << reason;
    FAIL() << "the backend did not start: " << reason;
  }
  const Handle handle = this->accept();
  this->io_->receive(handle);
  ASSERT_EQ(shutdown(pair[0], SHUT_WR), 0);
  this->take_fin();
  this->io_->watch(handle);
  EXPECT_TRUE(this->nothing_comes());
  close(pair[0]);
  EXPECT_EQ(this->take(EventKind::gone).result, POLLHUP) << "a close is no reset";
  this->finish(handle, false);
}

}  // namespace ringrpc::testing
