// Goal: a coroutine that sends notifications answers its call exactly once, whoever takes them and
// however little it cares. Method: a server in memory, where nobody takes any.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc {
namespace {

Options no_listener(std::uint32_t timeout_ms = 0) {
  Options options;
  options.listen = "";
  options.call_timeout_ms = timeout_ms;
  return options;
}

std::string call(Server& server, std::string_view method, std::string_view params = "{}") {
  std::string reply;
  server.call(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":)" +
                  std::string(params) + "}",
              reply);
  return reply;
}

std::string result(std::string_view value) {
  return R"({"jsonrpc":"2.0","result":)" + std::string(value) + R"(,"id":1})";
}

const std::string timed_out = R"({"jsonrpc":"2.0","error":{"code":-31003,"message":"Timed out",)"
                              R"("data":{"reason":"deadline"}},"id":1})";

struct Number {
  std::int64_t n;
};

TEST(CoroutineStream, EveryShapeAnswers) {
  Server server(no_listener());
  server.method("all", [](Call& call, Number in, CoStream stream) -> Co<std::string> {
    co_return std::string(call.method()) + std::to_string(in.n) + (stream.open() ? "+" : "-");
  });
  server.method("call", [](Call& call, CoStream) -> Co<std::string_view> { co_return call.id(); });
  server.method("params", [](Number in, CoStream) -> Co<std::int64_t> { co_return in.n; });
  server.method("nothing", [](CoStream) -> Co<void> { co_return; });
  server.method("maybe", [](Number in, CoStream) -> Co<Result<std::int64_t>> {
    if (in.n < 0) co_return Error{.code = 5, .message = "negative"};
    co_return in.n;
  });
  EXPECT_EQ(call(server, "all", "[7]"), result(R"("all7-")"));
  EXPECT_EQ(call(server, "call"), result(R"("1")"));
  EXPECT_EQ(call(server, "params", "[3]"), result("3"));
  EXPECT_EQ(call(server, "nothing"), result("null"));
  EXPECT_EQ(call(server, "maybe", "[4]"), result("4"));
  EXPECT_NE(call(server, "maybe", "[-4]").find(R"("code":5)"), std::string::npos);
  EXPECT_NE(call(server, "params", R"(["x"])").find("-32602"), std::string::npos);
}

Co<std::vector<Sent>> try_everything(CoStream stream) {
  std::vector<Sent> all;
  const Number number{.n = 1};
  all.push_back(stream.notify("one", number));
  all.push_back(stream.notify_json("two", "[1]"));
  all.push_back(co_await stream.send("three", number));
  all.push_back(co_await stream.send("four", Number{.n = 2}));
  all.push_back(co_await stream.send_json("five", "[2]"));
  all.push_back(co_await stream.room() ? Sent::unwanted : Sent::stopped);
  co_return all;
}

TEST(CoroutineStream, WhereNobodyTakesNotificationsThereIsAlwaysRoom) {
  Server server(no_listener());
  server.method("try", [](CoStream stream) -> Co<std::size_t> {
    std::size_t unwanted = 0;
    for (const Sent sent : co_await try_everything(stream)) unwanted += sent == Sent::unwanted;
    co_return unwanted;
  });
  EXPECT_EQ(call(server, "try"), result("6"));
  std::string response;
  const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"try"})";
  server.call_http(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body,
      response);
  EXPECT_TRUE(response.ends_with(result("6"))) << response;
}

// Each way of not listening to what becomes of what is sent.
TEST(CoroutineStream, OneThatSendsWithoutAnEndEndsAtItsDeadline) {
  Server server(no_listener(1));
  int alive = 0;
  struct Counted {
    explicit Counted(int& counted) : count(counted) { ++count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --count; }
    int& count;
  };
  server.method("send", [&alive](CoStream stream) -> Co<void> {
    const Counted counted(alive);
    for (;;) co_await stream.send("more", Number{1});
  });
  server.method("room", [&alive](CoStream stream) -> Co<void> {
    const Counted counted(alive);
    for (;;) {
      stream.notify("more", Number{1});
      co_await stream.room();
    }
  });
  server.method("drop", [&alive](CoStream stream) -> Co<void> {
    const Counted counted(alive);
    stream.when_full(WhenFull::drop);
    for (;;) co_await stream.send_json("more", "{}");
  });
  for (const char* const method : {"send", "room", "drop"}) {
    EXPECT_EQ(call(server, method), timed_out) << method;
    // What it sent last was told to be out of time; then it was ended.
    EXPECT_EQ(alive, 0) << method;
  }
}

TEST(CoroutineStream, OneIsToldOnceThatItIsToStop) {
  Server server(no_listener(1));
  std::vector<Sent> heard;
  server.method("listen", [&heard](Call& call, CoStream stream) -> Co<Result<void>> {
    while (co_await stream.send("more", Number{1}) != Sent::stopped) {
    }
    heard.push_back(stream.notify("less", Number{2}));
    co_return stop_error(call.stop_reason());
  });
  server.method("room", [&heard](Call& call, CoStream stream) -> Co<Result<void>> {
    while (co_await stream.room()) {
    }
    heard.push_back(stream.notify("less", Number{2}));
    co_return stop_error(call.stop_reason());
  });
  EXPECT_EQ(call(server, "listen"), timed_out);
  EXPECT_EQ(call(server, "room"), timed_out);
  EXPECT_EQ(heard, (std::vector<Sent>{Sent::unwanted, Sent::unwanted}));
}

// What is awaited lives in the coroutine, and is not destroyed twice.
TEST(CoroutineStream, ParamsMayBeATextThatIsMadeInPlace) {
  Server server(no_listener());
  server.method("text", [](Number in, CoStream stream) -> Co<std::int64_t> {
    for (std::int64_t i = 0; i < in.n; ++i) {
      const std::string_view name = "a method with a name that is too long to be kept in place";
      co_await stream.send_json(std::string(name) + std::to_string(i),
                                "[\"" + std::string(200, 'x') + "\"]");
    }
    co_return in.n;
  });
  EXPECT_EQ(call(server, "text", "[200]"), result("200"));
}

}  // namespace
}  // namespace ringrpc
