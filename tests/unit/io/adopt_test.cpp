// Goal: a backend serves Unix sockets, and a socket that it was started with, as it serves every
// other. Method: as backend_test.cpp, with a listener on a path and a socket pair.

#include <sys/un.h>

#include "tests/support/temporary_folder.h"
#include "tests/unit/io/backend.h"

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

template <typename Io>
class Adoption : public Backend<Io> {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair_), 0); }
  void TearDown() override {
    this->io_.reset();
    close(pair_[0]);
    // The backend's own; it is the test's when it has not started.
    if (!adopted_) close(pair_[1]);
  }

  io::IoOptions with_pair() const { return {.adopted = pair_[1]}; }

  std::string read() const {
    char bytes[64];
    const ssize_t size = recv(pair_[0], bytes, sizeof(bytes), 0);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  int pair_[2] = {-1, -1};
  bool adopted_ = false;
};
TYPED_TEST_SUITE(Adoption, Backends, BackendNames);

TYPED_TEST(Adoption, IsToldOnceAndServedLikeAnAcceptedSocket) {
  RINGRPC_START(this->with_pair());
  this->adopted_ = true;
  EXPECT_EQ(this->io_->open_count(), 1u);
  const Event event = this->take(EventKind::accepted);
  EXPECT_EQ(event.result, 1);  // The position behind the one listener.
  EXPECT_EQ(event.peer, io::Address{});
  const Handle adopted = event.socket;
  this->io_->receive(adopted);
  // Others get other slots.
  std::vector<Peer> peers;
  std::vector<Handle> handles;
  for (int i = 0; i < 5; ++i) {
    peers.emplace_back(this->port());
    handles.push_back(this->accept());
    EXPECT_NE(handles.back().slot, adopted.slot);
  }
  ASSERT_EQ(send(this->pair_[0], "hello", 5, 0), 5);
  std::string bytes;
  EXPECT_EQ(this->take_bytes(bytes).socket, adopted);
  EXPECT_EQ(bytes, "hello");
  this->io_->send(adopted, "answer", 6);
  EXPECT_EQ(this->take(EventKind::sent).result, 6);
  EXPECT_EQ(this->read(), "answer");
  ASSERT_EQ(shutdown(this->pair_[0], SHUT_WR), 0);
  EXPECT_EQ(this->take_bytes(bytes).result, 0);
  this->io_->shut(adopted, false);
  this->turn(0);
  EXPECT_EQ(this->read(), "");
  this->finish(adopted, false);
  for (const Handle handle : handles) this->finish(handle, false);
  // Its slot is one of many now.
  Peer another(this->port());
  this->finish(this->accept(), false);
  EXPECT_EQ(this->io_->open_count(), 0u);
}

TYPED_TEST(Adoption, IsClosedByABackendThatEndsFirst) {
  RINGRPC_START(this->with_pair());
  this->adopted_ = true;
  this->take(EventKind::accepted);
  this->io_.reset();
  EXPECT_EQ(this->read(), "");
}

template <typename Io>
class OnAPath : public Backend<Io> {
 protected:
  std::string start() {
    const base::Status listening = this->listener_.open_unix(folder_.path() + "/s", 1, 0600);
    if (!listening.ok()) return listening.sentence();
    const int sockets[] = {this->listener_.socket(0)};
    this->io_ = std::make_unique<Io>();
    const base::Status status =
        this->io_->start({.listeners = sockets, .counters = &this->counters_});
    if (!status.ok()) return status.sentence();
    this->listener_.release(0);
    return {};
  }

  int connect() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    this->listener_.address().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  const TemporaryFolder folder_;
};
TYPED_TEST_SUITE(OnAPath, Backends, BackendNames);

TYPED_TEST(OnAPath, APeerHasNoAddressAndALongStreamArrivesWhole) {
  RINGRPC_START();
  const int peer = this->connect();
  const Event event = this->take(EventKind::accepted);
  EXPECT_EQ(event.peer, io::Address{});
  const std::string sent = pattern(300'000);
  std::string received;
  bool armed = false;
  std::size_t written = 0;
  while (received.size() < sent.size()) {
    const ssize_t count =
        send(peer, sent.data() + written, sent.size() - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) written += static_cast<std::size_t>(count);
    if (!armed) this->io_->receive(event.socket);
    armed = this->take_bytes(received).more;
  }
  EXPECT_TRUE(received == sent);
  close(peer);
  while (armed) armed = this->take_bytes(received).more;
  this->finish(event.socket, false);
}

TYPED_TEST(OnAPath, WhoIsInTheBacklogIsServedBeforeTheListenerCloses) {
  RINGRPC_START();
  std::vector<int> peers;
  for (int i = 0; i < 10; ++i) peers.push_back(this->connect());
  this->io_->stop_accepting();
  for (const int peer : peers) {
    this->finish(this->accept(), false);
    close(peer);
  }
  for (int turns = 0; turns < this->turns_max && this->io_->accepting(); ++turns) this->turn();
  EXPECT_FALSE(this->io_->accepting());
}

}  // namespace ringrpc::testing
