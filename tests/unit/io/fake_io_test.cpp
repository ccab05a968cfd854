// Goal: the fake kernel carries every byte in order whatever faults strike, and aborts on each
//       broken rule of engine/io/event.h.
// Method: an echo worker over swarms of faults; one death test for each rule.

#include "tests/support/fake_io.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <vector>

namespace ringrpc::testing {

using io::Event;
using io::EventKind;
using io::Handle;

namespace {

// Echoes. It keeps the contract and nothing more.
class Echo {
 public:
  explicit Echo(FakeIo& io, std::uint32_t connections) : io_(io), connections_(connections) {}

  void turn() {
    io_.wait(0);
    for (Event event; io_.next(event);) on_event(event);
    for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) serve(slot);
  }

 private:
  struct Connection {
    Handle handle;
    std::string in;   // received, not being sent
    std::string out;  // in flight
    bool open = false;
    bool receiving = false;
    bool sending = false;
    bool end = false;     // nothing more is received
    bool failed = false;  // nothing more can be sent
    bool closing = false;
  };

  void on_event(const Event& event) {
    if (event.kind == EventKind::woken) return;
    Connection& connection = connections_[event.socket.slot];
    if (event.kind == EventKind::accepted) {
      connection = Connection{};
      connection.handle = event.socket;
      connection.open = true;
      return;
    }
    const bool stale = !connection.open || !(connection.handle == event.socket);
    if (event.kind == EventKind::received) {
      if (!stale && event.result > 0) {
        connection.in.append(io_.buffer(event.buffer), static_cast<std::size_t>(event.result));
      }
      if (event.buffer != io::no_buffer) io_.give(event.buffer);
      if (stale) return;
      if (!event.more) connection.receiving = false;
      const bool ended = event.result <= 0 && event.result != -ENOBUFS;
      if (ended && event.result != -ECANCELED) connection.end = true;
    } else if (!stale && event.kind == EventKind::sent) {
      connection.sending = false;
      if (event.result < 0) connection.failed = connection.end = true;
      if (event.result > 0) connection.out.erase(0, static_cast<std::size_t>(event.result));
    } else if (!stale && event.kind == EventKind::closed) {
      connection.open = false;
    }
  }

  void serve(std::uint32_t slot) {
    Connection& connection = connections_[slot];
    if (!connection.open || connection.closing) return;
    if (connection.failed) connection.in.clear(), connection.out.clear();
    if (connection.end && connection.receiving) io_.stop_receiving(connection.handle);
    if (!connection.end && !connection.receiving) {
      io_.receive(connection.handle);
      connection.receiving = true;
    }
    if (!connection.sending && connection.out.empty()) connection.out.swap(connection.in);
    if (!connection.sending && !connection.out.empty()) {
      io_.send(connection.handle, connection.out.data(),
               static_cast<std::uint32_t>(connection.out.size()));
      connection.sending = true;
    }
    const bool done = connection.end && connection.in.empty() && connection.out.empty();
    if (!done || connection.sending || connection.receiving) return;
    io_.close(connection.handle);
    connection.closing = true;
  }

  FakeIo& io_;
  std::vector<Connection> connections_;
};

// A fake kernel with one client connected and accepted.
struct OneConnection {
  OneConnection() {
    EXPECT_TRUE(io.start({.connections_max = 2, .receive_buffers = 4, .counters = &counters}).ok());
    client = io.connect({});
    handle = take(EventKind::accepted).socket;
  }

  Event take(EventKind kind) {
    Event event;
    for (int turns = 0; turns < 10; ++turns) {
      io.wait(0);
      while (io.next(event)) {
        if (event.kind == kind) return event;
      }
    }
    ADD_FAILURE() << "no event of kind " << static_cast<int>(kind);
    return event;
  }

  base::Counters counters;
  FakeIo io;
  FakeIo::ClientId client = 0;
  Handle handle;
};

}  // namespace

