// Goal:   requests of an open loop are due when the rate says, bodies are mixed by their weights,
//         and each message knows the replies that it should get.
// Method: cases one by one; schedules against the integral of their rate.

#include "tools/ringload/tape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/common/json_text.h"
#include "tools/ringload/schedule.h"

namespace ringload {
namespace {

TEST(ScheduleTest, AConstantRateHasEqualSteps) {
  const RatePlan plan{.from = 1000, .to = 1000, .ramp_s = 0, .warmup_s = 0.5};
  for (std::uint64_t i = 0; i != 3000; ++i) {
    EXPECT_NEAR(static_cast<double>(due_ns(plan, i)), static_cast<double>(i) * 1e6, 1) << i;
  }
}

TEST(ScheduleTest, ARampFollowsTheIntegralOfItsRate) {
  for (const RatePlan& plan : {RatePlan{.from = 100, .to = 900, .ramp_s = 4, .warmup_s = 1},
                               RatePlan{.from = 900, .to = 100, .ramp_s = 4, .warmup_s = 0},
                               RatePlan{.from = 0, .to = 500, .ramp_s = 2, .warmup_s = 1}}) {
    const auto made_until = [&plan](double s) {
      double made = plan.from * std::min(s, plan.warmup_s);
      const double t = std::min(std::max(s - plan.warmup_s, 0.0), plan.ramp_s);
      made += plan.from * t + (plan.to - plan.from) / plan.ramp_s * t * t / 2;
      return made + plan.to * std::max(0.0, s - plan.warmup_s - plan.ramp_s);
    };
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i != 4000; ++i) {
      const std::uint64_t due = due_ns(plan, i);
      ASSERT_GE(due, before);
      ASSERT_NEAR(made_until(static_cast<double>(due) / 1e9), static_cast<double>(i), 1e-3) << i;
      before = due;
    }
  }
}

TEST(ScheduleTest, ARampToNothingEnds) {
  const RatePlan plan{.from = 100, .to = 0, .ramp_s = 2, .warmup_s = 0};
  EXPECT_LT(due_ns(plan, 99), 2'000'000'000u);
  EXPECT_EQ(due_ns(plan, 101), std::numeric_limits<std::uint64_t>::max());
}

std::vector<Body> read(std::string_view lines) {
  std::vector<Body> bodies;
  std::string error;
  EXPECT_TRUE(read_bodies(lines, bodies, error)) << error;
  return bodies;
}

TEST(BodiesTest, ALineHasAWeightAndAResultWhenItSaysSo) {
  const std::vector<Body> bodies =
      read("# about\n\n{\"a\": 1}\r\n 7 {\"b\":2} [1, 2]\n1000000\t[{}] \"x y\"");
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[0].text, "{\"a\": 1}");
  EXPECT_EQ(bodies[0].weight, 1u);
  EXPECT_EQ(bodies[0].expected, "");
  EXPECT_EQ(bodies[1].weight, 7u);
  EXPECT_EQ(bodies[1].expected, "[1,2]");
  EXPECT_EQ(bodies[2].text, "[{}]");
  EXPECT_EQ(bodies[2].expected, "\"x y\"");
}

TEST(BodiesTest, WhatIsNoBodyIsNamedByItsLine) {
  for (const std::string_view line : {"5", "x", "{", "0 {}", "1000001 {}", "-1 {}", "2{}", "{} {",
                                      "{} 1 2", "\"text\"", "3", "1.5 {}"}) {
    std::vector<Body> bodies;
    std::string error;
    EXPECT_FALSE(read_bodies("{}\n" + std::string(line), bodies, error)) << line;
    EXPECT_NE(error.find("line 2"), std::string::npos) << error;
  }
  std::vector<Body> bodies;
  std::string error;
  EXPECT_FALSE(read_bodies("\n# nothing\n", bodies, error));
  EXPECT_NE(error, "");
}

TEST(BodiesTest, AnIdIsReplacedAtTheTopOnly) {
  EXPECT_EQ(with_id(R"({"params":{"id":5},"id" : "a\"b","x":1})", "7"),
            R"({"params":{"id":5},"id" : 7,"x":1})");
  EXPECT_EQ(with_id(R"({"params":{"id":5}})", "7"), R"({"params":{"id":5}})");
}

Tape make_tape(const Tape::Wish& wish) {
  Tape tape;
  tape.make(wish, [](std::string_view body) { return std::string(body) + "\n"; });
  return tape;
}

