// Goal: connections whose calls sleep, stream or are cancelled give everything back whichever way
// and at whichever byte they end; peers with the same ids get their own answers; a reader that
// stops costs a bounded amount and nobody else anything; a stop that is not heeded is forced.
// Method: a server in this process and plain sockets, on both backends and every transport.

#include <gtest/gtest.h>
#include <ringrpc/feed.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/wire/socket.h"
#include "tests/wire/ways.h"

namespace ringrpc::testing {
namespace {

class Late : public ::testing::TestWithParam<std::tuple<IoChoice, Way>> {
 protected:
  [[nodiscard]] Way way() const { return std::get<1>(GetParam()); }

  void start(Options options = {}) {
    options.listen = way() == Way::lines ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 64;
    server_ = std::make_unique<Server>(options);
    server_->method("sleep", [](Deferred reply) {
      std::move(reply).after(3'600'000, [](Deferred woken) { woken.stop(); });
    });
    server_->method("stream", [](Stream stream) {
      for (int i = 0; i < 3; ++i) stream.notify("said", std::vector<int>{i});
      std::move(stream).when_stopped([](Stream ended) { ended.stop(); });
    });
    server_->method("hold", [this](Call&, Deferred reply) { held_.push_back(std::move(reply)); });
    server_->method("release", [this] {
      // The last one first.
      for (std::size_t i = held_.size(); i > 0; --i) held_[i - 1].answer(i);
      held_.clear();
    });
  }

  Socket connect() { return connected(server_->port(), way()); }

  void check_baseline() {
    EXPECT_TRUE(
        wait_for(*server_, "ringrpc_closes_total", metric(*server_, "ringrpc_accepts_total")));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_streams", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_buffers_lent", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_partial_messages", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  // Ends a connection after each prefix of a conversation of late calls.
  template <typename End>
  void end_everywhere(End end) {
    const std::string bytes =
        said(way(), call("1", "sleep", "{}")) + said(way(), call("2", "stream", "{}")) +
        said(way(), call("", "rpc.cancel", R"({"id":1})")) + said(way(), call("3", "stream", "{}"));
    for (std::size_t size = 0; size <= bytes.size(); size += byte_step) {
      Socket socket = connect();
      const std::uint64_t before = metric(*server_, "ringrpc_bytes_in_total");
      ASSERT_TRUE(socket.write(std::string_view(bytes).substr(0, size)));
      ASSERT_TRUE(wait_for(*server_, "ringrpc_bytes_in_total", before + size, true)) << size;
      end(socket);
      ASSERT_TRUE(wait_for(*server_, "ringrpc_connections", 0)) << size;
    }
  }

  std::vector<Deferred> held_;  // the worker's
  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
};

TEST_P(Late, AResetAtAnyByteGivesEverythingBack) {
  start();
  ASSERT_TRUE(server_->start()) << server_->error();
  descriptors_ = open_descriptors();
  end_everywhere([](Socket& socket) { socket.reset(); });
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// What sleeps goes on behind a half-close, until it is out of time; a stream ends with it.
TEST_P(Late, AFinAtAnyByteGivesEverythingBackWhenItsCallsHaveEnded) {
  start({.call_timeout_ms = 5});
  ASSERT_TRUE(server_->start()) << server_->error();
  descriptors_ = open_descriptors();
  end_everywhere([](Socket& socket) {
    socket.finish();
    EXPECT_FALSE(socket.read_all().ends_with("<nothing>"));
  });
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

// What sleeps is told at once that nobody listens any more.
TEST_P(Late, AResetBehindAFinStopsTheCalls) {
  start();
  std::atomic<StopReason> reason{StopReason::none};
  server_->method("watch", [&reason](Call& call) -> Co<void> {
    co_await call.after(3'600'000);
    reason = call.stop_reason();
  });
  server_->method("ping", [] { return 1; });
  ASSERT_TRUE(server_->start()) << server_->error();
  descriptors_ = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    reason = StopReason::none;
    Socket socket = connect();
    ASSERT_TRUE(socket.write(said(way(), call("1", "watch", "{}"))));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 1));
    socket.finish();
    // Round trips of another: by then the FIN has been read, in some rounds.
    Socket other = connect();
    for (int i = 0; i < 5 * round; ++i) {
      ASSERT_TRUE(other.write(said(way(), call("1", "ping", "{}"))));
      ASSERT_FALSE(other.read_some().empty());
    }
    EXPECT_EQ(metric(*server_, "ringrpc_in_flight"), 1u) << "a half-close is no end";
    socket.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0)) << round;
    EXPECT_EQ(reason, StopReason::disconnected) << round;
    other.reset();
    check_baseline();
  }
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Late, AFinAndAResetAtAnyByteGiveEverythingBack) {
  start();
  ASSERT_TRUE(server_->start()) << server_->error();
  descriptors_ = open_descriptors();
  end_everywhere([](Socket& socket) {
    socket.finish();
    socket.reset();
  });
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Late, TheSameIdsInFlightGetTheirOwnAnswers) {
  start();
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket first = connect();
  Socket second = connect();
  // 1 and 2 on the first, 3 on the second, all under one id.
  ASSERT_TRUE(
      first.write(said(way(), call("7", "hold", "{}")) + said(way(), call("7", "hold", "{}"))));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 2));
  ASSERT_TRUE(second.write(said(way(), call("7", "hold", "{}"))));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 3));
  Socket third = connect();
  ASSERT_TRUE(third.write(said(way(), call("", "release", "{}"))));
  const auto answer = [](int result) {
    return R"({"jsonrpc":"2.0","result":)" + std::to_string(result) + R"(,"id":7})";
  };
  std::string heard;
  while (heard.find(answer(1)) == heard.npos || heard.find(answer(2)) == heard.npos) {
    const std::string more = first.read_some();
    ASSERT_FALSE(more.empty());
    heard += more;
  }
  EXPECT_EQ(heard.find(answer(3)), heard.npos);
  // In the order of the requests over HTTP, of the answers elsewhere.
  EXPECT_EQ(heard.find(answer(1)) < heard.find(answer(2)), way() == Way::http);
  heard.clear();
  while (heard.find(answer(3)) == heard.npos) {
    const std::string more = second.read_some();
    ASSERT_FALSE(more.empty());
    heard += more;
  }
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Late, WhoWaitsForRoomThatIsThereGoesOn) {
  start();
  server_->method("roomy", [](const std::vector<int>& in, Stream stream) {
    for (const int i : in) stream.notify("said", std::vector<int>{i});
    std::move(stream).when_room([](Stream ready) { ready.answer("ready"); });
  });
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket socket = connect();
  for (const char* const params : {"[]", "[1]", "[1,2,3]"}) {
    ASSERT_TRUE(socket.write(said(way(), call("1", "roomy", params))));
    std::string heard;
    while (heard.find(R"("result":"ready")") == heard.npos) {
      const std::string more = socket.read_some();
      ASSERT_TRUE(!more.empty() && more != "<nothing>") << params << ": " << heard;
      heard += more;
    }
  }
  EXPECT_EQ(server_->stop(), 0);
}

