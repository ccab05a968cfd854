// Goal: a coroutine sends notifications before its answer, on every transport alike: in order, none
// lost, at the pace of its peer and for a bounded price; whoever leaves, is too late, or stops the
// server ends the wait for room, and nothing stays behind. Method: a server in this process with
// one worker, on both backends; a reader that stops; every local counts itself.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/wire/socket.h"
#include "tests/wire/ways.h"

namespace ringrpc::testing {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
// More than the kernel and the engine take for a peer that does not read.
constexpr std::size_t plenty = 24 * mib;
constexpr std::size_t piece = 32u << 10;

struct Number {
  std::int64_t n;
};

struct Piece {
  std::int64_t n;
  std::string_view text;
};

struct Flood {
  std::int64_t count;
  std::size_t size;
};

class Counted {
 public:
  explicit Counted(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive_; }

 private:
  std::atomic<int>& alive_;
};

class CoStreams : public ::testing::TestWithParam<BackendAndWay> {
 protected:
  [[nodiscard]] Way way() const { return std::get<1>(GetParam()); }

  void start(Options options = {}, MethodOptions of_flood = {}) {
    options.listen = way() == Way::lines ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    options.workers = 1;
    options.io = std::get<0>(GetParam());
    options.pin = false;
    options.connections_max = 64;
    server_ = std::make_unique<Server>(options);
    // As many notifications as are asked for, each awaited.
    server_->method(
        "flood",
        [this](Call& call, Flood in, CoStream stream) -> Co<Result<std::int64_t>> {
          const Counted counted(alive_);
          const std::string text(in.size, 'x');
          while (alive_ < together_) {
            if (!co_await call.after(1)) co_return stop_error(call.stop_reason());
          }
          for (std::int64_t n = 0; n < in.count; ++n) {
            const Sent sent = co_await stream.send("piece", Piece{n, text});
            if (sent == Sent::stopped) {
              reason_ = call.stop_reason();
              co_return stop_error(call.stop_reason());
            }
            if (sent == Sent::yes) ++sent_;
            if (sent == Sent::no_room) ++in_vain_, --n;
          }
          co_return in.count;
        },
        of_flood);
    server_->method("ping", [] { return 1; });
    ASSERT_TRUE(server_->start()) << server_->error();
    descriptors_ = open_descriptors();
  }

  Socket connect() { return connected(server_->port(), way()); }

  static std::string flood(std::int64_t count, std::size_t size) {
    return call(
        "7", "flood",
        R"({"count":)" + std::to_string(count) + R"(,"size":)" + std::to_string(size) + "}");
  }

  // Returns: when as many have been sent as will be while nobody reads.
  void wait_until_it_stands() {
    Socket other = connect();
    for (std::int64_t before = -1; before != sent_ || before == 0;) {
      before = sent_;
      for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(other.write(said(way(), call("1", "ping", "{}"))));
        std::string heard;
        while (heard.find(R"("result":1)") == heard.npos) {
          const std::string more = other.read_some();
          ASSERT_FALSE(more.empty());
          heard += more;
        }
      }
    }
    other.reset();
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 1));
  }

  // Reads until the text has come. Returns: all that was read.
  static std::string read_until(Socket& socket, std::string_view text) {
    std::string heard;
    for (;;) {
      const std::size_t looked = heard.size();
      const std::string more = socket.read_some();
      if (more.empty()) return heard;
      heard += more;
      const std::size_t from = looked < text.size() ? 0 : looked - text.size();
      if (heard.find(text, from) != heard.npos) return heard;
    }
  }

  // What is heard are these notifications, in order, and then the answer.
  static void check_order(const std::string& heard, std::int64_t count) {
    std::size_t at = 0;
    for (std::int64_t n = 0; n < count; ++n) {
      const std::string begin =
          R"({"jsonrpc":"2.0","method":"piece","params":{"n":)" + std::to_string(n) + ",";
      const std::size_t found = heard.find(R"({"jsonrpc")", at);
      ASSERT_NE(found, heard.npos) << n;
      ASSERT_EQ(heard.substr(found, begin.size()), begin);
      at = found + begin.size();
    }
    const std::string answer = R"({"jsonrpc":"2.0","result":)" + std::to_string(count);
    EXPECT_EQ(heard.find(R"({"jsonrpc")", at), heard.find(answer, at));
  }

  void check_baseline() {
    EXPECT_TRUE(wait_for(*server_, "ringrpc_connections", 0));
    EXPECT_TRUE(
        wait_for(*server_, "ringrpc_closes_total", metric(*server_, "ringrpc_accepts_total")));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_in_flight", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_streams", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}", 0));
    EXPECT_TRUE(wait_for(*server_, "ringrpc_memory_bytes{pool=\"frames\"}", 0));
    EXPECT_EQ(alive_, 0);
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  std::atomic<int> alive_{0};
  std::atomic<int> in_vain_{0};  // sends that found no memory
  int together_ = 0;             // none begins before so many are there
  std::atomic<std::int64_t> sent_{0};
  std::atomic<StopReason> reason_{StopReason::none};
  std::unique_ptr<Server> server_;
  std::size_t descriptors_ = 0;
};