TEST(FakeIoTest, AnEchoSurvivesEverySwarmOfFaults) {
  std::uint64_t echoed = 0;
  std::uint64_t reset = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    base::Counters counters;
    FakeIo io;
    ASSERT_TRUE(io.start({.connections_max = 4,
                          .receive_buffers = 8,
                          .receive_buffer_size = 256,
                          .counters = &counters})
                    .ok());
    io.configure(seed, FakeFaults::swarm(seed));
    Echo echo(io, 4);
    std::vector<std::string> sent(12);
    std::vector<std::string> read(12);
    std::vector<FakeIo::ClientId> clients;
    for (std::size_t i = 0; i < sent.size(); ++i) clients.push_back(io.connect({}));
    for (int step = 0; step < 60; ++step) {
      const std::size_t i = random() % sent.size();
      if (random() % 8 == 0) io.client_stop_reading(clients[i], random() % 100);
      if (random() % 8 == 0) io.client_resume_reading(clients[i]);
      const std::string bytes(random() % 900, static_cast<char>('a' + step % 26));
      io.client_write(clients[i], bytes);
      sent[i] += bytes;
      echo.turn();
      read[i] += io.client_read(clients[i]);
    }
    for (const FakeIo::ClientId client : clients) {
      io.client_fin(client);
      io.client_resume_reading(client);
    }
    for (int turns = 0; turns < 20'000 && !(io.idle() && io.open_count() == 0); ++turns)
      echo.turn();
    io.configure(seed, {});  // no stale event is invented any more
    echo.turn();
    io.check_baseline();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      read[i] += io.client_read(clients[i]);
      ASSERT_TRUE(sent[i].starts_with(read[i])) << i;
      EXPECT_TRUE(io.client_at_end(clients[i]));
      if (io.client_gone(clients[i])) {
        ++reset;
      } else {
        ASSERT_EQ(sent[i].size(), read[i].size()) << i;
        ++echoed;
      }
    }
  }
  EXPECT_GT(echoed, 1000u);
  EXPECT_GT(reset, 100u) << "the faults do not strike";
}