// Whoever is due at once, over and over again, leaves time for others.
TEST_P(Late, OneThatIsAlwaysDueDoesNotKeepTheWorker) {
  start();
  std::atomic<bool> enough{false};
  struct Again {
    static void wait(Deferred reply, std::atomic<bool>& enough) {
      std::move(reply).after(0, [&enough](Deferred woken) {
        enough ? woken.answer("enough") : wait(std::move(woken), enough);
      });
    }
  };
  server_->method("again", [&enough](Deferred reply) { Again::wait(std::move(reply), enough); });
  server_->method("again.co", [&enough](Call& call) -> Co<std::string_view> {
    while (!enough) co_await call.after(0);
    co_return "enough";
  });
  server_->method("enough", [&enough] { enough = true; });
  ASSERT_TRUE(server_->start()) << server_->error();
  for (const char* const method : {"again", "again.co"}) {
    enough = false;
    Socket socket = connect();
    ASSERT_TRUE(socket.write(said(way(), call("1", method, "{}"))));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 1)) << method;
    Socket other = connect();
    ASSERT_TRUE(other.write(said(way(), call("2", "enough", "{}"))));
    EXPECT_NE(other.read_some().find(R"("id":2)"), std::string::npos) << method;
    EXPECT_NE(socket.read_some().find(R"("result":"enough")"), std::string::npos) << method;
  }
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(Late, AStopThatIsNotHeededIsForced) {
  start({.stop_timeout_ms = 100});
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), call("1", "hold", "{}"))));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 1));
  EXPECT_EQ(server_->stop(), 1);
  EXPECT_TRUE(held_.front().stop_requested());
  held_.clear();
}

TEST_P(Late, AStopTellsWhoWaits) {
  start();
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), call("1", "sleep", "{}"))));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_in_flight", 1));
  EXPECT_EQ(server_->stop(), 0);
  const std::string heard = socket.read_all();
  EXPECT_NE(heard.find(R"("code":-31007)"), heard.npos) << heard;
}

TEST_P(Late, ACallThatBeginsBehindTheStopIsToldAtOnce) {
  start();
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket idle = connect();
  Socket socket = connect();
  const std::string request = said(way(), call("1", "sleep", "{}"));
  ASSERT_TRUE(socket.write(request.substr(0, request.size() - 3)));
  ASSERT_TRUE(wait_for(*server_, "ringrpc_bytes_in_total", request.size() - 3, true));
  int code = -1;
  std::thread stopper([&] { code = server_->stop(); });
  idle.read_all();  // It has nothing to do, so its end says that the stop has begun.
  EXPECT_TRUE(socket.write(request.substr(request.size() - 3)));
  const std::string heard = socket.read_all();
  stopper.join();
  EXPECT_NE(heard.find(R"("code":-31007)"), heard.npos) << heard;
  EXPECT_EQ(code, 0);
}

