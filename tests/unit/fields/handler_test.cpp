// Goal: every form of a handler gets its params and answers its result, and what cannot be decoded
// for want of memory is not blamed on the params. Method: a whole server in memory.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace ringrpc {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

class Handlers : public ::testing::Test {
 protected:
  // Returns: the reply without its frame: `"result":5`.
  template <typename F>
  std::string call(F handler, const std::string& params) {
    server_.method("m", handler);
    return call(params);
  }
  std::string call(const std::string& params) {
    std::string reply;
    server_.call(R"({"jsonrpc":"2.0","id":1,"method":"m")" +
                     (params.empty() ? "" : R"(,"params":)" + params) + "}",
                 reply);
    constexpr std::string_view begin = R"({"jsonrpc":"2.0",)", end = R"(,"id":1})";
    EXPECT_TRUE(reply.starts_with(begin) && reply.ends_with(end)) << reply;
    return reply.substr(begin.size(), reply.size() - begin.size() - end.size());
  }
  [[nodiscard]] bool metrics_say(const std::string& line) const {
    return ("\n" + server_.metrics()).find("\n" + line + "\n") != std::string::npos;
  }

  Server server_{{.listen = "", .message_size_max = 1024, .partial_pool_size = 100'000}};
};

TEST_F(Handlers, TakeParamsOfEveryShapeThatParamsHave) {
  EXPECT_EQ(
      call([](std::tuple<int, int> in) { return std::get<0>(in) - std::get<1>(in); }, "[7,3]"),
      R"("result":4)");
  EXPECT_EQ(call(R"({"a":7})"), R"("error":{"code":-32602,"message":"Invalid params","data":)"
                                R"({"field":"","reason":"must be an array"}})");
  EXPECT_EQ(call([](const std::vector<int>& in) { return in.size(); }, "[7,3]"), R"("result":2)");
  EXPECT_EQ(call(""), R"("result":0)");
  EXPECT_EQ(call([](const std::array<int, 2>& in) { return in; }, "[7,3]"), R"("result":[7,3])");
  EXPECT_EQ(call([](const std::map<std::string, int>& in) { return in; }, R"({"x":1})"),
            R"("result":{"x":1})");
  EXPECT_EQ(call([](const std::optional<Sum>& in) { return in.has_value(); }, ""),
            R"("result":false)");
  EXPECT_EQ(call("[1,2]"), R"("result":true)");
  EXPECT_EQ(call([](const std::variant<Sum, std::vector<int>>& in) { return in.index(); },
                 R"({"a":1,"b":2})"),
            R"("result":0)");
  EXPECT_EQ(call("[1]"), R"("result":1)");
  EXPECT_EQ(call([](const Json& in) { return Json(std::string(in.text())); }, "[ 1 ]"),
            R"("result":[ 1 ])");
}

int subtract(const Sum& in) { return static_cast<int>(in.a - in.b); }
int negate(Call&, const Sum& in) noexcept { return static_cast<int>(in.b - in.a); }
std::size_t lengths(std::vector<std::string>&& in) {
  const std::vector<std::string> taken = std::move(in);
  return taken.size();
}

TEST_F(Handlers, MayBeFunctionsAndTakeTheirParamsByValueOrToMoveFrom) {
  EXPECT_EQ(call(&subtract, "[7,3]"), R"("result":4)");
  EXPECT_EQ(call(&negate, "[7,3]"), R"("result":-4)");
  EXPECT_EQ(call(&lengths, R"(["a","b"])"), R"("result":2)");
  EXPECT_EQ(call([](Sum& in) { return ++in.a; }, "[7,3]"), R"("result":8)");
  EXPECT_EQ(call(
                [count = 0](const Call& given, Sum in) mutable {
                  return in.a + ++count + static_cast<int>(given.method().size());
                },
                "[7,3]"),
            R"("result":9)");
}

TEST_F(Handlers, AnswerEveryKindOfResult) {
  EXPECT_EQ(call([] { return "hello"; }, ""), R"("result":"hello")");
  EXPECT_EQ(call([] { return nullptr; }, ""), R"("result":null)");
  EXPECT_EQ(call([] {}, ""), R"("result":null)");
  EXPECT_EQ(call([] { return std::pair<int, std::string>(1, "a"); }, ""), R"("result":[1,"a"])");
  EXPECT_EQ(call([] { return std::variant<int, std::string>("a"); }, ""), R"("result":"a")");
  EXPECT_EQ(call([] { return std::optional<int>(); }, ""), R"("result":null)");
  EXPECT_EQ(call([]() -> Result<std::tuple<int>> { return std::tuple(1); }, ""), R"("result":[1])");
  EXPECT_EQ(call([]() -> Result<void> { return Error{.code = 7, .message = "no"}; }, ""),
            R"("error":{"code":7,"message":"no"})");
}

struct Kilobyte {
  std::optional<std::array<char, 1023>> bytes;
};
static_assert(sizeof(Kilobyte) == 1024);

TEST_F(Handlers, ParamsAtTheLimitOfMemoryPassAndAboveItAreRefused) {
  server_.method("m", [](const std::vector<Kilobyte>& in) { return in.size(); });
  const auto params = [](std::size_t count) {
    std::string text = "[";
    for (std::size_t i = 0; i < count; ++i) text += i == 0 ? "{}" : ",{}";
    return text + "]";
  };
  const std::size_t most = limits::params_memory_factor;  // As a message may have a kilobyte.
  EXPECT_EQ(call(params(most - 1)), R"("result":15)");
  EXPECT_EQ(call(params(most)), R"("result":16)");
  EXPECT_TRUE(metrics_say(R"(ringrpc_limit_hits_total{limit="params_memory"} 0)"));
  EXPECT_EQ(call(params(most + 1)), R"("error":{"code":-31008,"message":"Request too large",)"
                                    R"("data":{"reason":"params_memory"}})");
  EXPECT_TRUE(metrics_say(R"(ringrpc_limit_hits_total{limit="params_memory"} 1)"));
  std::string reply;
  server_.call(R"({"jsonrpc":"2.0","method":"m","params":)" + params(most + 1) + "}", reply);
  EXPECT_EQ(reply, "");
  EXPECT_TRUE(metrics_say(R"(ringrpc_limit_hits_total{limit="params_memory"} 2)"));
  EXPECT_TRUE(metrics_say(R"(ringrpc_errors_total{endpoint="/rpc",code="-31008"} 1)"));
}

TEST_F(Handlers, SpansShareAsMuchMemoryAsAMessageMayHave) {
  server_.method("m", [](const std::span<const double>& in) { return in.size(); });
  const auto params = [](int count) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) text += i == 0 ? "1" : ",1";
    return text + "]";
  };
  EXPECT_EQ(call(params(127)), R"("result":127)");
  EXPECT_EQ(call(params(128)), R"("result":128)");
  EXPECT_NE(call(params(129)).find("-31008"), std::string::npos);
}

