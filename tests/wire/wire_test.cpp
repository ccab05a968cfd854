// Goal: connections are told apart, shared between workers, and cost nothing once they are gone,
// whichever way they end. Method: a server in this process and plain sockets, on both backends.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

class Wire : public ::testing::TestWithParam<IoChoice> {
 protected:
  Options options(unsigned workers) const {
    Options options;
    options.listen = "127.0.0.1:0";
    options.workers = workers;
    options.io = GetParam();
    options.pin = false;
    return options;
  }
};

std::string body_of(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == response.npos ? response : response.substr(end + 4);
}

TEST_P(Wire, EachCallSeesItsOwnPeer) {
  Server server(options(2));
  server.method("peer", [](Call& call) { return call.peer().text(); });
  ASSERT_TRUE(server.start()) << server.error();
  std::vector<Socket> sockets;
  for (int round = 0; round < 4; ++round) {
    for (const char* from :
         {"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "127.0.0.9"}) {
      sockets.emplace_back(server.port(), from);
      ASSERT_TRUE(sockets.back().is_open()) << from;
    }
  }
  // Not in the order in which they came, and each one more than once.
  for (int round = 0; round < 2; ++round) {
    std::reverse(sockets.begin(), sockets.end());
    for (Socket& socket : sockets) {
      ASSERT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"peer"})")));
      EXPECT_EQ(body_of(socket.read_response()),
                "{\"jsonrpc\":\"2.0\",\"result\":\"" + socket.own_address() + "\",\"id\":1}");
    }
  }
  sockets.clear();
  // A slot that is used again belongs to somebody else.
  for (int round = 0; round < 20; ++round) {
    Socket socket(server.port(), round % 2 == 0 ? "127.0.0.7" : "127.0.0.8");
    ASSERT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"peer"})")));
    EXPECT_NE(socket.read_response().find("\"" + socket.own_address() + "\""), std::string::npos);
  }
  EXPECT_EQ(server.stop(), 0);
}

TEST_P(Wire, TwoWorkersShareConnections) {
  constexpr std::size_t connections = 1000;
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_max < 4 * connections) GTEST_SKIP() << "too few descriptors are allowed";
  descriptors.rlim_cur = std::max<rlim_t>(descriptors.rlim_cur, 4 * connections);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &descriptors), 0);

  Server server(options(2));
  server.method("worker", []() { return static_cast<std::int64_t>(gettid()); });
  ASSERT_TRUE(server.start()) << server.error();
  std::vector<Socket> sockets;
  for (std::size_t i = 0; i < connections; ++i) {
    sockets.emplace_back(server.port());
    ASSERT_TRUE(sockets.back().is_open()) << i;
  }
  std::map<std::string, std::size_t> share;
  for (Socket& socket : sockets) {
    ASSERT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"worker"})")));
  }
  for (Socket& socket : sockets) ++share[body_of(socket.read_response())];
  ASSERT_EQ(share.size(), 2u);
  for (const auto& [answer, count] : share) EXPECT_GE(count, connections * 4 / 10) << answer;
  EXPECT_EQ(metric(server, "ringrpc_connections"), connections);
  sockets.clear();
  EXPECT_TRUE(wait_for(server, "ringrpc_connections", 0));
  EXPECT_EQ(server.stop(), 0);
}

// Requests of every shape in one stream, and where each ends.
struct Exchange {
  std::string bytes;
  std::vector<std::size_t> ends;

  void add(std::string_view request) {
    bytes += request;
    ends.push_back(bytes.size());
  }
  [[nodiscard]] std::size_t whole_before(std::size_t size) const {
    return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) -
                                    ends.begin());
  }
};

