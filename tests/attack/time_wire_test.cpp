// Goal: the limits on time hold on real clocks and sockets too, while others are served. Method:
// a server with short limits and all kinds of slow peers at the same time, on both backends. A peer
// must not be ended before its limit; there is no upper bound but patience, since machines stall.

#include <gtest/gtest.h>
#include <poll.h>
#include <ringrpc/server.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t head_timeout_ms = 800;
constexpr std::uint32_t body_grace_ms = 600;
constexpr std::uint32_t stall_timeout_ms = 1'000;
constexpr std::uint32_t idle_timeout_ms = 1'200;
constexpr int pace_ms = 20;
constexpr auto patience = std::chrono::seconds(30);

enum class Ending { silent, answered, unread };

// A peer that sends its first bytes at once and the rest one by one.
struct Slow {
  Socket socket;
  std::string drip;
  std::uint32_t least_ms = 0;  // before which it may not end
  Ending ending = Ending::answered;
  std::string heard;
  std::size_t sent = 0;
  bool ended = false;
};

class TimeOnTheWire : public ::testing::TestWithParam<IoChoice> {
 protected:
  void SetUp() override {
    Options options;
    options.listen = "127.0.0.1:0";
    options.workers = 1;
    options.io = GetParam();
    options.pin = false;
    options.head_timeout_ms = head_timeout_ms;
    options.body_grace_ms = body_grace_ms;
    options.stall_timeout_ms = stall_timeout_ms;
    options.idle_timeout_ms = idle_timeout_ms;
    server_ = std::make_unique<Server>(options);
    server_->method("small", []() { return true; });
    server_->method("big", []() { return std::string(8'000'000, 'x'); });
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  void add(int count, std::string_view first, std::string drip, std::uint32_t least_ms,
           Ending ending) {
    for (int i = 0; i < count; ++i) {
      Slow slow;
      slow.socket = Socket(server_->port());
      ASSERT_TRUE(slow.socket.is_open());
      ASSERT_TRUE(slow.socket.write(first));
      slow.drip = drip;
      slow.least_ms = least_ms;
      slow.ending = ending;
      all_.push_back(std::move(slow));
    }
  }

  // One more byte from each, and whatever has come; then a new client is served.
  void step() {
    for (Slow& slow : all_) {
      if (slow.ended || slow.ending == Ending::unread) continue;
      if (slow.sent < slow.drip.size() && slow.heard.empty()) {
        slow.socket.write(std::string_view(slow.drip).substr(slow.sent++, 1));
      }
      pollfd waited{.fd = slow.socket.fd(), .events = POLLIN, .revents = 0};
      if (poll(&waited, 1, 0) <= 0) continue;
      const std::size_t before = slow.heard.size();
      slow.heard += slow.socket.read_some();
      slow.ended = slow.heard.size() == before || slow.heard.ends_with("<reset>");
      if (slow.ended) check(slow);
    }
    Socket fresh(server_->port());
    ASSERT_TRUE(fresh.write(post(R"({"jsonrpc":"2.0","id":1,"method":"small"})")));
    ASSERT_NE(fresh.read_response().find(R"("result":true)"), std::string::npos);
  }

  void check(const Slow& slow) const {
    // Since before any of them was there.
    const auto passed =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_);
    EXPECT_GE(passed.count(), slow.least_ms);
    if (slow.ending == Ending::silent) {
      EXPECT_EQ(slow.heard, "");
    } else {
      EXPECT_TRUE(slow.heard.starts_with("HTTP/1.1 408 ")) << slow.heard;
      EXPECT_NE(slow.heard.find("\r\nConnection: close\r\n"), slow.heard.npos) << slow.heard;
      EXPECT_FALSE(slow.heard.ends_with(">")) << slow.heard;
    }
  }

  [[nodiscard]] bool all_ended() const {
    for (const Slow& slow : all_) {
      if (!slow.ended && slow.ending != Ending::unread) return false;
    }
    return metric(*server_, "ringrpc_limit_hits_total{limit=\"stall_timeout\"}") >= stalled_;
  }

  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
  std::vector<Slow> all_;
  std::uint64_t stalled_ = 0;
  Clock::time_point begin_ = Clock::now();
};

TEST_P(TimeOnTheWire, SlowPeersEndAndOthersAreServed) {
  const std::string head =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string many(100'000, '0');
  add(50, "P", "OST /rpc HTTP/1.1\r\nX: " + many, head_timeout_ms, Ending::answered);
  add(50, head, "X: " + many, head_timeout_ms, Ending::answered);
  add(100, "", "", head_timeout_ms, Ending::silent);
  add(20, head + "Content-Length: 100000\r\n\r\n", many, body_grace_ms, Ending::answered);
  add(20, head + "Transfer-Encoding: chunked\r\n\r\nFFFF\r\n", many, body_grace_ms,
      Ending::answered);
  stalled_ = 3;
  add(3, post(R"({"jsonrpc":"2.0","id":1,"method":"big"})"), "", 0, Ending::unread);
  while (!all_ended() && !HasFailure()) {
    ASSERT_LT(Clock::now() - begin_, patience) << "somebody does not end";
    step();
    poll(nullptr, 0, pace_ms);  // The pace of the attack.
  }
  all_.clear();
  EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
  EXPECT_TRUE(wait_for(*server_, "ringrpc_partial_messages", 0));
  EXPECT_TRUE(wait_for(*server_, "ringrpc_buffers_lent", 0));
  EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"large_replies\"}", 0));
  EXPECT_EQ(open_descriptors(), descriptors_);
  EXPECT_EQ(metric(*server_, "ringrpc_accepts_total"), metric(*server_, "ringrpc_closes_total"));
  EXPECT_EQ(server_->stop(), 0);
}

std::string name_of(const ::testing::TestParamInfo<IoChoice>& info) {
  return info.param == IoChoice::uring ? "OverUring" : "OverEpoll";
}

INSTANTIATE_TEST_SUITE_P(Backends, TimeOnTheWire,
                         ::testing::Values(IoChoice::uring, IoChoice::epoll), name_of);

}  // namespace
}  // namespace ringrpc::testing
