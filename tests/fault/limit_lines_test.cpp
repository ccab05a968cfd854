// Goal: connections of lines keep to the limits on time and size: a moment before a deadline the
//       peer is still there, a moment after it is not, and its counter says why; and nobody holds
//       more than he may.
// Method: a whole worker on the fake kernel's clock. A timer fires at most one slot late.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <string>

#include "tests/fault/deadlines.h"

namespace ringrpc::testing {
namespace {

using base::Counter;

constexpr std::uint32_t lines = 1;
constexpr std::uint32_t patient = 2;
const std::string sum = R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})";
const std::string five = R"({"jsonrpc":"2.0","result":5,"id":1})"
                         "\n";
const std::string too_large =
    R"({"jsonrpc":"2.0","error":{"code":-31008,"message":"Request too large",)"
    R"("data":{"reason":"message_size_max"}},"id":null})"
    "\n";

std::string timed_out() {
  return R"({"jsonrpc":"2.0","error":{"code":-31003,"message":"Timed out",)"
         R"("data":{"reason":"body_rate_min"}},"id":null})"
         "\n";
}

}  // namespace

TEST(LimitLinesTest, SilenceEndsAtTheIdleTimeoutFromTheBeginningAndBetweenLines) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect(lines);
    house.wait_ms(peer.idle_timeout_ms - moment_ms);
    EXPECT_EQ(house.say(client, sum + "\n"), five);
    house.wait_ms(peer.idle_timeout_ms - moment_ms);
    EXPECT_EQ(house.say(client, "\n"), "");  // A blank line is a sign of life.
    pass(house, peer.idle_timeout_ms, Counter::limit_idle_timeout);
    EXPECT_EQ(house.io().client_read(client), "");
    EXPECT_TRUE(house.io().client_at_end(client));
    EXPECT_EQ(house.count(Counter::limit_head_timeout), 0u);
  }
}

TEST(LimitLinesTest, SilenceFromTheStartEndsAtTheIdleTimeout) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    house.connect(lines);
    pass(house, peer.idle_timeout_ms, Counter::limit_idle_timeout);
  }
}

TEST(LimitLinesTest, ALineThatDripsEndsByItsRate) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect(lines);
    // So many bytes buy a second beyond the grace.
    house.say(client, std::string(peer.body_rate_min, ' '));
    pass(house, peer.body_grace_ms + 1'000, Counter::limit_body_rate);
    EXPECT_EQ(house.io().client_read(client), timed_out());
    EXPECT_TRUE(house.io().client_at_end(client));
    EXPECT_EQ(house.gauges().partial_messages, 0u);
  }
}

TEST(LimitLinesTest, ALineAtTheRateMayTakeItsTime) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect(lines);
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(house.say(client, std::string(peer.body_rate_min, ' ')), "") << i;
      house.wait_ms(1'000);
    }
    EXPECT_EQ(house.say(client, sum + "\n"), five);
    EXPECT_EQ(house.count(Counter::limit_body_rate), 0u);
  }
}

TEST(LimitLinesTest, WhatCameFastBuysNoMoreSilenceThanAStall) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect(lines);
    house.say(client, std::string(2'000'000, ' '));
    pass(house, peer.stall_timeout_ms, Counter::limit_body_rate);
    EXPECT_EQ(house.io().client_read(client), timed_out());
  }
}

TEST(LimitLinesTest, TheRestOfALineThatIsTooLongMayNotKeepAConnectionSilent) {
  serve::WorkerOptions options = with(both[1]);
  options.message_size_max = 1024;
  House house(options);
  const House::ClientId client = house.connect(lines);
  EXPECT_EQ(house.say(client, std::string(2000, 'x')), too_large);
  EXPECT_EQ(house.gauges().partial_messages, 0u);
  pass(house, both[1].idle_timeout_ms, Counter::limit_idle_timeout);
  EXPECT_EQ(house.io().client_read(client), "");
}

TEST(LimitLinesTest, APeerThatTakesNothingEndsAtTheStallTimeout) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect(lines);
    house.io().client_stop_reading(client, 0);
    house.say(client, sum + "\n");
    pass(house, peer.stall_timeout_ms, Counter::limit_stall_timeout);
  }
}

