// Goal: every backend does what engine/io/event.h says, on real sockets.
// Method: one typed suite; the test is the worker, and plays the peers with blocking sockets.

#include "tests/unit/io/backend.h"

#include <thread>

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

template <typename Io>
class BackendData : public Backend<Io> {};
TYPED_TEST_SUITE(BackendData, Backends, BackendNames);

TYPED_TEST(BackendData, AnAcceptedSocketHasItsOwnPeersAddress) {
  RINGRPC_START();
  const char* sources[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.1.2.3", "127.0.0.2"};
  std::vector<Peer> peers;
  for (const char* source : sources) peers.emplace_back(this->port(), source);
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Event event = this->take(EventKind::accepted);
    EXPECT_EQ(event.result, 0);
    bool found = false;
    for (std::size_t k = 0; k < peers.size(); ++k) {
      if (peers[k].port() != event.peer.port) continue;
      std::uint8_t expected[16] = {};
      expected[10] = expected[11] = 0xFF;
      inet_pton(AF_INET, sources[k], expected + 12);
      EXPECT_EQ(std::memcmp(event.peer.bytes, expected, 16), 0) << sources[k];
      found = true;
    }
    EXPECT_TRUE(found) << event.peer.port;
    handles.push_back(event.socket);
  }
  EXPECT_EQ(this->io_->open_count(), 5u);
  for (const Handle handle : handles) this->finish(handle, false);
  EXPECT_EQ(this->io_->open_count(), 0u);
}

TYPED_TEST(BackendData, BytesArriveWithPaddingBehindThem) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->receive(handle);
  ASSERT_TRUE(peer.write("hello"));
  const Event event = this->take(EventKind::received);
  EXPECT_EQ(event.socket, handle);
  EXPECT_TRUE(event.more);
  ASSERT_EQ(event.result, 5);
  const char* bytes = this->io_->buffer(event.buffer);
  EXPECT_EQ(std::string_view(bytes, 5), "hello");
  unsigned sum = 0;  // a checker of memory sees each of these reads
  for (std::uint32_t i = 0; i < 4096 + limits::padding; ++i)
    sum += static_cast<unsigned char>(bytes[i]);
  EXPECT_GT(sum, 0u);
  this->io_->give(event.buffer);
  this->finish(handle, true);
}

TYPED_TEST(BackendData, ALongStreamArrivesInOrderWithAtMostEightBuffersInATurn) {
  RINGRPC_START();
  const std::string sent = pattern(3 << 20);
  Peer peer(this->port());
  const Handle handle = this->accept();
  std::thread writer([&] { EXPECT_TRUE(peer.write(sent)); });
  std::string received;
  bool armed = false;
  for (int turns = 0; turns < 100'000 && received.size() < sent.size(); ++turns) {
    if (!armed) this->io_->receive(handle);
    armed = true;
    this->io_->wait(this->turn_ns);
    std::uint32_t buffers = 0;
    for (Event event; this->io_->next(event);) {
      ASSERT_EQ(event.kind, EventKind::received);
      ASSERT_TRUE(armed) << "an event behind the last one";
      armed = event.more;
      if (event.buffer == io::no_buffer) continue;
      ++buffers;
      ASSERT_GT(event.result, 0);
      received.append(this->io_->buffer(event.buffer), static_cast<std::size_t>(event.result));
      this->io_->give(event.buffer);
    }
    EXPECT_LE(buffers, limits::receives_per_turn_max);
  }
  writer.join();
  EXPECT_TRUE(received == sent) << received.size();
  this->finish(handle, armed);
}

TYPED_TEST(BackendData, ALongSendReachesASlowReaderWhole) {
  RINGRPC_START();
  const std::string sent = pattern(9 << 20, 7);
  Peer peer(this->port());
  const Handle handle = this->accept();
  std::string read;
  std::size_t taken = 0;
  std::uint32_t sends = 0;
  bool in_flight = false;
  while (read.size() < sent.size()) {
    if (!in_flight && taken < sent.size()) {
      in_flight = true;
      ++sends;
      this->io_->send(handle, sent.data() + taken, static_cast<std::uint32_t>(sent.size() - taken));
    }
    this->io_->wait(0);
    for (Event event; this->io_->next(event);) {
      ASSERT_EQ(event.kind, EventKind::sent);
      ASSERT_GT(event.result, 0);
      taken += static_cast<std::size_t>(event.result);
      in_flight = false;
    }
    read += peer.read(20'000, false);
  }
  EXPECT_TRUE(read == sent);
  EXPECT_GE(sends, sent.size() / io::send_size_max);
  while (in_flight) {
    EXPECT_GT(this->take(EventKind::sent).result, 0);
    in_flight = false;
  }
  this->finish(handle, false);
}

TYPED_TEST(BackendData, EachSendIsToldOnce) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  for (int i = 0; i < 50; ++i) {
    this->io_->send(handle, "0123456789", 10);
    const Event event = this->take(EventKind::sent);
    EXPECT_EQ(event.result, 10);
    EXPECT_EQ(event.socket, handle);
    EXPECT_EQ(peer.read(10), "0123456789");
  }
  EXPECT_TRUE(this->events_.empty());
  this->finish(handle, false);
}

