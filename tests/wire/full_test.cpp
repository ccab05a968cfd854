// Goal: a connection that has as many calls in flight as it may is left by its peer as any other: a
// reset ends its calls at once, and a FIN loses nothing that was sent before it.
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

  void start(std::string listen = {}) {
    if (listen.empty()) listen = way() == Way::lines ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    Options options;
    options.listen = listen;
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 64;
    options.in_flight_per_connection_max = most;
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
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  Socket connect() { return connected(server_->port(), way()); }

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
    Socket socket(path);
    if (way() == Way::websocket) {
      ASSERT_TRUE(socket.write(handshake));
      std::string head;
      while (head.find("\r\n\r\n") == head.npos) head += socket.read_some();
    }
    fill(socket, "sleep");
    ASSERT_TRUE(socket.write(said(way(), call("", "job", "{}"))));
  }
  EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
  check_baseline();
  EXPECT_EQ(jobs_, 1u);
  EXPECT_EQ(server_->stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, Full, everything, name_of);

}  // namespace
}  // namespace ringrpc::testing
