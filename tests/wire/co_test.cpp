// Goal: coroutines wait on their worker's own loop, however many there are and whatever they wait
// for, and leave nothing behind when their peer goes, cancels, is too late, or the server stops.
// Method: a server in this process with one worker, on both backends; every local counts itself.

#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/wire/socket.h"

namespace ringrpc::testing {
namespace {

struct Number {
  std::int64_t n;
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

// A gate that jobs wait at.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] int entered() const { return entered_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> entered_{0};
  bool open_ = false;
};

std::string message(std::string_view method, std::int64_t n, std::int64_t id = 1) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":[)" + std::to_string(n) + "]}";
}

std::string body_of(const std::string& response) {
  const std::size_t end = response.find("\r\n\r\n");
  return end == response.npos ? response : response.substr(end + 4);
}

std::string result(std::int64_t value, std::int64_t id = 1) {
  return R"({"jsonrpc":"2.0","result":)" + std::to_string(value) + R"(,"id":)" +
         std::to_string(id) + "}";
}

// How long a method waits at the most; `nested` takes it for its depth.
std::int64_t patience(std::string_view method) { return method == "nested" ? 3 : 3'600'000; }

const std::string shutting_down =
    R"({"jsonrpc":"2.0","error":{"code":-31007,"message":"Shutting down","data":)"
    R"({"reason":"shutdown"}},"id":1})";

class Coroutines : public ::testing::TestWithParam<IoChoice> {
 protected:
  Options options() const {
    Options options;
    options.listen = "127.0.0.1:0";
    options.workers = 1;
    options.io = GetParam();
    options.pin = false;
    options.in_flight_per_connection_max = 1024;
    return options;
  }

  // sleep, read, write, job, nested: each waits in its way for what does not come by itself.
  void add_waits(Server& server) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
    server.method("sleep", [this](Call& call, Number in) -> Co<Result<std::int64_t>> {
      const Counted counted(alive_);
      const bool passed = co_await call.after(static_cast<std::uint32_t>(in.n));
      if (!passed) co_return stop_error(call.stop_reason());
      co_return in.n;
    });
    server.method("read", [this](Call& call, Number) -> Co<Result<std::int64_t>> {
      const Counted counted(alive_);
      if (!co_await call.readable(ends_[0])) co_return stop_error(call.stop_reason());
      char byte = 0;
      co_return read(ends_[0], &byte, 1) == 1 ? byte : -1;
    });
    server.method("job", [this](Call& call, Number in) -> Co<Result<std::int64_t>> {
      const Counted counted(alive_);
      co_await call.offload([this] { gate_.pass(); });
      if (call.stop_requested()) co_return stop_error(call.stop_reason());
      co_return in.n;
    });
    server.method("nested", [this](Call& call, Number in) -> Co<Result<std::int64_t>> {
      const Counted counted(alive_);
      if (!co_await deeper(call, in.n)) co_return stop_error(call.stop_reason());
      co_return in.n;
    });
    // It never asks why its waits end.
    server.method("deaf", [this](Call& call, Number in) -> Co<std::int64_t> {
      const Counted counted(alive_);
      for (;;) {
        co_await call.after(static_cast<std::uint32_t>(in.n));
        co_await call.ready(ends_[0], Ready::read);
      }
    });
    server.method("say", [this](Number in) {
      const char byte = static_cast<char>(in.n);
      return static_cast<std::int64_t>(write(ends_[1], &byte, 1));
    });
  }
  Co<bool> deeper(Call& call, std::int64_t n) {
    const Counted counted(alive_);
    if (n > 0) co_return co_await deeper(call, n - 1);
    co_return co_await call.readable(ends_[0], 3'600'000);
  }

  ~Coroutines() override {
    if (ends_[0] < 0) return;
    close(ends_[0]);
    close(ends_[1]);
  }

  // Returns: false when there are not so many for very long.
  bool wait_for_alive(int count) const {
    for (int i = 0; i < 2'000'000; ++i) {
      if (alive_ == count) return true;
      std::this_thread::yield();
    }
    return false;
  }

  int ends_[2] = {-1, -1};
  std::atomic<int> alive_{0};
  Gate gate_;
};