std::string text_at(const Tape& tape, std::uint32_t i) {
  return tape.bytes().substr(tape.begin(i), tape.begin(i + 1) - tape.begin(i));
}

TEST(TapeTest, OneBodyIsOneRequest) {
  const Tape tape = make_tape({.bodies = {{.text = R"({"id":1})"}}});
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(tape.bytes(), "{\"id\":1}\n");
  EXPECT_EQ(tape.id(0), "1");
  EXPECT_EQ(tape.next(0), 0u);
}

TEST(TapeTest, BodiesComeAsOftenAsTheirWeightsSay) {
  const Tape tape = make_tape({.bodies = read("3 {\"a\":1}\n1 {\"b\":1}\n0000001 {\"c\":1}")});
  std::map<std::string, double> seen;
  for (std::uint32_t i = 0; i != tape.size(); ++i) seen[text_at(tape, i)] += 1.0 / tape.size();
  EXPECT_NEAR(seen["{\"a\":1}\n"], 0.6, 0.001);
  EXPECT_NEAR(seen["{\"b\":1}\n"], 0.2, 0.001);
  EXPECT_NEAR(seen["{\"c\":1}\n"], 0.2, 0.001);
}

TEST(TapeTest, TheRarestBodyIsThere) {
  const Tape tape = make_tape({.bodies = read("1000000 {\"a\":1}\n1 {\"b\":1}")});
  EXPECT_NE(tape.bytes().find("{\"b\":1}"), std::string::npos);
}

TEST(TapeTest, FreshIdsAreAllDifferentAndOfOneSize) {
  const Tape tape = make_tape(
      {.bodies = {{.text = R"({"id":"x","method":"m"})"}}, .batch = 0, .fresh_ids = true});
  std::set<std::string_view> ids;
  for (std::uint32_t i = 0; i != tape.size(); ++i) {
    ids.insert(tape.id(i));
    EXPECT_EQ(tape.id(i).size(), 4u);
    EXPECT_EQ(text_at(tape, i), "{\"id\":" + std::string(tape.id(i)) + ",\"method\":\"m\"}\n");
  }
  EXPECT_EQ(ids.size(), tape.size());
  EXPECT_GT(tape.size(), 1000u);
}

TEST(TapeTest, ANotificationStaysOne) {
  const Tape tape =
      make_tape({.bodies = {{.text = R"({"method":"m"})"}}, .batch = 0, .fresh_ids = true});
  EXPECT_EQ(text_at(tape, 0), "{\"method\":\"m\"}\n");
  EXPECT_EQ(tape.id(0), "");
  EXPECT_TRUE(tape.message(0).calls.empty());
}

TEST(TapeTest, ABatchNumbersItsCalls) {
  const Tape tape =
      make_tape({.bodies = {{.text = R"({"id":9})", .weight = 1, .expected = "5"}}, .batch = 3});
  EXPECT_EQ(tape.bytes(), "[{\"id\":1},{\"id\":2},{\"id\":3}]\n");
  ASSERT_EQ(tape.message(0).calls.size(), 3u);
  EXPECT_EQ(tape.message(0).calls[2].id, "3");
  EXPECT_EQ(tape.message(0).calls[2].expected, "5");
  EXPECT_TRUE(tape.message(0).batch);
}

TEST(TapeTest, LongMixedBatchesAreFew) {
  const std::string text = R"({"id":1,"params":")" + std::string(50'000, 'x') + "\"}";
  const Tape tape = make_tape({.bodies = {{.text = text}, {.text = text}}, .batch = 1'000});
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(tape.message(0).calls.size(), 1'000u);
}

TEST(TapeTest, MixedBatchesAreWholeJson) {
  const Tape tape = make_tape({.bodies = read("{\"id\":1} 1\n{\"method\":\"n\"}\n"), .batch = 10});
  EXPECT_GT(tape.size(), 10u);
  std::vector<std::string_view> elements;
  for (std::uint32_t i = 0; i != tape.size(); ++i) {
    const std::string text = text_at(tape, i);
    ASSERT_TRUE(tools::split_array(text, elements)) << text;
    EXPECT_EQ(elements.size(), 10u);
    EXPECT_LE(tape.message(i).calls.size(), 10u);
  }
}

}  // namespace
}  // namespace ringload
