// Goal: a message is answered by the protocol page, at every limit and on both sides of it, and no
// handler can break its neighbours' answers.

#include "engine/rpc/answer.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "engine/json/check.h"
#include "engine/serve/reply_room.h"
#include "tests/unit/rpc/guard_no_exceptions.h"

namespace ringrpc::rpc {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
struct Blob {
  std::int64_t bytes;
};

constexpr std::uint32_t reply_size_max = 5000;
constexpr std::uint32_t batch_length_max = 10;

// Looks a name up as in a message: with readable bytes behind it, which must not matter.
const Method* look_up(const Table* table, std::string_view name) {
  std::string text(name);
  text += "behind it";
  return table->find(std::string_view(text).substr(0, name.size()));
}

struct Bench {
  Bench() {
    EXPECT_TRUE(answerer
                    .reserve({.message_size_max = 100'000,
                              .batch_length_max = batch_length_max,
                              .counters = &counters})
                    .ok());
    add("sum", [](const Sum& in) { return in.a + in.b; });
    add("none", [] {});
    add("blob", [this](const Blob& in) {
      ++blobs;
      return std::string(static_cast<std::size_t>(in.bytes), 'x');
    });
    add("fail", []() -> Result<int> { return Error{1001, "failed", R"({"why":[1]})"}; });
    add("echo", [](Call& call, Reply& reply) { reply.result().raw(call.params().raw()); });
  }

  template <typename F>
  void add(std::string name, F handler) {
    auto method = std::make_unique<Method>();
    method->name = std::move(name);
    method->invoke = &handlers::invoke<F>;
    method->state = new F(std::move(handler));
    method->destroy = [](void* state) { delete static_cast<F*>(state); };
    EXPECT_TRUE(registry.add(std::move(method)).ok());
  }

  // Answers as a transport does. Returns: the reply, or "(nothing)".
  std::string operator()(std::string text) {
    const std::size_t size = text.size();
    text.append(limits::padding, '"');
    serve::ReplyRoom room(outbox, reply_size_max, 0);
    Message message =
        answerer.read(std::string_view(text).substr(0, size), {.options = &rules, .stats = &stats},
                      room.writer(), room.budget());
    for (std::uint32_t i = 0; i < message.count; ++i) {
      const Envelope& call = answerer.envelope(i);
      answerer.answer(message, call, registry.current()->find(call.method), Origin{},
                      room.writer());
    }
    outcome = answerer.end(message, room.writer());
    EXPECT_FALSE(room.writer().overflowed());
    std::string reply(room.writer().view());
    room.abandon();
    return outcome.has_body ? reply : "(nothing)";
  }

  base::Counters counters;
  CallStats stats;
  EndpointOptions rules;
  Registry registry;
  Answerer answerer;
  serve::Outbox outbox{{.slab_size = 4096,
                        .slab_count = 3,
                        .segment_count = 4,
                        .reply_size_max = reply_size_max,
                        .mapped_max = 64u << 20}};
  Outcome outcome;
  int blobs = 0;
};

std::string call(const std::string& method, const std::string& params, const std::string& id) {
  std::string text = R"({"jsonrpc":"2.0","method":")" + method + "\"";
  if (!params.empty()) text += R"(,"params":)" + params;
  if (!id.empty()) text += R"(,"id":)" + id;
  return text + "}";
}

std::string result(const std::string& value, const std::string& id) {
  return R"({"jsonrpc":"2.0","result":)" + value + R"(,"id":)" + id + "}";
}

std::string error(const std::string& object, const std::string& id) {
  return R"({"jsonrpc":"2.0","error":{)" + object + R"(},"id":)" + id + "}";
}

const std::string too_large =
    R"("code":-31004,"message":"Reply too large","data":{"reason":"reply_size_max"})";
const std::string internal = R"("code":-32603,"message":"Internal error")";
const std::string not_found = R"("code":-32601,"message":"Method not found")";
const std::string invalid = R"("code":-32600,"message":"Invalid Request")";

TEST(Answer, ResultsErrorsAndNothingComeAsTheyShould) {
  Bench bench;
  EXPECT_EQ(bench(call("sum", "[2,3]", "1.0")), result("5", "1.0"));
  EXPECT_EQ(bench(call("none", "", "\"\\u0061\"")), result("null", "\"\\u0061\""));
  EXPECT_EQ(bench(call("fail", "", "1")),
            error(R"("code":1001,"message":"failed","data":{"why":[1]})", "1"));
  EXPECT_EQ(bench(call("nobody", "", "1")), error(not_found, "1"));
  EXPECT_EQ(bench(call("sum", "[2,3]", "")), "(nothing)");
  EXPECT_EQ(bench(call("nobody", "", "")), "(nothing)");
  EXPECT_EQ(bench(call("sum", "7", "")), "(nothing)");
  EXPECT_EQ(bench("[]"), error(invalid, "null"));
  EXPECT_EQ(bench("[" + call("sum", "[2,3]", "") + "]"), "(nothing)");
  EXPECT_NE(bench(call("sum", "null", "4")).find("-32602"), std::string::npos);
  EXPECT_NE(bench(call("sum", "[1]", "4")).find(R"("field":"[1]")"), std::string::npos);
  EXPECT_NE(bench(call("nobody", "7", "4")).find("-32601"), std::string::npos)
      << "the method is looked at before its params";
}

