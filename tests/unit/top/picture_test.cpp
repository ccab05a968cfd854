// Goal: two looks become rates, quantiles and lists; a server that started anew is noticed. Method:
// looks written by hand.

#include "tools/ringtop/picture.h"

#include <gtest/gtest.h>

#include <string>

namespace ringtop {
namespace {

Look look(double at_s, const std::string& text) {
  Look one;
  one.at_s = at_s;
  EXPECT_EQ(parse(text, one.samples), 0u) << text;
  return one;
}

std::string histogram(int us10, int us100, int all) {
  return "ringrpc_call_seconds_bucket{le=\"1e-05\"} " + std::to_string(us10) +
         "\nringrpc_call_seconds_bucket{le=\"0.0001\"} " + std::to_string(us100) +
         "\nringrpc_call_seconds_bucket{le=\"+Inf\"} " + std::to_string(all) + "\n";
}

TEST(Picture, RatesAreDifferencesOverTheTimeBetween) {
  const Look before = look(10, "ringrpc_bytes_in_total 100\nringrpc_connections 7\n");
  const Look after = look(12, "ringrpc_bytes_in_total 300\nringrpc_connections 5\n");
  const Picture picture = compare(&before, after);
  EXPECT_TRUE(picture.has_rates);
  EXPECT_FALSE(picture.restarted);
  EXPECT_EQ(picture.seconds, 2);
  EXPECT_EQ(picture.bytes_in.per_s, 100);
  EXPECT_EQ(picture.bytes_in.total, 300);
  EXPECT_EQ(picture.connections, 5);
  EXPECT_EQ(picture.bytes_out.per_s, 0);
}

TEST(Picture, TheFirstLookHasTotalsOnly) {
  const Look after = look(12, "ringrpc_bytes_in_total 300\n" + histogram(1, 2, 3));
  const Picture picture = compare(nullptr, after);
  EXPECT_FALSE(picture.has_rates);
  EXPECT_EQ(picture.bytes_in.per_s, 0);
  EXPECT_EQ(picture.bytes_in.total, 300);
  EXPECT_FALSE(picture.p50.has_value());
}

TEST(Picture, LooksAtTheSameMomentHaveNoRates) {
  const Look one = look(12, "ringrpc_bytes_in_total 300\n");
  EXPECT_FALSE(compare(&one, one).has_rates);
}

TEST(Picture, ACounterThatWentBackwardsOrIsGoneIsARestart) {
  const Look before = look(1, "ringrpc_turns_total 50\nringrpc_connections 9\n");
  for (const char* text : {"ringrpc_turns_total 49\n", "ringrpc_connections 9\n"}) {
    const Look after = look(2, text);
    const Picture picture = compare(&before, after);
    EXPECT_TRUE(picture.restarted) << text;
    EXPECT_FALSE(picture.has_rates) << text;
    EXPECT_EQ(picture.turns.per_s, 0) << text;
  }
  const Look same = look(2, "ringrpc_turns_total 50\nringrpc_connections 1\n");
  EXPECT_FALSE(compare(&before, same).restarted) << "a gauge may fall";
}

TEST(Picture, MethodsAreSummedOverPathsAndTheBusiestComesFirst) {
  const std::string head = "ringrpc_calls_total{endpoint=\"";
  const Look before = look(0, head + "/rpc\",method=\"a\"} 1000\n" + head +
                                  "/rpc\",method=\"b\"} 5\n" + head + "/x\",method=\"b\"} 5\n");
  const Look after =
      look(1, head + "/rpc\",method=\"a\"} 1001\n" + head + "/rpc\",method=\"b\"} 15\n" + head +
                  "/x\",method=\"b\"} 10\n" + head + "/rpc\",method=\"new\"} 2\n" + head +
                  "/rpc\",method=\"never\"} 0\n");
  const Picture picture = compare(&before, after);
  ASSERT_EQ(picture.methods.size(), 3u);
  EXPECT_EQ(picture.methods[0].name, "b");
  EXPECT_EQ(picture.methods[0].rate.per_s, 15);
  EXPECT_EQ(picture.methods[0].rate.total, 25);
  EXPECT_EQ(picture.methods[1].name, "new");
  EXPECT_EQ(picture.methods[1].rate.per_s, 2) << "one that was not there had no calls";
  EXPECT_EQ(picture.methods[2].name, "a");
  EXPECT_EQ(picture.calls.per_s, 18);
}

TEST(Picture, OnlyLimitsThatWereHitAreListed) {
  const Look after = look(0,
                          "ringrpc_limit_hits_total{limit=\"depth\"} 0\n"
                          "ringrpc_limit_hits_total{limit=\"head_size\"} 3\n");
  const Picture picture = compare(nullptr, after);
  ASSERT_EQ(picture.limits.size(), 1u);
  EXPECT_EQ(picture.limits[0].name, "head_size");
  EXPECT_EQ(picture.limits[0].rate.total, 3);
}

TEST(Quantile, LiesBetweenTheBoundsOfItsBucket) {
  const Look before = look(0, histogram(1000, 1000, 1000));
  const Look after = look(1, histogram(1080, 1100, 1100));
  const auto of = [&](double part) {
    return quantile(&before.samples, after.samples, "ringrpc_call_seconds", part);
  };
  ASSERT_TRUE(of(0.5).has_value());
  EXPECT_NEAR(of(0.4)->seconds, 5e-6, 1e-12) << "the middle of the first bucket";
  EXPECT_NEAR(of(0.8)->seconds, 10e-6, 1e-12) << "its end";
  EXPECT_NEAR(of(0.9)->seconds, 55e-6, 1e-12) << "the middle of the second one";
  EXPECT_NEAR(of(1)->seconds, 100e-6, 1e-12);
  EXPECT_FALSE(of(1)->beyond);
}

TEST(Quantile, SaysWhenItLiesBeyondTheLastBound) {
  const Look after = look(1, histogram(0, 0, 10));
  const auto found = quantile(nullptr, after.samples, "ringrpc_call_seconds", 0.5);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->beyond);
  EXPECT_NEAR(found->seconds, 100e-6, 1e-12);
}

TEST(Quantile, OfNothingIsNone) {
  const Look look_ = look(1, histogram(5, 6, 7));
  const auto of = [](const Samples* before, const Samples& after) {
    return quantile(before, after, "ringrpc_call_seconds", 0.5);
  };
  EXPECT_FALSE(of(&look_.samples, look_.samples).has_value());
  EXPECT_FALSE(of(nullptr, Samples()).has_value());
}

TEST(Quantile, BucketsThatWereReadAtDifferentMomentsDoNoHarm) {
  // More below 10 us than in all: the writer went on in between.
  const Look after = look(1, histogram(10, 9, 8));
  const auto found = quantile(nullptr, after.samples, "ringrpc_call_seconds", 0.99);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->beyond);
  EXPECT_NEAR(found->seconds, 9.9e-6, 1e-12);
}

}  // namespace
}  // namespace ringtop
