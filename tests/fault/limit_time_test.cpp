// Goal: each time limit holds: a moment before it the peer is still there, a moment after it is
//       not, its counter says why, and options move it.
// Method: a whole worker on the fake kernel's clock. A timer fires at most one slot late.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <string>

#include "tests/fault/deadlines.h"

namespace ringrpc::testing {
namespace {

using base::Counter;

std::string half_a_body(std::size_t announced, std::size_t sent) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(announced) + "\r\n\r\n" + std::string(sent, ' ');
}

}  // namespace

TEST(LimitTimeTest, SilenceFromTheStartEndsAtTheHeadTimeout) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    pass(house, peer.head_timeout_ms, Counter::limit_head_timeout);
    EXPECT_TRUE(house.io().client_at_end(client));
    EXPECT_EQ(house.io().client_read(client), "");  // No request, no answer.
  }
}

TEST(LimitTimeTest, TheFirstHeadsTimeBeginsWithTheConnection) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    house.wait_ms(peer.head_timeout_ms / 2);
    house.say(client, "POST");
    house.wait_ms(peer.head_timeout_ms / 4);
    house.say(client, " /rpc");  // Each byte is a sign of life, and buys nothing.
    pass(house, peer.head_timeout_ms - peer.head_timeout_ms / 2 - peer.head_timeout_ms / 4,
         Counter::limit_head_timeout);
    EXPECT_EQ(status_of(house.io().client_read(client)), 408);
    EXPECT_TRUE(house.io().client_at_end(client));
  }
}

TEST(LimitTimeTest, ALaterHeadsTimeBeginsWithItsFirstByte) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
    house.wait_ms(peer.idle_timeout_ms / 2);
    house.say(client, "PO");
    pass(house, peer.head_timeout_ms, Counter::limit_head_timeout);
    EXPECT_EQ(status_of(house.io().client_read(client)), 408);
  }
}

TEST(LimitTimeTest, AnIdleConnectionEndsAtTheIdleTimeout) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
      house.wait_ms(peer.idle_timeout_ms - moment_ms);  // Each request begins it anew.
    }
    EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
    pass(house, peer.idle_timeout_ms, Counter::limit_idle_timeout);
    EXPECT_EQ(house.io().client_read(client), "");
    EXPECT_TRUE(house.io().client_at_end(client));
  }
}

TEST(LimitTimeTest, ABodyThatDripsEndsByItsRate) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    // So many bytes buy a second beyond the grace.
    house.say(client, half_a_body(100'000, peer.body_rate_min));
    pass(house, peer.body_grace_ms + 1'000, Counter::limit_body_rate);
    EXPECT_EQ(status_of(house.io().client_read(client)), 408);
  }
}

TEST(LimitTimeTest, ABodyAtTheRateMayTakeItsTime) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    const std::string call = R"({"jsonrpc":"2.0","method":"size","params":[],"id":1})";
    const std::size_t seconds = 40;
    house.say(client, half_a_body(call.size() + seconds * peer.body_rate_min, 0));
    for (std::size_t i = 0; i < seconds; ++i) {
      EXPECT_EQ(house.say(client, std::string(peer.body_rate_min, ' ')), "") << i;
      house.wait_ms(1'000);
    }
    EXPECT_EQ(status_of(house.say(client, call)), 200);
    EXPECT_EQ(house.count(Counter::limit_body_rate), 0u);
  }
}

TEST(LimitTimeTest, WhatCameFastBuysNoMoreSilenceThanAStall) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    house.say(client, half_a_body(3'000'000, 2'000'000));
    pass(house, peer.stall_timeout_ms, Counter::limit_body_rate);
    EXPECT_EQ(status_of(house.io().client_read(client)), 408);
  }
}