TYPED_TEST(BackendData, AStoppedReceiveEndsAndLeavesTheRestToTheNext) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  this->io_->receive(handle);
  this->turn(0);
  this->io_->stop_receiving(handle);
  this->io_->stop_receiving(handle);  // asking twice is asking once
  std::string bytes;
  Event event = this->take_bytes(bytes);
  EXPECT_EQ(event.result, -ECANCELED);
  EXPECT_FALSE(event.more);
  ASSERT_TRUE(peer.write("later"));
  this->turn(0);
  this->turn(0);
  EXPECT_TRUE(this->events_.empty()) << "a paused connection tells nothing";
  bool armed = false;
  EXPECT_EQ(this->receive_all(handle, 5, armed), "later");
  this->finish(handle, armed);
}

TYPED_TEST(BackendData, AReceiveThatIsStoppedInAFloodEnds) {
  RINGRPC_START();
  Peer peer(this->port());
  const Handle handle = this->accept();
  const std::string sent = pattern(2 << 20, 3);
  std::thread writer([&] { EXPECT_TRUE(peer.write(sent)); });
  std::string received;
  while (received.size() < sent.size()) {
    this->io_->receive(handle);
    Event event = this->take_bytes(received);
    if (event.more) this->io_->stop_receiving(handle);
    while (event.more) event = this->take_bytes(received);
  }
  writer.join();
  EXPECT_TRUE(received == sent);
  this->finish(handle, false);
}

TYPED_TEST(BackendData, WithoutBuffersAReceiveEndsAndGoesOnWhenSomeAreBack) {
  RINGRPC_START({.receive_buffers = 4, .receive_buffer_size = 1024});
  Peer peer(this->port());
  const Handle handle = this->accept();
  const std::string sent = pattern(40'000, 9);
  ASSERT_TRUE(peer.write(sent));
  this->io_->receive(handle);
  std::string received;
  std::vector<std::uint16_t> held;
  Event event = this->take(EventKind::received);
  for (; event.more; event = this->take(EventKind::received)) {
    received.append(this->io_->buffer(event.buffer), static_cast<std::size_t>(event.result));
    held.push_back(event.buffer);
  }
  EXPECT_EQ(event.result, -ENOBUFS);
  EXPECT_EQ(event.buffer, io::no_buffer);
  EXPECT_EQ(held.size(), 4u);
  EXPECT_EQ(this->counters_.get(base::Counter::buffers_exhausted), 1u);
  for (const std::uint16_t buffer : held) this->io_->give(buffer);
  bool armed = false;
  received += this->receive_all(handle, sent.size() - received.size(), armed);
  EXPECT_TRUE(received == sent) << received.size();
  this->finish(handle, armed);
}

TYPED_TEST(BackendData, ManyConnectionsAtOnceKeepTheirBytesApart) {
  RINGRPC_START({.receive_buffers = 64});
  constexpr std::size_t count = 100;
  std::vector<Peer> peers;
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < count; ++i) {
    peers.emplace_back(this->port());
    handles.push_back(this->accept());
    this->io_->receive(handles[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(peers[i].write(pattern(6000, static_cast<std::uint32_t>(i))));
  }
  std::vector<std::string> received(count);
  std::size_t whole = 0;
  while (whole < count) {
    const Event event = this->take(EventKind::received);
    std::size_t i = 0;
    while (!(handles[i] == event.socket)) ++i;
    if (event.result > 0) {
      received[i].append(this->io_->buffer(event.buffer), static_cast<std::size_t>(event.result));
      this->io_->give(event.buffer);
      whole += received[i].size() == 6000 ? 1 : 0;
    }
    if (!event.more) this->io_->receive(handles[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(received[i] == pattern(6000, static_cast<std::uint32_t>(i))) << i;
    this->finish(handles[i], true);
  }
}

}  // namespace ringrpc::testing
