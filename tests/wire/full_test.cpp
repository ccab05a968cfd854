// Goal: a connection that has as many calls in flight as it may is left by its peer as any other: a
// reset ends its calls at once, and a FIN loses nothing that was sent before it. Where replies have
// no order, its peer can cancel, ping and close meanwhile, and one call too many is refused.
// Method: a server in this process and plain sockets, on both backends and every transport.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tests/wire/socket.h"
#include "tests/wire/ways.h"

namespace ringrpc::testing {
namespace {

class Full : public ::testing::TestWithParam<std::tuple<IoChoice, Way>> {
 protected:
  static constexpr std::uint32_t most = 4;

  [[nodiscard]] Way way() const { return std::get<1>(GetParam()); }

  void start(std::string listen = {}, std::uint32_t calls_max = most) {
    if (listen.empty()) listen = way() == Way::lines ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    Options options;
    options.listen = listen;
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 64;
    options.in_flight_per_connection_max = calls_max;
    server_ = std::make_unique<Server>(options);
    server_->method("sleep", [](Deferred reply) {
      std::move(reply).after(3'600'000, [](Deferred woken) { woken.stop(); });
    });
    server_->method("hold", [this](Call&, Deferred reply) { held_.push_back(std::move(reply)); });
    server_->method("release", [this] {
      for (Deferred& reply : held_) reply.answer("released");
      held_.clear();
    });
    server_->method("ping", [] { return "pong"; });
    server_->method("job", [this] { ++jobs_; });
    server_->method("late.job", [this](Deferred reply) {
      ++jobs_;
      reply.answer();
    });
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  Socket connect() { return connected(server_->port(), way()); }
  // The same to a Unix socket.
  Socket connect(const std::string& path) {
    Socket socket(path);
    if (way() == Way::websocket) {
      EXPECT_TRUE(socket.write(handshake));
      std::string head;
      while (head.find("\r\n\r\n") == head.npos) head += socket.read_some();
    }
    return socket;
  }

  [[nodiscard]] std::string calls(std::uint32_t count, std::string_view method) const {
    std::string bytes;
    for (std::uint32_t i = 0; i < count; ++i) bytes += said(way(), call("1", method, "{}"));
    return bytes;
  }
  void fill(Socket& socket, std::string_view method) {
    ASSERT_TRUE(socket.write(calls(most, method)));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", most));
  }

  void check_baseline() {
    EXPECT_TRUE(
        wait_for(*server_, "ringrpc_closes_total", metric(*server_, "ringrpc_accepts_total")));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_buffers_lent", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_partial_messages", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  std::vector<Deferred> held_;  // the worker's
  std::atomic<std::uint32_t> jobs_{0};
  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
};

TEST_P(Full, AResetEndsItsCallsAtOnce) {
  start();
  for (const std::uint32_t unread : {0u, 1u, 3u}) {
    Socket socket = connect();
    fill(socket, "sleep");
    ASSERT_TRUE(socket.write(calls(unread, "sleep")));
    socket.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0)) << unread;
    check_baseline();
  }
  EXPECT_EQ(server_->stop(), 0);
}

// Also one that was full, had room again, and is full once more.
TEST_P(Full, AResetOfOneThatHadRoomMeanwhileEndsItsCallsAtOnce) {
  start();
  Socket socket = connect();
  for (int round = 0; round < 3; ++round) {
    fill(socket, "hold");
    ASSERT_TRUE(socket.write(calls(1, "ping")));
    Socket other = connect();
    ASSERT_TRUE(other.write(calls(1, "release")));
    std::string heard;
    for (std::size_t found = 0; found < most + 1;) {
      heard += socket.read_some();
      ASSERT_FALSE(heard.ends_with("<nothing>")) << heard;
      found = 0;
      for (std::size_t at = 0; (at = heard.find(R"("id":1})", at)) != heard.npos; ++at) ++found;
    }
  }
  fill(socket, "sleep");
  socket.reset();
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Full, AFinLosesNothingThatWasSentBefore) {
  start();
  Socket socket = connect();
  fill(socket, "hold");
  ASSERT_TRUE(socket.write(said(way(), call("7", "ping", "{}"))));
  socket.finish();
  // Round trips of another: by then the FIN has come.
  Socket other = connect();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(other.write(said(way(), call("8", "ping", "{}"))));
    ASSERT_FALSE(other.read_some().empty());
  }
  EXPECT_EQ(metric(*server_, "ringrpc_in_flight"), most);
  ASSERT_TRUE(other.write(said(way(), call("", "release", "{}"))));
  const std::string heard = socket.read_all();
  EXPECT_NE(heard.find(R"("result":"pong","id":7)"), heard.npos) << heard;
  socket.reset();
  other.reset();
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// A peer that closes a Unix socket is gone, and what it sent before it was is still done.
TEST_P(Full, AUnixSocketThatIsClosedEndsItsCallsAndLosesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/s";
  start((way() == Way::lines ? "unix:" : "unix-http:") + path);
  {
    Socket socket = connect(path);
    fill(socket, "sleep");
    ASSERT_TRUE(socket.write(said(way(), call("", "job", "{}"))));
  }
  EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
  check_baseline();
  EXPECT_EQ(jobs_, 1u);
  EXPECT_EQ(server_->stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, Full, everything, name_of);

// Where replies have no order, on TCP and on Unix sockets.
class ReadOn : public Full {
 protected:
  static constexpr std::uint32_t default_most = limits::in_flight_per_connection_max;
  static constexpr std::string_view refused = R"("data":{"reason":"in_flight_per_connection",)";

  // Starts a server, and again with another door; a peer has as many calls as it may, of ids from
  // 1000 on.
  template <typename Talk>
  void at_the_limit(std::string_view method, Talk talk) {
    for (const bool unix_socket : {false, true}) {
      SCOPED_TRACE(unix_socket ? "a Unix socket" : "TCP");
      const TemporaryFolder folder;
      const std::string path = folder.path() + "/s";
      const std::string door = (way() == Way::lines ? "unix:" : "unix-http:") + path;
      start(unix_socket ? door : std::string(), default_most);
      const auto reach = [&] { return unix_socket ? connect(path) : connect(); };
      {
        Socket socket = reach();
        heard_.clear();
        for (std::uint32_t i = 0; i < default_most; ++i) say(socket, id(i), method);
        ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", default_most));
        Socket other = reach();
        talk(socket, other);
      }
      check_baseline();
      EXPECT_EQ(server_->stop(), 0);
    }
  }

  static std::string id(std::uint32_t number) { return std::to_string(1000 + number); }
  void say(Socket& socket, std::string_view id, std::string_view method) {
    ASSERT_TRUE(socket.write(said(way(), call(id, method, "{}"))));
  }
  // Returns: the answer with that id, from its code or result on.
  std::string hear(Socket& socket, std::string_view id) {
    const std::string end = R"(,"id":)" + std::string(id) + "}";
    std::size_t at = 0;
    while ((at = heard_.find(end)) == heard_.npos) {
      const std::string more = socket.read_some();
      if (more.empty() || more.ends_with("<nothing>") || more.ends_with("<reset>")) {
        ADD_FAILURE() << "no answer to " << id << " in " << heard_ << more;
        return {};
      }
      heard_ += more;
    }
    const std::size_t begin = heard_.rfind(R"({"jsonrpc")", at);
    std::string answer = heard_.substr(begin, at - begin);
    heard_.erase(begin, at + end.size() - begin);
    return answer;
  }
  std::uint64_t refusals() {
    return metric(*server_, R"(ringrpc_limit_hits_total{limit="in_flight_per_connection"})");
  }

  std::string heard_;
};

TEST_P(ReadOn, OneCallTooManyIsRefusedAndACancelledOneLeavesRoom) {
  at_the_limit("sleep", [this](Socket& socket, Socket&) {
    EXPECT_EQ(refusals(), 0u);
    say(socket, "1", "sleep");
    const std::string first = hear(socket, "1");
    EXPECT_NE(first.find(R"("code":-31001,)"), first.npos) << first;
    EXPECT_NE(first.find(refused), first.npos) << first;
    say(socket, "2", "ping");
    EXPECT_NE(hear(socket, "2").find(R"("result":"pong")"), std::string::npos);
    // Nobody can be told of this one.
    jobs_ = 0;
    say(socket, "", "late.job");
    say(socket, "3", "ping");
    EXPECT_NE(hear(socket, "3").find(R"("result":"pong")"), std::string::npos);
    EXPECT_EQ(jobs_, 0u);
    EXPECT_EQ(refusals(), 2u);
    ASSERT_TRUE(socket.write(said(way(), call("", "rpc.cancel", R"({"id":1077})"))));
    const std::string cancelled = hear(socket, "1077");
    EXPECT_NE(cancelled.find(R"("code":-31006,)"), cancelled.npos) << cancelled;
    say(socket, "4", "sleep");
    ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", default_most));
    say(socket, "5", "sleep");
    const std::string second = hear(socket, "5");
    EXPECT_NE(second.find(refused), second.npos) << second;
    EXPECT_EQ(refusals(), 3u);
    ASSERT_TRUE(socket.write(said(way(), call("", "rpc.cancel", R"({"id":4})"))));
    EXPECT_NE(hear(socket, "4").find(R"("code":-31006,)"), std::string::npos);
    socket.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
  });
}

TEST_P(ReadOn, APeerThatHalfClosesHearsAllThatItHas) {
  at_the_limit("hold", [this](Socket& socket, Socket& other) {
    say(socket, "1", "hold");
    say(socket, "2", "ping");
    socket.finish();
    const std::string first = hear(socket, "1");
    EXPECT_NE(first.find(refused), first.npos) << first;
    EXPECT_NE(hear(socket, "2").find(R"("result":"pong")"), std::string::npos);
    say(other, "", "release");
    for (std::uint32_t i = 0; i < default_most; ++i) {
      EXPECT_NE(hear(socket, id(i)).find(R"("result":"released")"), std::string::npos) << i;
    }
    EXPECT_EQ(socket.read_all().find("<"), std::string::npos);
  });
}

class WebSocketReadOn : public ReadOn {};

TEST_P(WebSocketReadOn, IsPongedAndClosed) {
  at_the_limit("sleep", [this](Socket& socket, Socket&) {
    const std::string mask(4, '\0');
    ASSERT_TRUE(socket.write("\x89\x83" + mask + "abc"));
    std::string heard;
    while (heard.size() < 5) heard += socket.read_some();
    EXPECT_EQ(heard, std::string("\x8a\x03") + "abc");
    EXPECT_EQ(metric(*server_, "ringrpc_in_flight"), default_most);
    const std::string code = "\x03\xe8";
    ASSERT_TRUE(socket.write("\x88\x82" + mask + code));
    EXPECT_EQ(socket.read_all(), "\x88\x02" + code);
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
  });
}

constexpr auto both = [] { return ::testing::Values(IoChoice::uring, IoChoice::epoll); };
INSTANTIATE_TEST_SUITE_P(Ways, ReadOn,
                         ::testing::Combine(both(), ::testing::Values(Way::lines, Way::websocket)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Ways, WebSocketReadOn,
                         ::testing::Combine(both(), ::testing::Values(Way::websocket)), name_of);

}  // namespace
}  // namespace ringrpc::testing