TEST_P(Coroutines, AnswerWhatTheyWaitedFor) {
  Server server(options());
  add_waits(server);
  ASSERT_TRUE(server.start()) << server.error();
  Socket first(server.port());
  Socket second(server.port());
  ASSERT_TRUE(first.write(post(message("read", 0))));
  ASSERT_TRUE(second.write(post(message("say", 42))));
  EXPECT_EQ(body_of(second.read_response()), result(1));
  EXPECT_EQ(body_of(first.read_response()), result(42));
  ASSERT_TRUE(first.write(post(message("sleep", 2))));
  EXPECT_EQ(body_of(first.read_response()), result(2));
  gate_.open();
  ASSERT_TRUE(first.write(post(message("job", 5))));
  EXPECT_EQ(body_of(first.read_response()), result(5));
  ASSERT_TRUE(first.write(post(message("nested", 30))));
  EXPECT_TRUE(wait_for_alive(32));
  ASSERT_TRUE(second.write(post(message("say", 1))));
  EXPECT_EQ(body_of(second.read_response()), result(1));
  EXPECT_EQ(body_of(first.read_response()), result(30));
  EXPECT_EQ(alive_, 0);
  EXPECT_TRUE(wait_for(server, "ringrpc_in_flight", 0));
}

// A byte for each of them: whoever comes too late waits for the next.
TEST_P(Coroutines, AThousandWaitForOneDescriptorAndEachGetsItsByte) {
  constexpr int connections = 20;
  constexpr int each = 50;
  Server server(options());
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0);
  server.method("take", [this](Call& call) -> Co<std::int64_t> {
    const Counted counted(alive_);
    char byte = 0;
    while (read(ends_[0], &byte, 1) != 1) {
      if (!co_await call.readable(ends_[0])) co_return -1;
    }
    co_return byte;
  });
  ASSERT_TRUE(server.start()) << server.error();
  std::vector<Socket> sockets;
  for (int i = 0; i < connections; ++i) {
    sockets.emplace_back(server.port());
    std::string all;
    for (int k = 0; k < each; ++k) {
      all += post(R"({"jsonrpc":"2.0","id":1,"method":"take"})");
    }
    ASSERT_TRUE(sockets.back().write(all));
  }
  ASSERT_TRUE(wait_for_alive(connections * each));
  // Gauges are published behind a turn.
  ASSERT_TRUE(wait_for(server, "ringrpc_in_flight", connections * each));
  const std::size_t open = open_descriptors();
  const std::string bytes(connections * each, 7);
  ASSERT_EQ(write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  for (Socket& socket : sockets) {
    std::string heard;
    const std::size_t size = each * result(7).size();
    while (heard.find(result(7)) == heard.npos || heard.size() < size) {
      const std::string more = socket.read_some();
      ASSERT_FALSE(more.empty());
      heard += more;
      std::size_t count = 0;
      for (std::size_t at = 0; (at = heard.find(result(7), at)) != heard.npos; ++at) ++count;
      if (count == each) break;
    }
  }
  EXPECT_EQ(alive_, 0);
  EXPECT_LE(open_descriptors(), open);
}

TEST_P(Coroutines, EndWhenTheirPeerLeaves) {
  Server server(options());
  add_waits(server);
  ASSERT_TRUE(server.start()) << server.error();
  for (const std::string method : {"sleep", "read", "nested", "deaf"}) {
    Socket socket(server.port());
    ASSERT_TRUE(socket.write(post(message(method, patience(method)))));
    while (alive_ == 0) std::this_thread::yield();
    socket.reset();
    EXPECT_TRUE(wait_for_alive(0)) << method;
  }
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(metric(server, "ringrpc_replies_dropped_total"), 4u);
}

TEST_P(Coroutines, AJobIsFinishedAfterItsPeerHasLeft) {
  Server server(options());
  add_waits(server);
  ASSERT_TRUE(server.start()) << server.error();
  Socket socket(server.port());
  ASSERT_TRUE(socket.write(post(message("job", 1))));
  while (gate_.entered() == 0) std::this_thread::yield();
  socket.reset();
  EXPECT_TRUE(wait_for(server, "ringrpc_connections", 0));
  EXPECT_EQ(alive_, 1);
  gate_.open();
  EXPECT_TRUE(wait_for_alive(0));
  EXPECT_TRUE(wait_for(server, "ringrpc_in_flight", 0));
}