TEST(FakeIoTest, OneSeedGivesOneRun) {
  std::vector<std::vector<std::int32_t>> runs(2);
  for (std::vector<std::int32_t>& results : runs) {
    OneConnection one;
    one.io.configure(77, {.partial_receive = 50, .delay = 30});
    one.io.client_write(one.client, std::string(20'000, 'x'));
    one.io.receive(one.handle);
    for (int turns = 0; turns < 20; ++turns) {
      one.io.wait(0);
      for (Event event; one.io.next(event);) {
        results.push_back(event.result);
        if (event.buffer != io::no_buffer) one.io.give(event.buffer);
        if (!event.more) one.io.receive(one.handle);
      }
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_GT(runs[0].size(), 5u);
}

TEST(FakeIoTest, ItsClockMovesOnlyWhenTold) {
  OneConnection one;
  const std::uint64_t before = one.io.now_ns();
  one.io.wait(1'000'000'000);
  EXPECT_EQ(one.io.now_ns(), before + 1000);
  one.io.advance(5);
  EXPECT_EQ(one.io.now_ns(), before + 1005);
}

TEST(FakeIoTest, ClosingWithUnreadBytesResets) {
  OneConnection one;
  one.io.client_write(one.client, "unread");
  one.io.close(one.handle);
  one.take(EventKind::closed);
  EXPECT_TRUE(one.io.client_gone(one.client));
}

TEST(FakeIoDeathTest, GivingABufferThatIsNotLentAborts) {
  OneConnection one;
  EXPECT_DEATH(one.io.give(0), "not lent");
  one.io.client_write(one.client, "x");
  one.io.receive(one.handle);
  const Event event = one.take(EventKind::received);
  one.io.give(event.buffer);
  EXPECT_DEATH(one.io.give(event.buffer), "not lent");
  EXPECT_DEATH((void)one.io.buffer(event.buffer), "not lent");
}

TEST(FakeIoDeathTest, ASecondSendInFlightAborts) {
  OneConnection one;
  one.io.send(one.handle, "x", 1);
  EXPECT_DEATH(one.io.send(one.handle, "x", 1), "in flight already");
}

TEST(FakeIoDeathTest, ASecondArmedReceiveAborts) {
  OneConnection one;
  one.io.receive(one.handle);
  EXPECT_DEATH(one.io.receive(one.handle), "armed already");
}

TEST(FakeIoDeathTest, ClosingWhileSomethingIsArmedAborts) {
  OneConnection one;
  one.io.receive(one.handle);
  EXPECT_DEATH(one.io.close(one.handle), "receive is armed");
  OneConnection other;
  other.io.send(other.handle, "x", 1);
  EXPECT_DEATH(other.io.close(other.handle), "send is in flight");
}

TEST(FakeIoTest, AResetBehindAFinIsToldWhoeverWatches) {
  OneConnection one;
  one.io.client_fin(one.client);
  one.io.receive(one.handle);
  EXPECT_EQ(one.take(EventKind::received).result, 0);
  one.io.watch(one.handle);
  one.io.wait(0);
  EXPECT_TRUE(one.io.idle());
  one.io.client_reset(one.client);
  EXPECT_FALSE(one.io.idle());
  EXPECT_GE(one.take(EventKind::gone).result, 0);
  one.io.close(one.handle);
  one.take(EventKind::closed);
  one.io.check_baseline();
}

TEST(FakeIoTest, AFinIsNoEndForWhoWatches) {
  OneConnection one;
  one.io.watch(one.handle);
  one.io.client_fin(one.client);
  one.io.wait(0);
  EXPECT_TRUE(one.io.idle());
  one.io.client_reset(one.client);
  EXPECT_NE(one.take(EventKind::gone).result & POLLERR, 0);
  one.io.close(one.handle);
  one.take(EventKind::closed);
  one.io.check_baseline();
}

TEST(FakeIoTest, AWatchEndsWhenItIsAskedTo) {
  OneConnection one;
  one.io.client_fin(one.client);
  one.io.receive(one.handle);
  one.take(EventKind::received);
  one.io.watch(one.handle);
  one.io.stop_watching(one.handle);
  EXPECT_LT(one.take(EventKind::gone).result, 0);
  one.io.close(one.handle);
  one.take(EventKind::closed);
  one.io.check_baseline();
}

TEST(FakeIoDeathTest, WatchingAgainstTheRulesAborts) {
  OneConnection one;
  EXPECT_DEATH(one.io.stop_watching(one.handle), "not watched");
  one.io.client_fin(one.client);
  one.io.receive(one.handle);
  one.take(EventKind::received);
  one.io.watch(one.handle);
  EXPECT_DEATH(one.io.watch(one.handle), "watched already");
  EXPECT_DEATH(one.io.close(one.handle), "while it is watched");
}

TEST(FakeIoDeathTest, ChangingBytesInFlightAborts) {
  OneConnection one;
  std::string bytes = "bytes";
  one.io.send(one.handle, bytes.data(), 5);
  bytes[4] = 'S';
  EXPECT_DEATH(one.io.wait(0), "changed while it was in flight");
  bytes[4] = 's';
  one.io.wait(0);
  bytes[0] = 'B';
  Event event;
  EXPECT_DEATH(one.io.next(event), "changed before its event");
}

TEST(FakeIoDeathTest, AHandleOfAFormerSocketAborts) {
  OneConnection one;
  one.io.close(one.handle);
  EXPECT_DEATH(one.io.receive(one.handle), "closed");
  one.take(EventKind::closed);
  one.io.connect({});
  one.take(EventKind::accepted);
  EXPECT_DEATH(one.io.receive(one.handle), "former socket");
}

TEST(FakeIoDeathTest, WhatIsLeftOverAborts) {
  OneConnection one;
  EXPECT_DEATH(one.io.check_baseline(), "still open");
  one.io.client_write(one.client, "x");
  one.io.receive(one.handle);
  one.take(EventKind::received);
  EXPECT_DEATH(one.io.check_baseline(), "still lent");
}

}  // namespace ringrpc::testing
