// Goal: what is published at once is no reason to lose who reads; what subscribers that have
// stopped reading hold leaves room for replies.
// Method: a server in this process and plain sockets, on both backends and every transport.

#include <gtest/gtest.h>
#include <ringrpc/feed.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/wire/socket.h"
#include "tests/wire/ways.h"

namespace ringrpc::testing {
namespace {

struct Published {
  std::size_t n;
  std::string_view pad;
};

class Bursts : public ::testing::TestWithParam<BackendAndWay> {
 protected:
  static constexpr std::size_t piece = 1024;

  [[nodiscard]] Way way() const { return std::get<1>(GetParam()); }

  void start(WhenFull when_full) {
    Options options;
    options.listen = way() == Way::lines ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 128;
    server_ = std::make_unique<Server>(options);
    feed_ = std::make_unique<Feed>(*server_, FeedOptions{.when_full = when_full});
    server_->method("listen", [this](Stream stream) { feed_->subscribe(std::move(stream), "t"); });
    server_->method("publish", [this](const std::vector<std::size_t>& in) {
      const std::string pad(in.at(1), 'x');
      return feed_->publish("t", "e", Published{in.at(0), pad}) == Sent::yes;
    });
    server_->method("burst", [this](const std::vector<std::size_t>& in) {
      const std::string pad(piece, 'x');
      for (std::size_t i = 0; i < in.at(0); ++i) {
        if (feed_->publish("t", "e", Published{i, pad}) != Sent::yes) return false;
      }
      return true;
    });
    server_->method("pour", [](const std::vector<std::size_t>& in, Stream stream) {
      stream.when_full(WhenFull::close);
      const std::string pad(in.at(0), 'x');
      while (stream.notify("e", Published{0, pad}) == Sent::yes) {
      }
    });
    server_->method("large",
                    [](const std::vector<std::size_t>& in) { return std::string(in.at(0), 'y'); });
    ASSERT_TRUE(server_->start()) << server_->error();
  }

  Socket connect() { return connected(server_->port(), way()); }

  std::vector<Socket> listeners(std::size_t count) {
    std::vector<Socket> sockets;
    for (std::size_t i = 0; i < count; ++i) {
      sockets.push_back(connect());
      EXPECT_TRUE(sockets.back().write(said(way(), call("1", "listen", "{}"))));
      EXPECT_TRUE(wait_for(*server_, "ringrpc_subscriptions", i + 1));
    }
    return sockets;
  }

  // Reads until that has come. Returns: all that has come; less when the connection ended before.
  static std::string read_until(Socket& socket, std::string_view wanted) {
    std::string heard;
    for (std::size_t looked = 0; heard.find(wanted, looked) == heard.npos;) {
      const std::string more = socket.read_some();
      if (more.empty() || more == "<nothing>") break;
      looked = heard.size() < wanted.size() ? 0 : heard.size() - wanted.size();
      heard += more;
    }
    return heard;
  }

  static std::string number(std::size_t i) { return R"({"n":)" + std::to_string(i) + ","; }

  // Each hears each once, and in order.
  void check(std::vector<Socket>& sockets, std::size_t count) {
    for (Socket& socket : sockets) {
      const std::string heard = read_until(socket, number(count - 1));
      std::size_t at = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t found = heard.find(R"({"n":)", at);
        ASSERT_NE(found, heard.npos) << i;
        ASSERT_EQ(heard.substr(found, number(i).size()), number(i));
        at = found + 1;
      }
    }
    EXPECT_EQ(hits("stream_queue"), 0u);
    EXPECT_EQ(metric(*server_, "ringrpc_events_dropped_total"), 0u);
    EXPECT_EQ(metric(*server_, "ringrpc_events_coalesced_total"), 0u);
  }

