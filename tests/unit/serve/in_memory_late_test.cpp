// Goal: what a notification leaves for later is done in memory, too: inside the calls that come
// after it, while callers never wait for it.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "tests/unit/serve/in_memory_calls.h"

namespace ringrpc {
namespace {

using testing::call;
using testing::no_listener;

std::string call_http(Server& server, const std::string& body) {
  std::string response;
  server.call_http(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body,
      response);
  return response;
}

struct Wait {
  std::uint32_t ms;
};

// Calls until something has happened, for a minute at most.
template <typename Call, typename Done>
void call_until(Call call, Done done) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), patience);
    call();
  }
}

constexpr const char* notification = R"({"jsonrpc":"2.0","method":"job","params":[1]})";
constexpr const char* request = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr const char* pong = R"({"jsonrpc":"2.0","result":7,"id":1})";

TEST(InMemoryLate, ATimerOfANotificationRunsInsideALaterCallThatNeedNotWait) {
  Server server(no_listener());
  int done = 0;
  server.method("job", [&done](const Wait& in, Deferred reply) {
    std::move(reply).after(in.ms, [&done](Deferred woken) {
      EXPECT_FALSE(woken.stop_requested());
      ++done;
      woken.answer();
    });
  });
  server.method("ping", [] { return 7; });
  EXPECT_EQ(call(server, notification), "");
  call_until([&] { EXPECT_EQ(call(server, request), pong); }, [&] { return done == 1; });
  EXPECT_EQ(call(server, notification), "");
  call_until([&] { EXPECT_TRUE(call_http(server, request).ends_with(pong)); },
             [&] { return done == 2; });
  EXPECT_EQ(call(server, notification), "");
  call_until([&] { EXPECT_NE(call(server, "{"), ""); }, [&] { return done == 3; });
}

TEST(InMemoryLate, ANotificationThatNobodyEndsDoesNotHoldUpItsCaller) {
  Server server(no_listener());
  Deferred held;
  server.method("job", [&held](const Wait&, Deferred reply) { held = std::move(reply); });
  server.method("ping", [] { return 7; });
  EXPECT_EQ(call(server, notification), "");
  EXPECT_EQ(call(server, request), pong);
  EXPECT_TRUE(held);
  held.answer();
  EXPECT_EQ(call(server, request), pong);
}

TEST(InMemoryLate, ACoroutineOfANotificationGoesOn) {
  Server server(no_listener());
  int done = 0;
  struct Job {
    static Co<int> run(Call& call, Wait in, int& done) {
      co_await call.after(in.ms);
      ++done;
      co_return 1;
    }
  };
  server.method("job", [&done](Call& call, Wait in) { return Job::run(call, in, done); });
  server.method("ping", [] { return 7; });
  EXPECT_EQ(call(server, notification), "");
  call_until([&] { EXPECT_EQ(call(server, request), pong); }, [&] { return done == 1; });
}

TEST(InMemoryLate, MoreNotificationsRunThanMayBeInFlightAtOnce) {
  Options options = no_listener();
  options.in_flight_per_connection_max = 4;
  Server server(options);
  std::atomic<int> begun{0};
  server.blocking("job", [&begun](const Wait&) { ++begun; });
  // A notification is dropped when four others have not ended.
  call_until([&] { EXPECT_EQ(call(server, notification), ""); }, [&] { return begun >= 100; });
}

TEST(InMemoryLate, ALateReplyThatFindsNoMemorySaysWhich) {
  Options options = no_listener();
  options.late_memory_size_max = limits::late_memory_size_max_min;
  Server server(options);
  std::size_t size = limits::late_memory_size_max_min;
  server.method("text", [&size](Deferred reply) { reply.answer(std::string(size, 'x')); });
  constexpr const char* text = R"({"jsonrpc":"2.0","id":1,"method":"text"})";
  EXPECT_EQ(call(server, text),
            R"({"jsonrpc":"2.0","error":{"code":-31004,"message":"Reply too large",)"
            R"("data":{"reason":"late_memory"}},"id":1})");
  EXPECT_EQ(testing::limit_hits(server, "late_memory"), 1u);
  EXPECT_EQ(testing::limit_hits(server, "reply_size"), 0u);
  // A quarter is there, and no more than that is held afterwards.
  size /= 4;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(server, text).size(), size + 36);
  size = limits::reply_size_max + 1;
  EXPECT_NE(call(server, text).find(R"("code":-31004)"), std::string::npos);
}

}  // namespace
}  // namespace ringrpc
