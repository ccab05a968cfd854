// Goal: connections of lines cost nothing once they are gone, whichever way and at whichever byte
// they end, and what was whole by then is answered. Method: a server in this process and plain
// sockets, on both backends, over TCP and on a path.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

constexpr std::uint32_t message_size_max = 1024;
const std::string small = R"({"jsonrpc":"2.0","id":1,"method":"small"})";
const std::string notification = R"({"jsonrpc":"2.0","method":"small"})";
const std::string true_line = R"({"jsonrpc":"2.0","result":true,"id":1})"
                              "\n";

// Lines of every shape in one stream.
std::string pipelined_lines() {
  return small + "\n" + small + "\r\n\n \r\n" + notification + "\n" +
         R"({"jsonrpc":"2.0","id":2,"method":"big"})" + "\n" + "[" + small + "," + notification +
         "]\n" + std::string(message_size_max + 400, 'x') + "\n{no\n" + small + "\n";
}

// Returns: how many answers there are to these bytes and their end.
std::size_t answers_to(std::string_view bytes) {
  std::size_t count = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    const bool blank = line.find_first_not_of(" \r") == line.npos;
    if (!blank && line != notification) ++count;
  }
  return count;
}

class Lines : public ::testing::TestWithParam<std::tuple<IoChoice, bool>> {
 protected:
  void SetUp() override {
    Options options;
    options.listen =
        std::get<1>(GetParam()) ? "unix:" + folder_.path() + "/s" : "tcp://127.0.0.1:0";
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 64;
    options.message_size_max = message_size_max;
    server_ = std::make_unique<Server>(options);
    server_->method("small", []() { return true; });
    server_->method("big", []() { return std::string(300'000, 'x'); });
    server_->method("peer", [](Call& call) { return call.peer().text(); });
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  Socket connect() {
    return server_->port() != 0 ? Socket(server_->port()) : Socket(server_->address());
  }

  // Connects and writes so many bytes, which the server has taken then.
  void write_prefix(Socket& socket, std::size_t size) {
    ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    const std::uint64_t before = metric(*server_, "ringrpc_bytes_in_total");
    socket = connect();
    ASSERT_TRUE(socket.is_open());
    ASSERT_TRUE(socket.write(std::string_view(stream_).substr(0, size)));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_bytes_in_total", before + size));
  }

  void check_baseline() {
    {
      Socket socket = connect();
      EXPECT_TRUE(socket.write(small + "\n"));
      EXPECT_EQ(socket.read_some(), true_line);
    }
    EXPECT_TRUE(
        wait_for(*server_, "ringrpc_closes_total", metric(*server_, "ringrpc_accepts_total")));
    for (const char* name :
         {"ringrpc_connections", "ringrpc_buffers_lent", "ringrpc_partial_messages",
          "ringrpc_memory_bytes{pool=\"large_replies\"}"}) {
      EXPECT_TRUE(wait_for(*server_, name, 0)) << name;
    }
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  const TemporaryFolder folder_;
  const std::string stream_ = pipelined_lines();
  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
};

TEST_P(Lines, AResetAtAnyByteGivesEverythingBack) {
  for (std::size_t size = 0; size <= stream_.size(); size += byte_step) {
    Socket socket;
    write_prefix(socket, size);
    ASSERT_FALSE(HasFatalFailure()) << "at " << size;
    socket.reset();
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Lines, AFinAtAnyByteAnswersWhatWasThere) {
  for (std::size_t size = 0; size <= stream_.size(); size += byte_step) {
    Socket socket;
    write_prefix(socket, size);
    ASSERT_FALSE(HasFatalFailure()) << "at " << size;
    socket.finish();
    const std::string answers = socket.read_all();
    const std::size_t count =
        static_cast<std::size_t>(std::count(answers.begin(), answers.end(), '\n'));
    ASSERT_EQ(count, answers_to(std::string_view(stream_).substr(0, size))) << "at " << size;
    ASSERT_TRUE(answers.empty() || answers.ends_with('\n')) << "at " << size;
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// What waits is answered behind the peer's end, until the peer is gone: by a reset, or, on a path,
// by closing its socket.
TEST_P(Lines, APeerThatIsGoneBehindItsEndStopsItsCalls) {
  std::vector<Deferred> held;  // the worker's
  server_->method("hold", [&held](Deferred reply) { held.push_back(std::move(reply)); });
  server_->method("release", [&held] {
    std::vector<bool> stopped;
    for (Deferred& reply : held) {
      stopped.push_back(reply.stop_reason() == StopReason::disconnected);
      reply.answer(1);
    }
    held.clear();
    return stopped.empty() ? -1 : static_cast<int>(stopped.front());
  });
  server_->method("sleep", [](Call& call) -> Co<void> {
    while (co_await call.after(3'600'000)) {
    }
  });
  const auto line = [](std::string_view method) {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + "\"}\n";
  };
  const auto answer = [](int value) {
    return R"({"jsonrpc":"2.0","result":)" + std::to_string(value) + ",\"id\":1}\n";
  };
  for (const bool leaves : {false, true}) {
    Socket socket = connect();
    ASSERT_TRUE(socket.write(line("hold") + line("sleep")));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 2));
    socket.finish();
    Socket other = connect();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(other.write(small + "\n"));
      EXPECT_EQ(other.read_some(), true_line);
    }
    EXPECT_EQ(metric(*server_, "ringrpc_in_flight"), 2u);
    if (leaves) {
      socket.reset();
      EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 1));
    }
    ASSERT_TRUE(other.write(line("release")));
    EXPECT_EQ(other.read_some(), answer(leaves ? 1 : 0));
    if (!leaves) {
      EXPECT_EQ(socket.read_some(), answer(1));
      socket.reset();
    }
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Lines, AClientThatLeavesAtOnceCostsNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t leavers = 320;
#else
  constexpr std::uint64_t leavers = 10'000;
#endif
  constexpr std::uint64_t together = 32;
  for (std::uint64_t i = 1; i <= leavers; ++i) {
    {
      Socket socket = connect();
      ASSERT_TRUE(socket.is_open()) << i;
      if (i % 8 != 0) socket.reset();
    }
    if (i % together != 0) continue;
    ASSERT_TRUE(wait_for(*server_, "ringrpc_accepts_total", i));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Lines, AClientThatDoesNotReadIsResetWithItsReplies) {
  const std::string big = R"({"jsonrpc":"2.0","id":1,"method":"big"})"
                          "\n";
  for (std::uint64_t i = 0; i < 20; ++i) {
    Socket socket = connect();
    std::string lines;
    for (int k = 0; k < 40; ++k) lines += big;
    ASSERT_TRUE(socket.write(lines));
    ASSERT_TRUE(
        wait_for(*server_, "ringrpc_calls_total{endpoint=\"/rpc\",method=\"big\"}", i + 1, true));
    socket.reset();
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// Replies that are not read end the reading of lines; what has come by then is kept.
TEST_P(Lines, LinesKeptWhileRepliesWaitAreReadLater) {
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{30}, small.size()}) {
    Socket socket = connect();
    std::string lines;
    for (int i = 0; i < 8; ++i) {
      lines += R"({"jsonrpc":"2.0","id":1,"method":"big"})"
               "\n";
      lines += std::string(message_size_max + 10, 'x') + "\n";
    }
    ASSERT_TRUE(socket.write(lines + small.substr(0, cut)));
    std::size_t answers = 0;
    std::string end;
    const auto read_on = [&] {
      const std::string more = socket.read_some();
      answers += static_cast<std::size_t>(std::count(more.begin(), more.end(), '\n'));
      end = (end + more)
                .substr(end.size() + more.size() -
                        std::min(true_line.size(), end.size() + more.size()));
      return !more.empty() && !more.ends_with(">");
    };
    while (answers < 16) ASSERT_TRUE(read_on()) << end;
    ASSERT_TRUE(socket.write(small.substr(cut) + "\n"));
    while (end != true_line) ASSERT_TRUE(read_on()) << end;
    EXPECT_EQ(answers, 17u);
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Lines, EachCallSeesItsPeer) {
  Socket socket = connect();
  ASSERT_TRUE(socket.write(R"({"jsonrpc":"2.0","id":1,"method":"peer"})"
                           "\n"));
  const std::string peer = server_->port() != 0 ? socket.own_address() : "local";
  EXPECT_EQ(socket.read_some(), R"({"jsonrpc":"2.0","result":")" + peer + "\",\"id\":1}\n");
}

TEST_P(Lines, APeerOverTheLimitIsToldSo) {
  std::vector<Socket> sockets;
  for (int i = 0; i < 64; ++i) {
    sockets.push_back(connect());
    ASSERT_TRUE(sockets.back().write(small + "\n"));
    ASSERT_EQ(sockets.back().read_some(), true_line) << i;
  }
  Socket one_more = connect();
  EXPECT_EQ(one_more.read_all(),
            R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded",)"
            R"("data":{"reason":"connections_max","retryAfterMs":1000}},"id":null})"
            "\n");
  EXPECT_EQ(metric(*server_, "ringrpc_limit_hits_total{limit=\"connections\"}"), 1u);
  one_more = Socket();
  sockets.clear();
  ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
  check_baseline();
}

// A stop answers what has come, and ends the rest.
TEST_P(Lines, AStopAnswersWhatHasCome) {
  Socket idle = connect();
  Socket busy = connect();
  Socket begun = connect();
  for (Socket* one : {&idle, &busy, &begun}) {
    ASSERT_TRUE(one->write(small + "\n"));
    ASSERT_EQ(one->read_some(), true_line);
  }
  ASSERT_TRUE(begun.write(small.substr(0, 10)));
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += R"({"jsonrpc":"2.0","id":1,"method":"big"})"
             "\n";
  const std::uint64_t before = metric(*server_, "ringrpc_bytes_in_total");
  ASSERT_TRUE(busy.write(lines));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_bytes_in_total", before + lines.size(), true));
  std::thread stopping([this] { EXPECT_EQ(server_->stop(), 0); });
  EXPECT_EQ(idle.read_all(), "");
  ASSERT_TRUE(begun.write(small.substr(10) + "\n"));
  EXPECT_EQ(begun.read_all(), true_line);
  const std::string answers = busy.read_all();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 40);
  EXPECT_TRUE(answers.ends_with("\",\"id\":1}\n"));
  stopping.join();
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Lines,
                         ::testing::Combine(::testing::Values(IoChoice::uring, IoChoice::epoll),
                                            ::testing::Bool()),
                         [](const auto& one) {
                           const std::string io =
                               std::get<0>(one.param) == IoChoice::uring ? "Uring" : "Epoll";
                           return io + (std::get<1>(one.param) ? "OnAPath" : "OverTcp");
                         });

}  // namespace
}  // namespace ringrpc::testing