// What finds no room is older than what is sent later, and younger than what was queued.
TEST_P(Late, WhatIsReplacedByTheNextKeepsItsOrder) {
  constexpr int count = 20'000;
  start();
  std::jthread sender;
  server_->method("count", [&sender](Stream stream) {
    sender = std::jthread([mine = std::move(stream)]() mutable {
      mine.when_full(WhenFull::coalesce);
      const std::string filler(100, 'x');
      for (int i = 1; i <= count; ++i) {
        mine.notify("step", std::vector<std::string>{std::to_string(i), filler});
      }
      mine.answer("done");
    });
  });
  ASSERT_TRUE(server_->start()) << server_->error();
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), call("1", "count", "{}"))));
  std::string heard;
  int last = 0;
  for (bool done = false; !done;) {
    const std::string more = socket.read_some();
    ASSERT_TRUE(!more.empty() && more != "<nothing>") << last;
    heard += more;
    std::size_t at = 0;
    for (std::size_t next; (next = heard.find(R"(s":[")", at)) != heard.npos; at = next + 5) {
      if (heard.find(',', next) == heard.npos) break;
      ASSERT_GT(std::atoi(heard.c_str() + next + 5), last);
      last = std::atoi(heard.c_str() + next + 5);
    }
    done = heard.find(R"("result":"done")", at) != heard.npos;
    heard.erase(0, at);
  }
  EXPECT_EQ(last, count);
  EXPECT_EQ(server_->stop(), 0);
}

// Two listen, and one of them only at first.
class Feeds : public Late {
 protected:
  static constexpr std::size_t mib = std::size_t{1} << 20;

  void run(WhenFull when_full, std::size_t total = 32 * mib, std::size_t piece = mib / 16) {
    start();
    Feed feed(*server_, {.when_full = when_full});
    server_->method("listen", [&feed](Stream stream) { feed.subscribe(std::move(stream), "t"); });
    ASSERT_TRUE(server_->start()) << server_->error();
    Socket reader = connect();
    Socket sleeper = connect();
    const std::string listen = said(way(), call("1", "listen", "{}"));
    ASSERT_TRUE(reader.write(listen));
    ASSERT_TRUE(sleeper.write(listen));
    ASSERT_TRUE(wait_for(*server_, "ringrpc_subscriptions", 2));
    const std::string value(piece, 'x');
    std::string heard;
    std::uint64_t held_max = 0;
    for (std::size_t i = 0; i < total / piece; ++i) {
      ASSERT_EQ(feed.publish("t", "e", std::vector<std::string>{value}), Sent::yes) << i;
      // The reader reads each before the next one is made, so it misses none.
      std::size_t end = 0;
      while ((end = heard.find(R"(x"]})", end < 4 ? 0 : end - 4)) == heard.npos) {
        end = heard.size();
        const std::string more = reader.read_some();
        ASSERT_FALSE(more.empty()) << i;
        heard += more;
      }
      heard.erase(0, end + 4);
      if (i % 64 == 0) held_max = std::max(held_max, held());
    }
    // Both may be about to have one more than their limit.
    EXPECT_LE(held_max, 2 * (limits::unsent_size_max + 4 * piece));
    check(when_full, total / piece);
    reader.reset();
    sleeper.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_EQ(server_->stop(), 0);
  }

  [[nodiscard]] std::uint64_t held() const {
    return metric(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}") +
           metric(*server_, "ringrpc_memory_bytes{pool=\"large_replies\"}");
  }

  void check(WhenFull when_full, std::uint64_t events) {
    if (when_full == WhenFull::close) {
      EXPECT_EQ(metric(*server_, "ringrpc_limit_hits_total{limit=\"stream_queue\"}"), 1u);
    } else if (when_full == WhenFull::drop) {
      EXPECT_EQ(metric(*server_, "ringrpc_events_total") +
                    metric(*server_, "ringrpc_events_dropped_total"),
                2 * events);
      EXPECT_GT(metric(*server_, "ringrpc_events_dropped_total"), events / 4);
    } else {
      EXPECT_GT(metric(*server_, "ringrpc_events_coalesced_total"), events / 4);
    }
  }
};

TEST_P(Feeds, AReaderThatStopsIsClosed) { run(WhenFull::close); }
TEST_P(Feeds, AReaderThatStopsLosesWhatItDoesNotRead) { run(WhenFull::drop); }
TEST_P(Feeds, AReaderThatStopsKeepsTheLatest) { run(WhenFull::coalesce); }

// The same, with as much as one must be able to publish.
class Gigabyte : public Feeds {};
TEST_P(Gigabyte, CostsAReaderThatStopsItsConnection) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  run(WhenFull::close, 64 * mib, mib / 4);
#else
  run(WhenFull::close, 1024 * mib, mib / 4);
#endif
}

INSTANTIATE_TEST_SUITE_P(Ways, Late, everything, name_of);
INSTANTIATE_TEST_SUITE_P(Ways, Feeds, everything, name_of);
INSTANTIATE_TEST_SUITE_P(Ways, Gigabyte,
                         ::testing::Combine(::testing::Values(IoChoice::uring, IoChoice::epoll),
                                            ::testing::Values(Way::lines)),
                         name_of);

}  // namespace
}  // namespace ringrpc::testing