const std::string answer_begin = R"({"jsonrpc":"2.0","result":)";
const std::string error_begin = R"({"jsonrpc":"2.0","error":)";

TEST_P(CoStreams, NotificationsComeInOrderAndTheAnswerLast) {
  start();
  Socket socket = connect();
  for (const std::int64_t count : {0, 1, 3, 63, 64, 65, 1000}) {
    ASSERT_TRUE(socket.write(said(way(), flood(count, 10))));
    const std::string answer = answer_begin + std::to_string(count) + R"(,"id":7})";
    check_order(read_until(socket, answer), count);
  }
  EXPECT_EQ(metric(*server_, "ringrpc_events_total"), 1196u);
  socket.reset();
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(CoStreams, AReaderThatStopsIsWaitedForAndMissesNothing) {
  start();
  constexpr std::int64_t count = plenty / piece;
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), flood(count, piece))));
  wait_until_it_stands();
  EXPECT_LT(sent_, count);
  EXPECT_LE(metric(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}"),
            limits::stream_queue_size_max + 4 * piece);
  const std::string heard = read_until(socket, answer_begin);
  check_order(heard, count);
  EXPECT_GE(heard.size(), plenty);
  EXPECT_EQ(metric(*server_, "ringrpc_events_dropped_total"), 0u);
  EXPECT_EQ(in_vain_, 0);
  socket.reset();
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(CoStreams, APeerThatLeavesWhileItIsWaitedForIsNoticed) {
  start();
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), flood(plenty / piece, piece))));
  wait_until_it_stands();
  EXPECT_EQ(alive_, 1);
  socket.reset();
  check_baseline();
  EXPECT_EQ(reason_, StopReason::disconnected);
  EXPECT_GT(metric(*server_, "ringrpc_events_dropped_total"), 0u);
  EXPECT_EQ(metric(*server_, "ringrpc_replies_dropped_total"), 1u);
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(CoStreams, ADeadlineEndsTheWaitForRoomAndIsTheAnswer) {
  start({}, {.timeout_ms = 300});
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), flood(1'000'000'000, piece))));
  EXPECT_TRUE(wait_for(*server_, "ringrpc_limit_hits_total{limit=\"call_timeout\"}", 1));
  const std::string heard = read_until(socket, error_begin) + socket.read_some();
  EXPECT_NE(heard.find(R"("code":-31003)"), heard.npos);
  EXPECT_EQ(reason_, StopReason::timed_out);
  socket.reset();
  check_baseline();
  EXPECT_EQ(server_->stop(), 0);
}

TEST_P(CoStreams, AStopIsToldAndWhatWasSentStillArrives) {
  start();
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), flood(plenty / piece, piece))));
  wait_until_it_stands();
  int code = -1;
  std::thread stopper([this, &code] { code = server_->stop(); });
  const std::string heard = socket.read_all();
  stopper.join();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(reason_, StopReason::shutdown);
  EXPECT_NE(heard.find(R"("code":-31007)"), heard.npos);
  EXPECT_EQ(alive_, 0);
}

TEST_P(CoStreams, AStopByForceEndsWhatStillHasSomethingToSend) {
  start({.linger_timeout_ms = limits::timeout_ms_min, .stop_timeout_ms = limits::timeout_ms_min});
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), flood(plenty / piece, piece))));
  wait_until_it_stands();
  EXPECT_EQ(server_->stop(), 1);
  EXPECT_EQ(alive_, 0);
}

// What fits is another thing for each size.
TEST_P(CoStreams, WhereThereIsRoomTheNextOneFits) {
  start();
  std::atomic<int> rounds{0};
  server_->method("sizes", [&](Call&, Number in, CoStream stream) -> Co<std::int64_t> {
    const Counted counted(alive_);
    const std::string large(200u << 10, 'l');
    const std::string small(100u << 10, 's');
    for (std::int64_t n = 0; n < in.n; ++n, ++sent_) {
      const Piece next{n, n % 2 == 0 ? large : small};
      if (stream.notify("piece", next) != Sent::no_room) continue;
      ++rounds;
      if (!co_await stream.room()) co_return -1;
      EXPECT_EQ(stream.notify("piece", next), Sent::yes) << n;
    }
    co_return in.n;
  });
  Socket socket = connect();
  ASSERT_TRUE(socket.write(said(way(), call("7", "sizes", "[160]"))));
  wait_until_it_stands();
  EXPECT_LT(sent_, 160);
  check_order(read_until(socket, answer_begin), 160);
  EXPECT_GT(rounds, 50);
  socket.reset();
  check_baseline();
}