TEST(Answer, ABatchIsTakenUpToItsLimitAndRunsNotAtAllAboveIt) {
  for (std::uint32_t length = batch_length_max - 1; length <= batch_length_max + 1; ++length) {
    Bench bench;
    std::string text;
    std::string expected;
    for (std::uint32_t i = 0; i < length; ++i) {
      text += (i == 0 ? "[" : ",") + call("blob", "[1]", std::to_string(i));
      expected += (i == 0 ? "[" : ",") + result("\"x\"", std::to_string(i));
    }
    if (length > batch_length_max) {
      expected =
          error(R"("code":-31005,"message":"Batch too large","data":{"reason":"batch_length_max"})",
                "null");
    } else {
      expected += "]";
    }
    EXPECT_EQ(bench(text + "]"), expected);
    EXPECT_EQ(bench.blobs, length > batch_length_max ? 0 : static_cast<int>(length));
    EXPECT_EQ(bench.counters.get(base::Counter::limit_batch_length),
              length > batch_length_max ? 1u : 0u);
  }
}

TEST(Answer, AReplyIsTakenUpToItsLimit) {
  Bench bench;
  // Raw bytes ask for exactly the room that they need.
  const std::size_t frame = result("", "1").size();
  for (std::size_t size = reply_size_max - 1; size <= reply_size_max + 1; ++size) {
    const std::string value = "[" + std::string(size - frame - 2, ' ') + "]";
    EXPECT_EQ(bench(call("echo", value, "1")),
              size > reply_size_max ? error(too_large, "1") : result(value, "1"))
        << size;
  }
  EXPECT_EQ(bench.counters.get(base::Counter::limit_reply_size), 1u);
  EXPECT_EQ(bench.outbox.bytes_mapped(), 0u);
}

TEST(Answer, InABatchTheCallThatCrossesTheLimitHasRunAndLaterOnesDoNot) {
  Bench bench;
  const std::string text = "[" + call("blob", "[2000]", "1") + "," + call("blob", "[4000]", "2") +
                           "," + call("blob", "[1]", "3") + "," + call("blob", "[1]", "") + ",1," +
                           call("nobody", "", "4") + "]";
  EXPECT_EQ(bench(text), "[" + result("\"" + std::string(2000, 'x') + "\"", "1") + "," +
                             error(too_large, "2") + "," + error(too_large, "3") + "," +
                             error(invalid, "null") + "," + error(too_large, "4") + "]");
  EXPECT_EQ(bench.blobs, 2);
  EXPECT_TRUE(bench.outcome.has_body);
  EXPECT_EQ(bench(call("blob", "[1]", "5")), result("\"x\"", "5")) << "the next message is whole";
}

TEST(Answer, AFullBatchOfErrorsStillFitsBehindASpentBudget) {
  Bench bench;
  const std::string id = "\"" + std::string(limits::id_size_max - 2, 'i') + "\"";
  std::string text = "[" + call("blob", "[4990]", id);
  std::string expected = "[" + error(too_large, id);
  for (std::uint32_t i = 1; i < batch_length_max; ++i) {
    text += "," + call("blob", "[1]", id);
    expected += "," + error(too_large, id);
  }
  EXPECT_EQ(bench(text + "]"), expected + "]");
}

TEST(Answer, IdsAreTakenUpToTheirLimit) {
  Bench bench;
  for (std::size_t size = limits::id_size_max - 1; size <= limits::id_size_max + 1; ++size) {
    const std::string id = "\"" + std::string(size - 2, 'i') + "\"";
    const std::string digits(size, '7');
    const bool fits = size <= limits::id_size_max;
    EXPECT_EQ(bench(call("sum", "[1,2]", id)), fits ? result("3", id) : error(invalid, "null"));
    EXPECT_EQ(bench(call("sum", "[1,2]", digits)),
              fits ? result("3", digits) : error(invalid, "null"));
  }
  EXPECT_EQ(bench.counters.get(base::Counter::limit_id_size), 2u);
}

TEST(Answer, MethodNamesAreTakenUpToTheirLimit) {
  Bench bench;
  const std::string longest(limits::method_size_max, 'm');
  bench.add(longest, [] { return 1; });
  EXPECT_EQ(bench(call(longest, "", "1")), result("1", "1"));
  EXPECT_EQ(bench(call(longest + "m", "", "1")), error(not_found, "1"));
  EXPECT_EQ(bench.counters.get(base::Counter::limit_method_size), 1u);
}

