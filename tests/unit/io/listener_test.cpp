// Goal: addresses are read strictly; a port in use is an error; the sockets of one listener share
//       their connections, and the first one is among them.

#include "engine/io/listener.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <ringrpc/limits.h>

#include "tests/unit/io/peer.h"

namespace ringrpc::testing {

using io::Listener;
using io::SocketAddress;

TEST(ListenerTest, GoodAddressesAreReadAndWrittenBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"127.0.0.1:8080", "127.0.0.1:8080"}, {"0.0.0.0:0", "0.0.0.0:0"},
      {"[::1]:443", "[::1]:443"},           {"[::]:65535", "[::]:65535"},
      {"localhost:1", "127.0.0.1:1"},       {"[0:0::1]:5", "[::1]:5"},
  };
  for (const auto& [text, expected] : cases) {
    SocketAddress address;
    const base::Status status = io::parse_address(text, address);
    EXPECT_TRUE(status.ok()) << status.sentence();
    EXPECT_EQ(io::format_address(address), expected);
  }
}

TEST(ListenerTest, BadAddressesAreRefusedWithASentence) {
  const std::string_view cases[] = {
      "",
      ":",
      "8080",
      "127.0.0.1",
      ":8080",
      "[::1]",
      "[::1]8080",
      "::1:8080",
      "127.0.0.1:",
      "127.0.0.1:65536",
      "[]:1",
      "[127.0.0.1]:1",
      "127.0.0.1:-1",
      "127.0.0.1:+1",
      "127.0.0.1: 1",
      "127.0.0.1:80x",
      "127.0.0.1:80:80",
      "127.0.0.1:80/rpc",
      "[::1:80",
      "[localhost]:80",
      std::string_view("a\0b:80", 6),
  };
  for (const std::string_view text : cases) {
    SocketAddress address;
    const base::Status status = io::parse_address(text, address);
    EXPECT_EQ(status.error(), EINVAL) << text;
    EXPECT_NE(status.sentence().find("HOST:PORT"), std::string::npos) << text;
  }
}

TEST(ListenerTest, PortZeroBecomesThePortThatTheKernelChose) {
  Listener listener;
  ASSERT_TRUE(listener.open("127.0.0.1:0", 1).ok());
  EXPECT_NE(listener.port(), 0);
  EXPECT_EQ(listener.address(), "127.0.0.1:" + std::to_string(listener.port()));
  EXPECT_TRUE(Peer(listener.port()).connected());
}

TEST(ListenerTest, APortInUseIsAnErrorEvenForAListenerThatSharesItsOwn) {
  for (const std::uint32_t sockets : {1u, 4u}) {
    Listener first;
    ASSERT_TRUE(first.open("127.0.0.1:0", sockets).ok());
    Listener second;
    const base::Status status = second.open(first.address(), sockets);
    EXPECT_EQ(status.error(), EADDRINUSE);
    EXPECT_NE(status.sentence().find("address in use"), std::string::npos) << status.sentence();
    EXPECT_TRUE(Peer(first.port()).connected());
  }
}

TEST(ListenerTest, AnAddressOfAnotherMachineIsAnErrorWithAdvice) {
  Listener listener;
  const base::Status status = listener.open("192.0.2.1:0", 1);
  EXPECT_EQ(status.error(), EADDRNOTAVAIL);
  EXPECT_NE(status.sentence().find("ip addr"), std::string::npos);
}

TEST(ListenerTest, AFailedOpenLeavesNoDescriptorOpen) {
  const int before = open_descriptors();
  Listener listener;
  EXPECT_FALSE(listener.open("192.0.2.1:0", 3).ok());
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_TRUE(listener.open("127.0.0.1:0", 3).ok()) << "it can be opened after a failure";
  EXPECT_EQ(open_descriptors(), before + 3);
}

TEST(ListenerTest, ARestartFindsThePortFreeWhileOldConnectionsLinger) {
  std::string address;
  {
    Listener listener;
    ASSERT_TRUE(listener.open("127.0.0.1:0", 2).ok());
    address = listener.address();
    Peer peer(listener.port());
    ASSERT_TRUE(peer.connected());
    pollfd ready[2] = {{listener.socket(0), POLLIN, 0}, {listener.socket(1), POLLIN, 0}};
    ASSERT_GT(poll(ready, 2, -1), 0);
    const int index = (ready[0].revents & POLLIN) != 0 ? 0 : 1;
    const int accepted =
        accept(listener.socket(static_cast<std::uint32_t>(index)), nullptr, nullptr);
    ASSERT_GE(accepted, 0);
    ::close(accepted);  // our side closes first, so TIME_WAIT is on the port
    EXPECT_EQ(peer.read(), "");
  }
  Listener again;
  const base::Status status = again.open(address, 2);
  EXPECT_TRUE(status.ok()) << status.sentence();
}

TEST(ListenerTest, ConnectionsSpreadOverEverySocketTheFirstIncluded) {
  constexpr std::uint32_t sockets = 4;
  Listener listener;
  ASSERT_TRUE(listener.open("127.0.0.1:0", sockets).ok());
  std::vector<Peer> peers;
  for (int i = 0; i < 400; ++i) peers.emplace_back(listener.port());
  for (std::uint32_t i = 0; i < sockets; ++i) {
    int accepted = 0;
    for (;;) {
      const int fd = accept(listener.socket(i), nullptr, nullptr);
      if (fd < 0) break;
      ::close(fd);
      ++accepted;
    }
    // 100 on average; fewer than 30 has a probability below 10^-15.
    EXPECT_GE(accepted, 30) << "socket " << i;
  }
}

TEST(ListenerTest, AcceptedSocketsInheritNoDelay) {
  Listener listener;
  ASSERT_TRUE(listener.open("127.0.0.1:0", 1).ok());
  Peer peer(listener.port());
  const int fd = accept(listener.socket(0), nullptr, nullptr);
  int value = 0;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
  EXPECT_EQ(value, 1);
  ::close(fd);
}

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

TEST(ListenerTest, AcceptedSocketsInheritKeepaliveThatLeavesRoomForALostQuestion) {
  struct Case {
    std::uint32_t unsent_timeout_ms;
    int idle_s;
    int interval_s;
  };
  const Case cases[] = {
      {0, limits::keepalive_idle_s, limits::keepalive_interval_s},
      {100, 1, 1},
      {31'000, 15, 3},
      {limits::timeout_ms_max, limits::keepalive_idle_s, limits::keepalive_interval_s},
  };
  for (const auto& [unsent_timeout_ms, idle_s, interval_s] : cases) {
    Listener listener;
    ASSERT_TRUE(listener.open("127.0.0.1:0", 2, unsent_timeout_ms).ok());
    Peer peer(listener.port());
    pollfd ready[2] = {{listener.socket(0), POLLIN, 0}, {listener.socket(1), POLLIN, 0}};
    ASSERT_GT(poll(ready, 2, -1), 0);
    const int accepted =
        accept((ready[0].revents & POLLIN) != 0 ? ready[0].fd : ready[1].fd, nullptr, nullptr);
    for (const int fd : {accepted, ready[0].fd, ready[1].fd}) {
      EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), idle_s) << unsent_timeout_ms;
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), interval_s) << unsent_timeout_ms;
      EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_KEEPCNT), int{limits::keepalive_probes});
    }
    ::close(accepted);
  }
}

}  // namespace ringrpc::testing