TEST(LimitTimeTest, AReaderThatStallsIsClosedAndItsMemoryReturns) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    house.io().client_stop_reading(client, 1'000);
    const std::string blob =
        post_with("", R"({"jsonrpc":"2.0","method":"blob","params":{"bytes":2000000},"id":1})");
    house.io().client_write(client, blob);
    house.turn_until_idle();
    EXPECT_GT(house.gauges().large_reply_bytes, 0u);
    house.wait_ms(peer.stall_timeout_ms / 2);
    house.io().client_write(client, "POST");  // What it says is no progress.
    house.turn_until_idle();
    pass(house, peer.stall_timeout_ms - peer.stall_timeout_ms / 2, Counter::limit_stall_timeout);
    EXPECT_TRUE(house.io().client_gone(client));
    EXPECT_EQ(house.connections(), 0u);
    EXPECT_EQ(house.gauges().large_reply_bytes, 0u);
  }
}

TEST(LimitTimeTest, AReaderThatIsSlowIsNotStalled) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    house.io().client_stop_reading(client, 300'000);
    house.io().client_write(
        client,
        post_with("", R"({"jsonrpc":"2.0","method":"blob","params":{"bytes":900000},"id":1})"));
    house.turn_until_idle();
    std::size_t read = 0;
    for (int i = 0; i < 10; ++i) {
      read += house.io().client_read(client).size();
      house.turn_until_idle();
      house.wait_ms(peer.stall_timeout_ms - moment_ms);
    }
    EXPECT_GT(read, 900'000u);
    EXPECT_EQ(house.count(Counter::limit_stall_timeout), 0u);
  }
}

TEST(LimitTimeTest, APeerThatDoesNotCloseIsClosedAfterTheLinger) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    const std::string last = post_with("Connection: close\r\n",
                                       R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})");
    EXPECT_EQ(status_of(house.say(client, last)), 200);
    EXPECT_TRUE(house.io().client_at_end(client));
    pass(house, peer.linger_timeout_ms, Counter::limit_linger_timeout);
    EXPECT_EQ(house.connections(), 0u);
  }
}

TEST(LimitTimeTest, ARefusedBodyHasTheTimeOfOneThatIsWanted) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = house.connect();
    const std::string refused = "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
    EXPECT_EQ(
        status_of(house.say(client, refused + std::to_string(2 * peer.body_rate_min) + "\r\n\r\n")),
        404);
    pass(house, peer.body_grace_ms + 2'000, Counter::limit_body_rate);
  }
}

// A machine that slept, or a debugger: the clock jumps and everything is due at once.
TEST(LimitTimeTest, AJumpOfTheClockEndsWhoWasIdleAndNobodyElse) {
  for (const std::uint64_t days : {1u, 30u}) {
    House house;
    House::ClientId idle[3];
    for (House::ClientId& client : idle) {
      client = house.connect();
      EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
    }
    const House::ClientId half = house.connect();
    house.say(half, half_a_body(1000, 10));
    house.wait_ms(days * 24 * 3'600'000);
    EXPECT_EQ(house.count(Counter::limit_idle_timeout), 3u);
    EXPECT_EQ(house.count(Counter::limit_body_rate), 1u);
    EXPECT_EQ(status_of(house.io().client_read(half)), 408);
    for (const House::ClientId client : idle) EXPECT_TRUE(house.io().client_at_end(client));
    // Who comes now has the usual time.
    const House::ClientId next = house.connect();
    house.wait_ms(limits::head_timeout_ms - moment_ms);
    EXPECT_EQ(status_of(house.say(next, call_sum())), 200);
  }
}

// What has arrived by then is read before the deadline is looked at.
TEST(LimitTimeTest, ARequestThatCameInTheSameTurnAsAJumpIsAnswered) {
  House house;
  const House::ClientId client = house.connect();
  EXPECT_EQ(status_of(house.say(client, call_sum())), 200);
  house.io().client_write(client, call_sum());
  house.wait_ms(24 * 3'600'000);
  EXPECT_EQ(status_of(house.io().client_read(client)), 200);
}

}  // namespace ringrpc::testing