Exchange pipelined_exchange() {
  Exchange exchange;
  exchange.add(post(R"({"jsonrpc":"2.0","id":1,"method":"small"})"));
  exchange.add(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n"
      "10\r\n{\"jsonrpc\":\"2.0\"\r\n16;x=y\r\n,\"id\":2,\"method\":\"big\"\r\n1\r\n}\r\n0\r\n"
      "X: y\r\n\r\n");
  exchange.add(post(R"({"jsonrpc":"2.0","method":"small"})"));
  exchange.add("POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
  exchange.add(post(R"([{"jsonrpc":"2.0","id":1,"method":"small"}])"));
  return exchange;
}

class Ends : public Wire {
 protected:
  void SetUp() override {
    Options few = options(1);
    few.connections_max = 64;
    server_ = std::make_unique<Server>(few);
    server_->method("small", []() { return true; });
    server_->method("big", []() { return std::string(300'000, 'x'); });
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  // Connects and writes so many bytes, which the server has taken then.
  void write_prefix(Socket& socket, std::size_t size) {
    ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    const std::uint64_t before = metric(*server_, "ringrpc_bytes_in_total");
    socket = Socket(server_->port());
    ASSERT_TRUE(socket.is_open());
    ASSERT_TRUE(socket.write(std::string_view(exchange_.bytes).substr(0, size)));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_bytes_in_total", before + size));
  }

  // One more client first: it is served after all that came before it, so that those have left the
  // backlog. Counters tell at once what gauges tell at the end of a turn.
  void check_baseline() {
    {
      Socket socket(server_->port());
      EXPECT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"small"})")));
      EXPECT_EQ(body_of(socket.read_response()), R"({"jsonrpc":"2.0","result":true,"id":1})");
    }
    EXPECT_TRUE(
        wait_for(*server_, "ringrpc_closes_total", metric(*server_, "ringrpc_accepts_total")));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_buffers_lent", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_partial_messages", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"large_replies\"}", 0));
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  void reset_everywhere() {
    for (std::size_t size = 0; size <= exchange_.bytes.size(); size += byte_step) {
      Socket socket;
      write_prefix(socket, size);
      ASSERT_FALSE(HasFatalFailure()) << "at " << size;
      socket.reset();
    }
  }

  const Exchange exchange_ = pipelined_exchange();
  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
};

TEST_P(Ends, AResetAtAnyByteGivesEverythingBack) {
  reset_everywhere();
  check_baseline();
  const std::uint64_t kept = metric(*server_, "ringrpc_memory_bytes{pool=\"partial_messages\"}");
  reset_everywhere();
  check_baseline();
  EXPECT_EQ(metric(*server_, "ringrpc_memory_bytes{pool=\"partial_messages\"}"), kept);
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Ends, AFinAtAnyByteAnswersWhatWasWhole) {
  for (std::size_t size = 0; size <= exchange_.bytes.size(); size += byte_step) {
    Socket socket;
    write_prefix(socket, size);
    ASSERT_FALSE(HasFatalFailure()) << "at " << size;
    socket.finish();
    const std::string answers = socket.read_all();
    std::size_t count = 0;
    for (std::size_t at = answers.find("HTTP/1.1 "); at != answers.npos;
         at = answers.find("HTTP/1.1 ", at + 1)) {
      ++count;
    }
    // A refused request is answered by its head.
    const std::size_t refused_head = exchange_.ends[3] - 5;
    const bool early = size >= refused_head && size < exchange_.ends[3];
    ASSERT_EQ(count, exchange_.whole_before(size) + (early ? 1 : 0)) << "at " << size;
    ASSERT_FALSE(answers.ends_with(">")) << "at " << size << ": " << answers.substr(0, 200);
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Ends, AClientThatLeavesAtOnceCostsNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int leavers = 1'600;
#else
  constexpr int leavers = 50'000;
#endif
  // No more at a time than there are places: those beyond would be told so and be nobody's.
  constexpr int together = 32;
  for (int i = 1; i <= leavers; ++i) {
    {
      Socket socket(server_->port());
      ASSERT_TRUE(socket.is_open()) << i;
      if (i % 8 != 0) socket.reset();  // The others end with a FIN.
    }
    if (i % together != 0) continue;
    ASSERT_TRUE(wait_for(*server_, "ringrpc_accepts_total", static_cast<std::uint64_t>(i)));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Ends, AClientThatDoesNotReadIsResetWithItsReplies) {
  for (int i = 0; i < 20; ++i) {
    Socket socket(server_->port());
    std::string requests;
    for (int k = 0; k < 40; ++k) requests += post(R"({"jsonrpc":"2.0","id":1,"method":"big"})");
    ASSERT_TRUE(socket.write(requests));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_calls_total{endpoint=\"/rpc\",method=\"big\"}",
                         static_cast<std::uint64_t>(i) + 1, true));
    socket.reset();
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// Replies that are not read end the reading of requests; what has come by then is kept.
TEST_P(Ends, RequestsKeptWhileRepliesWaitAreReadLater) {
  const std::string chunked =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n"
      "10\r\n{\"jsonrpc\":\"2.0\"\r\n16;x=y\r\n,\"id\":2,\"method\":\"big\"\r\n1\r\n}\r\n0\r\n\r\n";
  const std::string plain = post(R"({"jsonrpc":"2.0","id":2,"method":"big"})");
  const std::string refused =
      "POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
  const std::string answer =
      "{\"jsonrpc\":\"2.0\",\"result\":\"" + std::string(300'000, 'x') + "\"";
  for (const std::string& request :
       {plain, chunked, chunked + plain, plain + refused, refused + chunked}) {
    for (std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{30}, plain.size() - 1}) {
      Socket socket(server_->port());
      std::string requests;
      for (int i = 0; i < 8; ++i) requests += request;
      const std::string last = post(R"({"jsonrpc":"2.0","id":3,"method":"small"})");
      cut = std::min(cut, last.size() - 1);
      ASSERT_TRUE(socket.write(requests + last.substr(0, cut)));
      std::size_t bigs = 0;
      for (std::size_t at = requests.find("big"); at != requests.npos;
           at = requests.find("big", at + 1)) {
        ++bigs;
      }
      std::string answers;
      std::size_t found = 0;
      std::size_t at = 0;
      while (found < bigs) {
        const std::string more = socket.read_some();
        ASSERT_FALSE(more.empty() || more.ends_with(">"))
            << request.substr(0, 200) << " " << found << " " << more;
        answers += more;
        for (std::size_t next = answers.find(answer, at); next != answers.npos;
             next = answers.find(answer, at)) {
          at = next + answer.size();
          ++found;
        }
      }
      ASSERT_TRUE(socket.write(last.substr(cut)));
      while (answers.find("\"result\":true", at) == answers.npos) {
        const std::string more = socket.read_some();
        ASSERT_FALSE(more.empty() || more.ends_with(">")) << answers.substr(at);
        answers += more;
      }
      ASSERT_EQ(answers.find("HTTP/1.1 400"), answers.npos);
    }
  }
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Wire, AReplyMayBeAsLargeAsTheLimitAndNoLarger) {
  const std::string begin = R"({"jsonrpc":"2.0","result":")";
  const std::string end = R"(","id":1})";
  for (const std::uint32_t most : {limits::reply_size_max_min, 300'000u, limits::reply_size_max}) {
    std::atomic<std::size_t> size = 0;
    Options limited = options(1);
    limited.reply_size_max = most;
    Server server(limited);
    server.method("text", [&size]() { return std::string(size.load(), 'x'); });
    ASSERT_TRUE(server.start()) << server.error();
    Socket socket(server.port());
    for (const int more : {-1, 0, 1, 0}) {
      size = most - begin.size() - end.size() - 1 + static_cast<std::size_t>(more + 1);
      ASSERT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"text"})")));
      const std::string body = body_of(socket.read_response());
      if (more > 0) {
        EXPECT_NE(body.find("-31004"), body.npos) << body.substr(0, 200);
      } else {
        EXPECT_TRUE(body == begin + std::string(size, 'x') + end) << most << " " << body.size();
      }
    }
    EXPECT_EQ(metric(server, "ringrpc_limit_hits_total{limit=\"reply_size\"}"), 1u);
    EXPECT_EQ(server.stop(), 0);
  }
}

TEST_P(Wire, BodiesThatDoNotComeTakeNoRoomFromOthers) {
  Options small = options(1);
  small.message_size_max = 1u << 20;
  small.partial_pool_size = 6u << 20;
  Server server(small);
  server.method("size",
                [](Call& call) { return static_cast<std::int64_t>(call.params().raw().size()); });
  ASSERT_TRUE(server.start()) << server.error();
  std::vector<Socket> silent;
  for (int i = 0; i < 40; ++i) {
    silent.emplace_back(server.port());
    ASSERT_TRUE(silent.back().write(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 1048576\r\n\r\n"));
  }
  ASSERT_TRUE(wait_for(server, "ringrpc_receives_total", silent.size()));
  // Too long for one receive, whatever its timing.
  const std::string params = "[\"" + std::string(200'000, 'x') + "\"]";
  Socket socket(server.port());
  ASSERT_TRUE(
      socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"size","params":)" + params + "}")));
  EXPECT_EQ(body_of(socket.read_response()), R"({"jsonrpc":"2.0","result":200004,"id":1})");
  // Those that come after all are still taken.
  ASSERT_TRUE(silent.front().write(std::string(1'048'576, ' ')));
  EXPECT_NE(silent.front().read_response().find("-32700"), std::string::npos);
  EXPECT_EQ(metric(server, "ringrpc_limit_hits_total{limit=\"partial_pool\"}"), 0u);
  silent.clear();
  socket = Socket();
  EXPECT_TRUE(wait_for(server, "ringrpc_connections", 0));
  EXPECT_EQ(server.stop(), 0);
}

std::string name_of(const ::testing::TestParamInfo<IoChoice>& info) {
  return info.param == IoChoice::uring ? "OverUring" : "OverEpoll";
}

INSTANTIATE_TEST_SUITE_P(Backends, Wire, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Backends, Ends, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);

}  // namespace
}  // namespace ringrpc::testing
