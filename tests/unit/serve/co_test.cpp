// Goal: a coroutine answers its call exactly once, whatever it waits for and however it ends; what
// it owns lives until then and is destroyed then. Method: a server in memory, whose caller waits
// for the answer; every local counts itself.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/serve/co_no_exceptions.h"
#include "tests/unit/serve/in_memory_calls.h"

namespace ringrpc {
namespace {

using testing::call;
using testing::limit_hits;
using testing::metric;
using testing::no_listener;
using testing::request;

std::string result(std::string_view value) {
  return R"({"jsonrpc":"2.0","result":)" + std::string(value) + R"(,"id":1})";
}

const std::string internal_error =
    R"({"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":1})";
std::string overloaded(std::string_view limit) {
  return R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded","data":{"reason":")" +
         std::string(limit) + R"(","retryAfterMs":1000}},"id":1})";
}
const std::string timed_out = R"({"jsonrpc":"2.0","error":{"code":-31003,"message":"Timed out",)"
                              R"("data":{"reason":"deadline"}},"id":1})";

// Counts how many of them are alive.
class Counted {
 public:
  explicit Counted(int& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  int* alive_;
};

struct Views {
  std::string_view text;
  std::span<const std::int64_t> numbers;
  std::optional<Json> raw;
};

struct Number {
  std::int64_t n;
};

TEST(Coroutine, EveryShapeAnswers) {
  Server server(no_listener());
  server.method("all", [](Call& call, Number in) -> Co<std::string> {
    co_return std::string(call.method()) + std::to_string(in.n);
  });
  server.method("call", [](Call& call) -> Co<std::string_view> { co_return call.id(); });
  server.method("params", [](Number in) -> Co<Number> { co_return Number{in.n + 1}; });
  server.method("nothing", []() -> Co<void> { co_return; });
  server.method("maybe", [](Number in) -> Co<Result<std::int64_t>> {
    if (in.n < 0) co_return Error{.code = 5, .message = "negative"};
    co_return in.n;
  });
  server.method("hardly", []() -> Co<Result<void>> { co_return {}; });
  server.method("text", []() -> Co<const char*> { co_return "a text"; });
  EXPECT_EQ(call(server, request("all", "[7]")), result(R"("all7")"));
  EXPECT_EQ(call(server, request("call")), result(R"("1")"));
  EXPECT_EQ(call(server, request("params", R"({"n":2})")), result(R"({"n":3})"));
  EXPECT_EQ(call(server, request("nothing")), result("null"));
  EXPECT_EQ(call(server, request("maybe", "[4]")), result("4"));
  EXPECT_EQ(call(server, request("maybe", "[-4]")),
            R"({"jsonrpc":"2.0","error":{"code":5,"message":"negative"},"id":1})");
  EXPECT_EQ(call(server, request("hardly")), result("null"));
  EXPECT_EQ(call(server, request("text")), result(R"("a text")"));
  EXPECT_TRUE(call(server, request("params", R"({"n":"x"})")).find("-32602") != std::string::npos);
  EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"nothing"})"), "");
}

TEST(Coroutine, ViewsOfParamsLiveWhileItWaitsAndResultsAreWrittenWhileItsLocalsLive) {
  Server server(no_listener());
  server.method("views", [](Call& call, Views in) -> Co<Views> {
    co_await call.after(0);
    co_await call.offload([] {});
    co_return in;
  });
  server.method("local", [](Call& call) -> Co<std::string_view> {
    const std::string local(100, 'l');
    co_await call.after(0);
    co_return local;
  });
  std::string numbers = "[1";
  for (int i = 2; i <= 300; ++i) numbers += "," + std::to_string(i);
  numbers += "]";
  const std::string params =
      R"({"text":"caf\u00e9 \n","numbers":)" + numbers + R"(,"raw":{"a":[1]}})";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(
        call(server, request("views", params)),
        result("{\"text\":\"caf\xc3\xa9 \\n\",\"numbers\":" + numbers + R"(,"raw":{"a":[1]}})"));
    EXPECT_EQ(call(server, request("local")), result('"' + std::string(100, 'l') + '"'));
  }
}