TEST_P(CoStreams, OtherPoliciesWaitForNobody) {
  start();
  std::atomic<std::int64_t> done{0};
  server_->method("rush", [&](Call&, Number in, CoStream stream) -> Co<std::int64_t> {
    const Counted counted(alive_);
    stream.when_full(in.n == 0 ? WhenFull::drop : WhenFull::coalesce);
    const std::string text(piece, 'x');
    std::int64_t lost = 0;
    for (std::int64_t n = 0; n < std::int64_t{plenty / piece}; ++n) {
      const Sent sent = co_await stream.send("piece", Piece{n, text});
      if (sent == Sent::stopped) co_return -1;
      lost += sent == Sent::no_room;
    }
    ++done;
    co_return lost;
  });
  Socket reader = connect();
  for (const char* const params : {"[0]", "[1]"}) {
    Socket socket = connect();
    ASSERT_TRUE(socket.write(said(way(), call("7", "rush", params))));
    const std::int64_t before = done;
    while (done == before && socket.is_open()) {
      // A plain round trip: others are served meanwhile.
      ASSERT_TRUE(reader.write(said(way(), call("1", "ping", "{}"))));
      read_until(reader, R"("result":1)");
    }
    read_until(socket, answer_begin);
  }
  EXPECT_GT(metric(*server_, "ringrpc_events_dropped_total"), 0u);
  EXPECT_GT(metric(*server_, "ringrpc_events_coalesced_total"), 0u);
  reader.reset();
  check_baseline();
}

TEST_P(CoStreams, OneThatSendsWithoutAnEndLeavesTimeForOthers) {
  start();
  std::atomic<bool> enough{false};
  std::atomic<int> running{0};
  server_->method("endless", [&](Call&, Number in, CoStream stream) -> Co<std::int64_t> {
    const Counted counted(alive_);
    if (in.n == 1) stream.when_full(WhenFull::drop);
    if (in.n == 2) stream.when_full(WhenFull::coalesce);
    ++running;
    while (!enough) {
      if (in.n == 3) {
        if (!co_await stream.room()) co_return -1;
      } else if (co_await stream.send("more", Number{1}) == Sent::stopped) {
        co_return -1;
      }
    }
    co_return in.n;
  });
  // Nobody takes notifications of a batch over HTTP; elsewhere nobody reads them.
  std::vector<Socket> sockets;
  for (const char* const params : {"[0]", "[1]", "[2]", "[3]"}) {
    sockets.push_back(connect());
    const std::string one = call("7", "endless", params);
    ASSERT_TRUE(sockets.back().write(said(way(), way() == Way::http ? "[" + one + "]" : one)));
  }
  while (running != 4) std::this_thread::yield();
  Socket other = connect();
  ASSERT_TRUE(other.write(said(way(), call("1", "ping", "{}"))));
  EXPECT_NE(read_until(other, R"("result":1)").find(R"("result":1)"), std::string::npos);
  enough = true;
  for (Socket& socket : sockets) {
    EXPECT_NE(read_until(socket, answer_begin).find(answer_begin), std::string::npos);
    socket.reset();
  }
  other.reset();
  check_baseline();
}

TEST_P(CoStreams, WhoFindsNoMemoryTriesAgainUntilOthersGiveItBack) {
  start({.late_memory_size_max = limits::late_memory_size_max_min});
  constexpr std::int64_t count = plenty / piece;
  std::vector<Socket> sockets;
  together_ = 16;  // The requests leave some of the memory, and find it.
  for (int i = 0; i < together_; ++i) {
    sockets.push_back(connect());
    ASSERT_TRUE(sockets.back().write(said(way(), flood(count, piece))));
  }
  // The memory is for what four of them may have waiting.
  while (in_vain_ < 10) std::this_thread::yield();
  EXPECT_LE(metric(*server_, "ringrpc_memory_bytes{pool=\"late_memory\"}"),
            limits::late_memory_size_max_min);
  while (sockets.size() > 1) {
    sockets.back().reset();
    sockets.pop_back();
  }
  check_order(read_until(sockets.back(), answer_begin), count);
  sockets.back().reset();
  check_baseline();
}

INSTANTIATE_TEST_SUITE_P(Ways, CoStreams, everything, name_of);

}  // namespace
}  // namespace ringrpc::testing