TEST(Answer, WhatAHandlerThrowsIsAnInternalErrorForItsCallAlone) {
  Bench bench;
  bench.add("std", []() -> int { throw std::runtime_error("secret text"); });
  bench.add("int", []() -> int { throw 7; });
  bench.add("half", [](Call&, Reply& reply) {
    reply.result().begin_array();
    reply.result().integer(1);
    throw std::runtime_error("secret text");
  });
  static int ended = 0;
  bench.add("plain", [] {
    return call_without_exceptions([] { throw std::runtime_error("secret text"); }, ended);
  });
  testing::internal::CaptureStderr();
  for (const char* method : {"std", "int", "half", "plain"}) {
    EXPECT_EQ(bench("[" + call("sum", "[1,1]", "1") + "," + call(method, "", "2") + "," +
                    call(method, "", "") + "," + call("sum", "[2,2]", "3") + "]"),
              "[" + result("2", "1") + "," + error(internal, "2") + "," + result("4", "3") + "]")
        << method;
  }
  EXPECT_EQ(bench.counters.get(base::Counter::exceptions), 8u);
  // One line a second at most, however many there are.
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(Answer, AResultThatIsNoJsonIsAnInternalError) {
  Bench bench;
  bench.add("nan", [] { return std::numeric_limits<double>::quiet_NaN(); });
  bench.add("utf8", [] { return std::string("\xff"); });
  bench.add("open", [](Call&, Reply& reply) { reply.result().begin_array(); });
  bench.add("two", [](Call&, Reply& reply) {
    reply.result().integer(1);
    reply.result().integer(2);
  });
  bench.add("closes", [](Call&, Reply& reply) { reply.result().end_object(); });
  for (const char* method : {"nan", "utf8", "open", "two", "closes"}) {
    EXPECT_EQ(bench(call(method, "", "1")), error(internal, "1")) << method;
  }
}

TEST(Answer, TheLastErrorOfAHandlerWinsOverItsResult) {
  Bench bench;
  bench.add("both", [](Call&, Reply& reply) {
    reply.result().integer(1);
    reply.error(5, "first");
    reply.error(6, "second \"quoted\"", "not json");
  });
  EXPECT_EQ(bench(call("both", "", "1")), error(R"("code":6,"message":"second \"quoted\"")", "1"));
}

TEST(Answer, WhatIsWrittenBehindAnErrorDoesNotCount) {
  Bench answer;
  answer.add("error.then.result", [](Call&, Reply& reply) {
    reply.error(7, "first");
    reply.result().integer(1);
  });
  answer.add("error.then.flood", [](Call&, Reply& reply) {
    reply.error(7, "first");
    const std::string flood(2 * reply_size_max, 'x');
    reply.result().string(flood);
  });
  for (const std::string method : {"error.then.result", "error.then.flood"}) {
    EXPECT_EQ(answer(call(method, "", "1")), error(R"("code":7,"message":"first")", "1")) << method;
  }
}

TEST(Answer, ABatchWhoseCommaNoLongerFitsGoesOnWithErrors) {
  // One call fills the reply to every byte around its limit; the next one is told, never dropped.
  Bench answer;
  for (std::uint32_t bytes = reply_size_max - 60; bytes < reply_size_max - 20; ++bytes) {
    const std::string reply = answer("[" + call("blob", "[" + std::to_string(bytes) + "]", "1") +
                                     "," + call("none", "", "2") + "]");
    EXPECT_TRUE(reply.starts_with(R"([{"jsonrpc":"2.0",)")) << bytes << reply.substr(0, 40);
    EXPECT_TRUE(reply.ends_with(R"("id":2}])")) << bytes << reply.substr(reply.size() - 40);
    EXPECT_EQ(json::is_json(reply), true) << bytes;
  }
}

TEST(Answer, AnErrorThatCrossesTheLimitOfABatchIsWholeAndTheLastBeforeTheRest) {
  for (std::uint32_t bytes = reply_size_max - 400; bytes < reply_size_max - 60; ++bytes) {
    Bench bench;
    const std::string begin =
        "[" + result("\"" + std::string(bytes, 'x') + "\"", "1") + "," + error(not_found, "2");
    const bool crosses = begin.size() + 1 > reply_size_max;
    const std::string reply =
        bench("[" + call("blob", "[" + std::to_string(bytes) + "]", "1") + "," +
              call("unknown", "", "2") + "," + call("blob", "[0]", "3") + "]");
    const std::string last = error(too_large, "3");
    const bool fits = begin.size() + 1 + result("\"\"", "3").size() + 1 <= reply_size_max;
    ASSERT_EQ(reply, begin + "," + (fits ? result("\"\"", "3") : last) + "]") << bytes;
    ASSERT_EQ(bench.blobs, crosses ? 1 : 2) << bytes;
  }
}

TEST(Answer, HandlersThatStartAreCountedAndOthersAreNot) {
  Bench bench;
  const std::uint32_t slot = look_up(bench.registry.current(), "sum")->slot;
  bench(call("sum", "[1,2]", "1"));
  bench(call("sum", "[1,2]", ""));
  bench(call("sum", "7", "1"));
  bench("[" + call("sum", "[1,2]", "1") + ",");
  EXPECT_EQ(bench.stats.started(slot), 2u);
  bench(call("nobody", "", "1"));
  bench(call("nobody", "", ""));
  EXPECT_EQ(bench.stats.unknown(), 2u);
}

}  // namespace
}  // namespace ringrpc::rpc