Co<std::int64_t> sum_to(Call& call, std::int64_t n, int& alive) {
  const Counted counted(alive);
  if (n == 0) co_return 0;
  if (n % 7 == 0) co_await call.after(0);
  const std::int64_t rest = co_await sum_to(call, n - 1, alive);
  co_return n + rest;
}

TEST(Coroutine, OneAwaitsAnotherAsDeepAsItLikes) {
  Server server(no_listener());
  int alive = 0;
  server.method("sum.to", [&alive](Call& call, Number in) -> Co<std::int64_t> {
    co_return co_await sum_to(call, in.n, alive);
  });
  EXPECT_EQ(call(server, request("sum.to", "[10]")), result("55"));
  EXPECT_EQ(call(server, request("sum.to", "[20000]")), result("200010000"));
  EXPECT_EQ(alive, 0);
}

Co<void> nothing() { co_return; }
Co<std::unique_ptr<int>> owned(int value) { co_return std::make_unique<int>(value); }

TEST(Coroutine, WhatIsAwaitedGivesAnyType) {
  Server server(no_listener());
  server.method("mixed", [](Call& call) -> Co<int> {
    co_await nothing();
    Co<std::unique_ptr<int>> later = owned(5);
    const bool passed = co_await call.after(1);
    const std::unique_ptr<int> five = co_await std::move(later);
    Co<int> never = []() -> Co<int> { co_return 9; }();
    co_return passed ? *five : 0;
  });
  EXPECT_EQ(call(server, request("mixed")), result("5"));
}

TEST(Coroutine, WhatIsOffloadedRunsElsewhereAndGoesOnHere) {
  Server server(no_listener());
  const std::thread::id mine = std::this_thread::get_id();
  server.method("offload", [mine](Call& call) -> Co<std::vector<int>> {
    std::vector<int> seen;
    seen.push_back(std::this_thread::get_id() == mine);
    seen.push_back(co_await call.offload([] { return std::this_thread::get_id(); }) == mine);
    seen.push_back(std::this_thread::get_id() == mine);
    auto work = [x = std::make_unique<int>(3)]() mutable { return std::move(x); };
    const std::unique_ptr<int> moved = co_await call.offload(work);
    seen.push_back(*moved == 3);
    co_return seen;
  });
  EXPECT_EQ(call(server, request("offload")), result("[1,0,1,1]"));
}

Co<void> throws_after(Call& call, std::uint32_t ms) {
  if (ms != 0) co_await call.after(ms);
  throw std::runtime_error("as asked");
}

TEST(Coroutine, AnExceptionIsRethrownWhereItIsAwaitedOrAnswers) {
  Server server(no_listener());
  int alive = 0;
  server.method("throw", [&alive](Call& call, Number in) -> Co<int> {
    const Counted counted(alive);
    co_await throws_after(call, static_cast<std::uint32_t>(in.n));
    co_return 1;
  });
  server.method("catch", [](Call& call) -> Co<std::vector<std::string>> {
    std::vector<std::string> texts;
    try {
      co_await throws_after(call, 1);
    } catch (const std::runtime_error& error) {
      texts.emplace_back(error.what());
    }
    try {
      co_await call.offload([]() -> int { throw std::logic_error("elsewhere"); });
    } catch (const std::logic_error& error) {
      texts.emplace_back(error.what());
    }
    co_return texts;
  });
  server.method("job", [](Call& call) -> Co<void> { co_await call.offload([] { throw 5; }); });
  EXPECT_EQ(call(server, request("throw", "[0]")), internal_error);
  EXPECT_EQ(call(server, request("throw", "[1]")), internal_error);
  EXPECT_EQ(call(server, request("catch")), result(R"(["as asked","elsewhere"])"));
  EXPECT_EQ(call(server, request("job")), internal_error);
  EXPECT_EQ(metric(server, "ringrpc_exceptions_total"), 3u);
  EXPECT_EQ(metric(server, "ringrpc_calls_unanswered_total"), 0u);
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, OfAUnitWithoutExceptionsAnExceptionAnswersToo) {
  int ended = 0;
  {
    Server server(no_listener());
    add_without_exceptions(server, [] { throw std::runtime_error("through it"); }, ended);
    EXPECT_EQ(call(server, request("co.throw")), internal_error);
    EXPECT_EQ(call(server, request("co.throw.child")), internal_error);
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(call(server, request("co.throw.later")), internal_error);
    EXPECT_EQ(ended, 2);
    EXPECT_EQ(call(server, request("co.throw.job")), internal_error);
    EXPECT_EQ(metric(server, "ringrpc_exceptions_total"), 4u);
    EXPECT_EQ(call(server, request("co.fine")), result("7"));
    EXPECT_EQ(ended, 3);
  }
  EXPECT_EQ(ended, 3);
}