template <typename T>
struct NoMemory : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = NoMemory<U>;
  };
  T* allocate(std::size_t) { throw std::bad_alloc(); }
};

TEST_F(Handlers, AMachineWithoutMemoryIsNotTheParamsFault) {
  EXPECT_EQ(call([](const std::vector<int, NoMemory<int>>& in) { return in.size(); }, "[1]"),
            R"("error":{"code":-32603,"message":"Internal error"})");
  EXPECT_EQ(call("[]"), R"("result":0)");
}

TEST(HandlerTypes, AreKnownOfEachForm) {
  using fields::type_of;
  const auto params = []<typename F>(F) { return handlers::params_type<F>(); };
  const auto result = []<typename F>(F) { return handlers::result_type<F>(); };
  const auto typed = [](Call&, const Sum&) -> Result<std::vector<int>> {
    return std::vector<int>();
  };
  EXPECT_EQ(params(typed), &type_of<Sum>());
  EXPECT_EQ(result(typed), &type_of<std::vector<int>>());
  EXPECT_EQ(params(&subtract), &type_of<Sum>());
  const auto without = [] { return "hello"; };
  EXPECT_EQ(params(without), nullptr);
  EXPECT_EQ(result(without), &type_of<std::string_view>());
  const auto nothing = [](Call&) {};
  EXPECT_EQ(params(nothing), nullptr);
  EXPECT_EQ(result(nothing), &type_of<std::nullptr_t>());
  const auto raw = [](Call&, Reply&) {};
  EXPECT_EQ(params(raw), nullptr);
  EXPECT_EQ(result(raw), nullptr);
}

}  // namespace
}  // namespace ringrpc