TEST_P(Coroutines, AreCancelledByTheirIdAndEndAtTheirDeadline) {
  Server server(options());
  add_waits(server);
  server.method("late",
                [this](Call& call) -> Co<void> {
                  const Counted counted(alive_);
                  co_await call.readable(ends_[0]);
                },
                {.timeout_ms = 1});
  ASSERT_TRUE(server.start()) << server.error();
  for (const std::string method : {"sleep", "read", "nested", "deaf"}) {
    Socket socket(server.port());
    const std::string cancel = R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":9}})";
    ASSERT_TRUE(socket.write(post(message(method, patience(method), 9)) + post(cancel)));
    // What answers the cancel may stand behind it.
    const std::string body = body_of(socket.read_response());
    EXPECT_TRUE(
        body.starts_with(R"({"jsonrpc":"2.0","error":{"code":-31006,"message":"Cancelled","data":)"
                         R"({"reason":"cancelled"}},"id":9})"))
        << method << ": " << body;
    EXPECT_EQ(alive_, 0) << method;
  }
  Socket socket(server.port());
  ASSERT_TRUE(socket.write(post(R"({"jsonrpc":"2.0","id":1,"method":"late"})")));
  EXPECT_NE(socket.read_response().find("-31003"), std::string::npos);
  EXPECT_TRUE(wait_for_alive(0));
}

TEST_P(Coroutines, AThousandThatWaitAreToldThatTheServerStops) {
  constexpr int connections = 20;
  Server server(options());
  add_waits(server);
  ASSERT_TRUE(server.start()) << server.error();
  std::vector<Socket> sockets;
  const std::string methods[] = {"sleep", "read", "nested", "deaf"};
  for (int i = 0; i < connections; ++i) {
    sockets.emplace_back(server.port());
    std::string all;
    for (int k = 0; k < 50; ++k) all += post(message(methods[k % 4], patience(methods[k % 4])));
    ASSERT_TRUE(sockets.back().write(all));
  }
  // Each of `nested` counts five.
  ASSERT_TRUE(wait_for_alive(connections * (50 + 12 * 4)));
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(alive_, 0);
  for (Socket& socket : sockets) {
    const std::string heard = socket.read_all();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = heard.find(shutting_down, at)) != heard.npos; ++at) ++count;
    EXPECT_EQ(count, 50u);
  }
}

TEST_P(Coroutines, GoWithAServerThatIsStoppedByForce) {
  const std::size_t open = open_descriptors();
  {
    Options forced = options();
    forced.stop_timeout_ms = limits::timeout_ms_min;
    forced.linger_timeout_ms = limits::timeout_ms_min;
    Server server(forced);
    add_waits(server);
    ASSERT_TRUE(server.start()) << server.error();
    Socket socket(server.port());
    std::string all;
    for (int i = 0; i < 600; ++i) all += post(message("read", 0));
    ASSERT_TRUE(socket.write(all + post(message("job", 1))));
    ASSERT_TRUE(wait_for_alive(601));
    // The job keeps its worker, whose peer waits.
    EXPECT_EQ(server.stop(), 1);
    EXPECT_EQ(alive_, 1);
    gate_.open();
  }
  EXPECT_EQ(alive_, 0);
  close(ends_[0]);
  close(ends_[1]);
  ends_[0] = ends_[1] = -1;
  EXPECT_EQ(open_descriptors(), open);
}

TEST_P(Coroutines, LiveOnWhenTheirMethodIsRemoved) {
  Server server(options());
  add_waits(server);
  ASSERT_TRUE(server.start()) << server.error();
  Socket socket(server.port());
  ASSERT_TRUE(socket.write(post(message("read", 0))));
  while (alive_ == 0) std::this_thread::yield();
  EXPECT_TRUE(server.remove("read"));
  server.method("read", [] { return 0; });
  Socket other(server.port());
  ASSERT_TRUE(other.write(post(message("say", 9))));
  EXPECT_EQ(body_of(other.read_response()), result(1));
  EXPECT_EQ(body_of(socket.read_response()), result(9));
}

INSTANTIATE_TEST_SUITE_P(Backends, Coroutines, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         [](const auto& one) {
                           return one.param == IoChoice::uring ? "Uring" : "Epoll";
                         });

}  // namespace
}  // namespace ringrpc::testing