TEST(Coroutine, ADeadlineEndsItsWaitAndTellsIt) {
  Options options = no_listener();
  options.call_timeout_ms = 1;
  Server server(options);
  StopReason seen = StopReason::none;
  server.method("sleep", [&seen](Call& call) -> Co<Result<void>> {
    if (co_await call.after(3'600'000)) co_return Result<void>();
    seen = call.stop_reason();
    co_return stop_error(seen);
  });
  EXPECT_EQ(call(server, request("sleep")), timed_out);
  EXPECT_EQ(seen, StopReason::timed_out);
}

TEST(Coroutine, OneThatWaitsAgainAfterItWasToldToStopEndsThere) {
  Options options = no_listener();
  options.call_timeout_ms = 1;
  Server server(options);
  int alive = 0;
  int rounds = 0;
  server.method("deaf", [&](Call& call) -> Co<void> {
    const Counted counted(alive);
    for (;;) {
      ++rounds;
      co_await call.after(3'600'000);
    }
  });
  EXPECT_EQ(call(server, request("deaf")), timed_out);
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, OneTooManyForThePoolIsRefused) {
  Options options = no_listener();
  options.blocking_threads = 1;
  options.blocking_queue_max = 1;
  // They outlive the job of the notification.
  std::mutex mutex;
  std::condition_variable changed;
  int entered = 0;
  bool go_on = false;
  int alive = 0;
  Server server(options);
  server.method("block", [&](Call& call) -> Co<int> {
    const Counted counted(alive);
    co_return co_await call.offload([&] {
      std::unique_lock lock(mutex);
      ++entered;
      changed.notify_all();
      changed.wait(lock, [&] { return go_on; });
      return 1;
    });
  });
  std::string first;
  std::thread caller([&] { first = call(server, request("block")); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return entered == 1; });
  }
  // A notification waits in the queue without its caller.
  EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"block"})"), "");
  EXPECT_EQ(call(server, request("block")), overloaded("blocking_queue"));
  EXPECT_EQ(limit_hits(server, "blocking_queue"), 1u);
  {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  caller.join();
  EXPECT_EQ(first, result("1"));
}

Co<int> large(Call& call) {
  char room[8u << 20];
  room[0] = 1;
  room[sizeof(room) - 1] = 2;
  co_await call.after(1);
  co_return room[0] + room[sizeof(room) - 1];
}

TEST(Coroutine, OneTooManyForTheFramesIsRefused) {
  Server server(no_listener());
  int alive = 0;
  server.method("large", [](Call& call) -> Co<int> { return large(call); });
  server.method("nested", [&alive](Call& call) -> Co<int> {
    const Counted counted(alive);
    std::vector<Co<int>> all;
    for (int i = 0; i < 10; ++i) all.push_back(large(call));
    int sum = 0;
    for (Co<int>& one : all) sum += co_await std::move(one);
    co_return sum;
  });
  EXPECT_EQ(call(server, request("large")), result("3"));
  const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"large"})";
  std::string batch = "[" + one;
  for (int i = 0; i < 8; ++i) batch += "," + one;
  const std::string reply = call(server, batch + "]");
  const std::string refused = overloaded("frame_memory");
  EXPECT_TRUE(reply.starts_with("[" + refused + "," + refused)) << reply;
  EXPECT_EQ(limit_hits(server, "frame_memory"), 2u);
  EXPECT_EQ(call(server, request("nested")), refused);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(limit_hits(server, "frame_memory"), 3u);
  EXPECT_EQ(call(server, request("large")), result("3"));
}