TEST(LimitLinesTest, APatientConnectionOutlivesEveryDeadlineButTheStops) {
  constexpr std::uint64_t day_ms = 24ull * 3600 * 1000;
  House house;
  const House::ClientId client = house.connect(patient);
  house.wait_ms(day_ms);
  EXPECT_EQ(house.say(client, sum), "");
  house.wait_ms(day_ms);
  house.io().client_stop_reading(client, 0);
  house.say(client, "\n");
  house.wait_ms(day_ms);
  house.io().client_resume_reading(client);
  house.turn_until_idle();
  EXPECT_EQ(house.io().client_read(client), five);
  house.wait_ms(day_ms);
  EXPECT_EQ(house.say(client, sum + "\n"), five);
  EXPECT_EQ(house.connections(), 1u);
  house.begin_stop();
  house.wait_ms(2 * slot_ms);
  house.wait_ms(2 * slot_ms);
  EXPECT_TRUE(house.io().client_at_end(client));
}

TEST(LimitLinesTest, ALineIsHeldToMessageSizeMax) {
  for (const std::uint32_t n : {1024u, limits::message_size_max}) {
    serve::WorkerOptions options = House::small();
    options.message_size_max = n;
    House house(options);
    const House::ClientId client = house.connect(lines);
    for (const char* end : {"\n", "\r\n"}) {
      for (const std::uint32_t size : {n - 1, n}) {
        std::string line = sum;
        line.insert(line.size() - 1, std::string(size - sum.size(), ' '));
        EXPECT_EQ(house.say(client, line + end), five) << size;
        EXPECT_EQ(house.count(Counter::limit_message_size), 0u);
      }
    }
    std::string line = sum;
    line.insert(line.size() - 1, std::string(n + 1 - sum.size(), ' '));
    EXPECT_EQ(house.say(client, line + "\n"), too_large);
    EXPECT_EQ(house.say(client, sum + "\n" + line + "\r\n" + sum + "\n"), five + too_large + five);
    EXPECT_EQ(house.count(Counter::limit_message_size), 2u);
    EXPECT_EQ(house.started("sum"), 6u);
  }
}

// A peer that does not read costs what has been answered so far, and what it says meanwhile.
TEST(LimitLinesTest, UnsentRepliesEndTheReading) {
  House house;
  const House::ClientId client = house.connect(lines);
  house.io().client_stop_reading(client, 0);
  const std::string blob = R"({"jsonrpc":"2.0","method":"blob","params":[100000],"id":1})"
                           "\n";
  std::string many;
  for (int i = 0; i < 1000; ++i) many += blob;
  house.io().client_write(client, many);
  house.turn_until_idle();
  EXPECT_GT(house.count(Counter::limit_unsent_size), 0u);
  EXPECT_LE(house.started("blob"), 4u + limits::unsent_size_max / 100'000);
  std::string heard;
  house.io().client_resume_reading(client);
  for (std::string more = "x"; !more.empty(); heard += more) {
    house.turn_until_idle();
    more = house.io().client_read(client);
  }
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), 1000);
  EXPECT_EQ(house.started("blob"), 1000u);
}

TEST(LimitLinesTest, APoolThatIsUsedUpEndsWhoNeedsMore) {
  serve::WorkerOptions options = House::small();
  options.partial_pool_size = 4096;
  House house(options);
  const House::ClientId first = house.connect(lines);
  const House::ClientId second = house.connect(lines);
  EXPECT_EQ(house.say(first, "{"), "");
  EXPECT_EQ(house.say(second, sum + "\n{"),
            five + R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded",)"
                   R"("data":{"reason":"partial_pool_size","retryAfterMs":1000}},"id":null})"
                   "\n");
  EXPECT_TRUE(house.io().client_at_end(second));
  EXPECT_EQ(house.count(Counter::limit_partial_pool), 1u);
  EXPECT_EQ(house.say(first, sum.substr(1) + "\n"), five);
}

}  // namespace ringrpc::testing