  [[nodiscard]] std::uint64_t hits(const std::string& limit) const {
    return metric(*server_, "ringrpc_limit_hits_total{limit=\"" + limit + "\"}");
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Feed> feed_;
};

class BurstsOf : public Bursts {
 protected:
  // In one batch, whose calls are run in one turn.
  void batch(WhenFull when_full) {
    constexpr std::size_t count = 300;
    start(when_full);
    std::vector<Socket> sockets = listeners(3);
    std::string calls;
    for (std::size_t i = 0; i < count; ++i) {
      calls += (i == 0 ? "[" : ",") +
               call("1", "publish", "[" + std::to_string(i) + "," + std::to_string(piece) + "]");
    }
    Socket publisher = connect();
    ASSERT_TRUE(publisher.write(said(way(), calls + "]")));
    check(sockets, count);
    EXPECT_EQ(server_->stop(), 0);
  }
  // In one handler.
  void burst(WhenFull when_full) {
    constexpr std::size_t count = 1500;
    start(when_full);
    std::vector<Socket> sockets = listeners(3);
    Socket publisher = connect();
    ASSERT_TRUE(
        publisher.write(said(way(), call("1", "burst", "[" + std::to_string(count) + "]"))));
    check(sockets, count);
    EXPECT_EQ(server_->stop(), 0);
  }
};

// Each more than may be unsent, and all of them more than sockets hold.
TEST_P(BurstsOf, LargeOnesCloseNobodyWhoReads) {
  constexpr std::size_t count = 12;
  constexpr std::size_t size = 700'000;
  start(WhenFull::close);
  std::vector<Socket> sockets = listeners(1);
  std::string calls;
  for (std::size_t i = 0; i < count; ++i) {
    calls += (i == 0 ? "[" : ",") +
             call("1", "publish", "[" + std::to_string(i) + "," + std::to_string(size) + "]");
  }
  Socket publisher = connect();
  ASSERT_TRUE(publisher.write(said(way(), calls + "]")));
  check(sockets, count);
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(BurstsOf, ABatchClosesNobodyWhoReads) { batch(WhenFull::close); }
TEST_P(BurstsOf, ABatchLosesNothingForWhoReads) { batch(WhenFull::drop); }
TEST_P(BurstsOf, ABatchReplacesNothingForWhoReads) { batch(WhenFull::coalesce); }
TEST_P(BurstsOf, AHandlerClosesNobodyWhoReads) { burst(WhenFull::close); }
TEST_P(BurstsOf, AHandlerLosesNothingForWhoReads) { burst(WhenFull::drop); }
TEST_P(BurstsOf, AHandlerReplacesNothingForWhoReads) { burst(WhenFull::coalesce); }

// Half of the memory for large replies is not theirs.
class Hoards : public Bursts {
 protected:
  void run(WhenFull when_full) {
    constexpr std::size_t large = 4'000'000;
    constexpr std::size_t most = limits::large_replies_size_max;
    constexpr std::size_t count = most / large + 3;
    start(when_full);
    std::vector<Socket> sockets = listeners(count);
    Socket other = connect();
    const std::string publish =
        said(way(), call("1", "publish", "[0," + std::to_string(large) + "]"));
    const std::string found_no_room =
        when_full == WhenFull::close  ? "ringrpc_limit_hits_total{limit=\"stream_queue\"}"
        : when_full == WhenFull::drop ? "ringrpc_events_dropped_total"
                                      : "ringrpc_events_coalesced_total";
    // The kernel takes the first ones.
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(other.write(publish));
      EXPECT_NE(read_until(other, R"("id":1})").find(R"("result":true)"), std::string::npos);
    }
    EXPECT_TRUE(wait_for(*server_, found_no_room, 1, true));
    // Subscribers with nothing unsent may have been ended for want of memory, replies may not.
    const std::uint64_t ended = hits("reply_memory");
    EXPECT_TRUE(ended == 0 || when_full == WhenFull::close);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LE(held(), most / 2);
      constexpr std::size_t size = 400'000;
      const std::string ask = said(way(), call("2", "large", "[" + std::to_string(size) + "]"));
      ASSERT_TRUE(other.write(ask));
      const std::string heard = read_until(other, R"("id":2})");
      EXPECT_NE(heard.find(std::string(size, 'y')), std::string::npos) << heard.substr(0, 300);
    }
    EXPECT_EQ(hits("reply_memory"), ended);
    EXPECT_EQ(hits("reply_size"), 0u);
    for (Socket& socket : sockets) socket.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_subscriptions", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"large_replies\"}", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_EQ(server_->stop(), 0);
  }
  [[nodiscard]] std::uint64_t held() const {
    return metric(*server_, "ringrpc_memory_bytes{pool=\"large_replies\"}");
  }
};

TEST_P(Hoards, OfWhoIsClosedLeaveRoomForReplies) { run(WhenFull::close); }
TEST_P(Hoards, OfWhoLosesLeaveRoomForReplies) { run(WhenFull::drop); }
TEST_P(Hoards, OfWhoKeepsTheLatestLeaveRoomForReplies) { run(WhenFull::coalesce); }

// It has stopped reading, so its policy ends it; then it reads what there is.
class TooSlow : public Bursts {
 protected:
  void expect_told(Socket& socket) {
    const std::string heard = socket.read_all();
    const std::string end = heard.substr(heard.size() - std::min<std::size_t>(heard.size(), 300));
    if (way() == Way::websocket) {
      EXPECT_TRUE(heard.ends_with("\x88\x17\x03\xF5stream_queue_size_max")) << end;
    } else if (way() == Way::lines) {
      EXPECT_NE(end.find(R"("code":-31001)"), end.npos) << end;
      EXPECT_TRUE(end.ends_with(
          R"("data":{"reason":"stream_queue_size_max","retryAfterMs":1000}},"id":null})"
          "\n"))
          << end;
    } else {
      EXPECT_EQ(end.find("0\r\n\r\n"), end.npos) << end;
    }
    EXPECT_EQ(hits("stream_queue"), 1u);
    EXPECT_TRUE(wait_for(*server_, "ringrpc_subscriptions", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_EQ(hits("stall_timeout"), 0u);
  }
};

TEST_P(TooSlow, ASubscriberIsToldWhy) {
  start(WhenFull::close);
  std::vector<Socket> sockets = listeners(1);
  Socket other = connect();
  const std::string publish = said(way(), call("1", "publish", "[0,1000000]"));
  while (hits("stream_queue") == 0) {
    ASSERT_TRUE(other.write(publish));
    ASSERT_NE(read_until(other, R"("id":1})").find(R"("result":true)"), std::string::npos);
  }
  expect_told(sockets[0]);
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(TooSlow, TheReaderOfAStreamIsToldWhy) {
  start(WhenFull::close);
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), call("1", "pour", "[100000]"))));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_limit_hits_total{limit=\"stream_queue\"}", 1));
  expect_told(socket);
  EXPECT_EQ(server_->stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, TooSlow, everything, name_of);
INSTANTIATE_TEST_SUITE_P(Ways, BurstsOf, everything, name_of);
INSTANTIATE_TEST_SUITE_P(Ways, Hoards, everything, name_of);

}  // namespace
}  // namespace ringrpc::testing