TEST(Coroutine, WhatWaitsIsDestroyedWithItsServer) {
  int alive = 0;
  bool go_on = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> entered{0};
  {
    Server server(no_listener());
    server.method("sleep", [&alive](Call& call) -> Co<void> {
      const Counted counted(alive);
      co_await [](Call& inner, int& living) -> Co<void> {
        const Counted deeper(living);
        co_await inner.after(3'600'000);
      }(call, alive);
    });
    server.method("job", [&](Call& call) -> Co<void> {
      const Counted counted(alive);
      co_await call.offload([&] {
        ++entered;
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return go_on; });
      });
      ADD_FAILURE() << "nothing goes on in a server that is gone";
    });
    EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"sleep"})"), "");
    EXPECT_EQ(call(server, R"({"jsonrpc":"2.0","method":"job"})"), "");
    while (entered == 0) std::this_thread::yield();
    EXPECT_EQ(alive, 3);
    EXPECT_TRUE(server.remove("sleep"));
    EXPECT_TRUE(server.remove("job"));
    server.method("other", [] {});
    EXPECT_EQ(alive, 3);
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, OneThatIsNeverAwaitedIsDestroyedWhereItStands) {
  Server server(no_listener());
  int alive = 0;
  server.method("drop", [&alive](Call& call) -> Co<int> {
    Co<std::int64_t> first = sum_to(call, 3, alive);
    Co<std::int64_t> second = sum_to(call, 4, alive);
    first = std::move(second);
    co_return alive;
  });
  EXPECT_EQ(call(server, request("drop")), result("0"));
  EXPECT_EQ(alive, 0);
}

TEST(Coroutine, OneThatIsMadeWhereNoCallRunsHasNoMemory) {
  Server server(no_listener());
  server.method("elsewhere", [](Call& call) -> Co<int> {
    Co<std::unique_ptr<int>> made =
        co_await call.offload([] { return Co<std::unique_ptr<int>>(owned(1)); });
    co_return *co_await std::move(made);
  });
  EXPECT_EQ(call(server, request("elsewhere")), overloaded("frame_memory"));
}

TEST(Coroutine, DescriptorsAreWaitedForWithoutALoop) {
  Server server(no_listener());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  std::atomic<int> waiting{0};
  server.method("read", [&](Call& call) -> Co<Result<int>> {
    char byte = 0;
    ++waiting;
    while (read(ends[0], &byte, 1) != 1) {
      if (!co_await call.readable(ends[0])) co_return stop_error(call.stop_reason());
    }
    co_return byte;
  });
  server.method("write", [&](Call& call) -> Co<bool> {
    while (waiting < 3) co_await call.after(1);
    const bool ready = co_await call.writable(ends[1]);
    co_return ready&& write(ends[1], "abc", 3) == 3;
  });
  server.method("late",
                [&](Call& call) -> Co<bool> { co_return co_await call.readable(ends[0], 0); },
                {.timeout_ms = 1});
  const std::string one = request("read");
  const std::string reply =
      call(server, "[" + one + "," + one + "," + one + "," + request("write") + "]");
  EXPECT_EQ(reply, "[" + result("true") + "," + result("97") + "," + result("98") + "," +
                       result("99") + "]");
  EXPECT_EQ(call(server, request("late")), timed_out);
  // Whoever writes is another thread.
  std::thread writer([&] {
    while (waiting < 4) std::this_thread::yield();
    EXPECT_EQ(write(ends[1], "d", 1), 1);
  });
  EXPECT_EQ(call(server, one), result("100"));
  writer.join();
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(call(server, request("late")), result("true"));
}

TEST(Coroutine, ManyThreadsCallAtTheSameTime) {
  Server server(no_listener());
  server.method("work", [](Call& call, Number in) -> Co<std::int64_t> {
    std::int64_t n = in.n;
    n = co_await call.offload([n] { return n + 1; });
    co_await call.after(0);
    n = co_await call.offload([n] { return n + 1; });
    co_return n;
  });
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 100; ++i) {
        const int n = c * 1000 + i;
        const std::string one = request("work", "[" + std::to_string(n) + "]");
        const std::string expected = result(std::to_string(n + 2));
        if (call(server, "[" + one + "," + one + "]") != "[" + expected + "," + expected + "]") {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace ringrpc
