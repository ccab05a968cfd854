// Goal: a WebSocket's time, memory and end: pings and what they find out, messages that are slow,
//       floods, stalled readers, a server that stops, and a peer that leaves at any byte.
// Method: a whole worker on the fake kernel's clock.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fault/house.h"
#include "tests/support/conversation_frames.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::testing {
namespace {

using base::Counter;
using ws::test::ends;
using ws::test::frame;
using ws::test::opens;

constexpr std::uint64_t slot_ms = limits::timer_slot_ms;
// The turns before it have moved the clock by some microseconds.
constexpr std::uint64_t moment_ms = 2;
constexpr std::string_view sum = R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})";
constexpr std::string_view five = R"(text {"jsonrpc":"2.0","result":5,"id":1})";

std::string text(std::string_view payload) { return frame(ws::test::first_text, payload); }
std::string ping(std::string_view payload) { return frame(ws::test::first_ping, payload); }
std::string blob(std::size_t size) {
  return text(R"({"jsonrpc":"2.0","method":"blob","params":[)" + std::to_string(size) +
              R"(],"id":1})");
}

// The frames in bytes of the server, as the blocks of conversations write them.
std::vector<std::string> frames(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    ws::FrameHeader header;
    const ws::HeaderResult result =
        ws::read_header(bytes.data(), bytes.data() + bytes.size(), ws::Side::client, false, header);
    if (result.status != ws::HeaderStatus::complete || bytes.size() < header.size + header.length) {
      lines.push_back("no frame: " + shown(bytes));
      return lines;
    }
    const std::string payload(bytes.substr(header.size, header.length));
    bytes.remove_prefix(header.size + payload.size());
    if (header.opcode == ws::Opcode::text) lines.push_back("text " + payload);
    if (header.opcode == ws::Opcode::ping) lines.push_back("ping " + payload);
    if (header.opcode == ws::Opcode::pong) lines.push_back("pong " + payload);
    if (header.opcode != ws::Opcode::close) continue;
    const int code = payload.size() < 2 ? 0
                                        : static_cast<std::uint8_t>(payload[0]) * 256 +
                                              static_cast<std::uint8_t>(payload[1]);
    lines.push_back("close " + std::to_string(code));
  }
  return lines;
}

using Lines = std::vector<std::string>;

House::ClientId opened(House& house) {
  const House::ClientId client = house.connect();
  const std::string answer = house.say(client, handshake_bytes("/rpc"));
  EXPECT_EQ(status_of(answer), 101) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  return client;
}

Lines say(House& house, House::ClientId client, const std::string& bytes) {
  return frames(house.say(client, bytes));
}

Lines hear(House& house, House::ClientId client) { return frames(house.io().client_read(client)); }

// Nothing is left of the connections but their counts.
void expect_empty(House& house) {
  EXPECT_EQ(house.connections(), 0u);
  EXPECT_EQ(house.gauges().partial_messages.load(), 0u);
  EXPECT_EQ(house.gauges().segments.load(), 0u);
  EXPECT_EQ(house.count(Counter::accepts), house.count(Counter::closes));
}

// The peer says nothing more and waits for the end.
void expect_end(House& house, House::ClientId client) {
  EXPECT_TRUE(house.io().client_at_end(client));
  house.io().client_fin(client);
  house.turn_until_idle();
  expect_empty(house);
}

serve::WorkerOptions with(const serve::PeerLimits& peer) {
  serve::WorkerOptions options = House::small();
  options.peer = peer;
  return options;
}

const serve::PeerLimits both[] = {{},
                                  {.idle_timeout_ms = 700,
                                   .body_grace_ms = 1'000,
                                   .body_rate_min = 100,
                                   .stall_timeout_ms = 2'000,
                                   .websocket_ping_ms = 900}};

}  // namespace

TEST(WebSocketTest, ThreePingsAreSentToASilentPeerAndThenItIsGivenUp) {
  for (const serve::PeerLimits& peer : both) {
    House house(with(peer));
    const House::ClientId client = opened(house);
    for (int i = 0; i < 3; ++i) {
      house.wait_ms(peer.websocket_ping_ms - moment_ms);
      EXPECT_EQ(hear(house, client), Lines{}) << i;
      house.wait_ms(moment_ms + 2 * slot_ms);
      EXPECT_EQ(hear(house, client), Lines{"ping "}) << i;
    }
    house.wait_ms(peer.websocket_ping_ms - moment_ms);
    EXPECT_EQ(house.count(Counter::limit_pings_unanswered), 0u);
    house.wait_ms(moment_ms + 2 * slot_ms);
    EXPECT_EQ(house.count(Counter::limit_pings_unanswered), 1u);
    EXPECT_EQ(hear(house, client), Lines{"close 1008"});
    EXPECT_EQ(house.count(Counter::limit_idle_timeout), 0u);
    expect_end(house, client);
  }
}

TEST(WebSocketTest, WhateverComesShowsThatThePeerIsThere) {
  for (const std::string& sign : {frame(ws::test::first_pong, ""), text(sum), ping("mine")}) {
    House house(with(both[1]));
    const House::ClientId client = opened(house);
    for (int i = 0; i < 10; ++i) {
      house.wait_ms(both[1].websocket_ping_ms + 2 * slot_ms);
      EXPECT_EQ(hear(house, client), Lines{"ping "}) << i;
      say(house, client, sign);
    }
    EXPECT_EQ(house.count(Counter::limit_pings_unanswered), 0u);
    EXPECT_EQ(say(house, client, text(sum)), Lines{std::string(five)});
  }
}

TEST(WebSocketTest, ABusyPeerIsNotPinged) {
  House house(with(both[1]));
  const House::ClientId client = opened(house);
  for (int i = 0; i < 20; ++i) {
    house.wait_ms(both[1].websocket_ping_ms - slot_ms);
    EXPECT_EQ(say(house, client, text(sum)), Lines{std::string(five)}) << i;
  }
}

TEST(WebSocketTest, AMessageHasTheTimeOfABodyAndPingsBuyNothing) {
  for (const serve::PeerLimits& peer : both) {
    for (const std::string& begun : {opens("{"), text(sum).substr(0, 20), text(sum).substr(0, 1)}) {
      House house(with(peer));
      const House::ClientId client = opened(house);
      EXPECT_EQ(say(house, client, begun), Lines{});
      // What has come buys a little by the rate.
      house.wait_ms(peer.body_grace_ms - moment_ms);
      EXPECT_EQ(house.count(Counter::limit_body_rate), 0u);
      if (begun == opens("{")) {
        EXPECT_EQ(say(house, client, ping("x")), Lines{"pong x"});
      }
      house.wait_ms(moment_ms + 20'000 / peer.body_rate_min + 2 * slot_ms);
      EXPECT_EQ(house.count(Counter::limit_body_rate), 1u);
      EXPECT_EQ(hear(house, client), Lines{"close 1008"});
      expect_end(house, client);
    }
  }
}

TEST(WebSocketTest, AStoppingServerSaysSoToIdlePeersAtOnce) {
  House house;
  const House::ClientId one = opened(house);
  const House::ClientId two = opened(house);
  say(house, two, text(sum));
  house.stop();
  EXPECT_EQ(hear(house, one), Lines{"close 1001"});
  EXPECT_EQ(hear(house, two), Lines{"close 1001"});
}

TEST(WebSocketTest, AStoppingServerAnswersWhatComesFirst) {
  House house;
  const House::ClientId client = opened(house);
  const House::ClientId half = opened(house);
  const House::ClientId late = house.connect();
  say(house, half, opens(sum.substr(0, 10)));
  house.begin_stop();
  EXPECT_EQ(say(house, client, text(sum)), (Lines{std::string(five), "close 1001"}));
  EXPECT_EQ(say(house, half, ends(sum.substr(10))), (Lines{std::string(five), "close 1001"}));
  const std::string answer = house.say(late, handshake_bytes("/rpc") + text(sum));
  EXPECT_EQ(status_of(answer), 101);
  EXPECT_EQ(frames(answer.substr(answer.find("\r\n\r\n") + 4)),
            (Lines{std::string(five), "close 1001"}));
}

TEST(WebSocketTest, HalfAMessageHoldsAStopUpForTheGraceOnly) {
  House house(with(both[1]));
  const House::ClientId client = opened(house);
  say(house, client, opens("{"));
  house.begin_stop();
  house.wait_ms(both[1].body_grace_ms + 200 + 2 * slot_ms);
  EXPECT_EQ(hear(house, client), Lines{"close 1001"});
}

TEST(WebSocketTest, PingsOfOnePieceAreAnsweredTogether) {
  House house;
  const House::ClientId client = opened(house);
  EXPECT_EQ(say(house, client, ping("1") + ping("22") + text(sum) + ping("last")),
            (Lines{std::string(five), "pong last"}));
}

TEST(WebSocketTest, AMillionPingsOfAReaderThatDoesNotReadTakeAlmostNothing) {
  for (const bool reads : {true, false}) {
    House house;
    const House::ClientId client = opened(house);
    if (!reads) house.io().client_stop_reading(client, 0);
    std::string flood;
    for (int i = 0; i < 5'000; ++i) flood += ping(std::to_string(i % 10));
    std::string heard;
    for (int i = 0; i < 200; ++i) {
      heard += house.say(client, flood);
      EXPECT_LE(house.gauges().segments.load(), 3u);
    }
    EXPECT_EQ(house.say(client, ping("last")), reads ? std::string("\x8a\x04last") : "");
    house.io().client_resume_reading(client);
    house.turn_until_idle();
    heard += house.io().client_read(client);
    house.turn_until_idle();
    heard += house.io().client_read(client);
    const Lines lines = frames(heard);
    if (!reads) {
      EXPECT_EQ(lines.back(), "pong last");
    }
    // One for each pass over at most eight buffers, or the one in flight and the one behind it.
    EXPECT_LE(lines.size(), reads ? 200u * 20 : 3u);
    EXPECT_EQ(say(house, client, text(sum)), Lines{std::string(five)});
  }
}

TEST(WebSocketTest, APongThatGrowsTakesThePlaceOfTheOneBeforeIt) {
  House house;
  const House::ClientId client = opened(house);
  house.io().client_stop_reading(client, 0);
  for (std::size_t size = 0; size <= ws::control_size_max; ++size) {
    house.say(client, ping(std::string(size, 'p')));
  }
  for (std::size_t size = ws::control_size_max; size > 5; --size) {
    house.say(client, ping(std::string(size, 'p')));
  }
  house.io().client_resume_reading(client);
  house.turn_until_idle();
  EXPECT_EQ(hear(house, client), (Lines{"pong ", "pong pppppp"}));
}

TEST(WebSocketTest, APongIsNotMovedOverWhatCameBehindIt) {
  House house;
  const House::ClientId client = opened(house);
  house.io().client_stop_reading(client, 0);
  house.say(client, ping("in flight"));
  house.say(client, ping("waits"));
  house.say(client, text(sum));
  house.say(client, ping("behind"));
  house.say(client, ping("last"));
  house.io().client_resume_reading(client);
  house.turn_until_idle();
  EXPECT_EQ(hear(house, client),
            (Lines{"pong in flight", "pong waits", std::string(five), "pong last"}));
}

TEST(WebSocketTest, FramesOfAPeerWhoseRepliesAreNotReadAreKeptForLater) {
  for (const std::size_t piece : {1u, 7u, 4096u, 100'000u}) {
    House house;
    const House::ClientId client = opened(house);
    house.io().client_stop_reading(client, 0);
    // More than a connection may have unsent: it is paused, within a message of several frames.
    std::string bytes;
    for (int i = 0; i < 3; ++i) bytes += blob(200'000);
    bytes += opens(sum.substr(0, 10)) + ping("kept") + frame(0x00, sum.substr(10, 10)) +
             ends(sum.substr(20)) + text(sum) + opens(sum.substr(0, 5));
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      house.io().client_write(client, bytes.substr(at, piece));
      house.turn_until_idle();
    }
    EXPECT_GE(house.count(Counter::limit_unsent_size), 1u);
    house.io().client_resume_reading(client);
    std::string heard;
    for (int i = 0; i < 10; ++i) {
      house.turn_until_idle();
      heard += house.io().client_read(client);
    }
    Lines lines = frames(heard);
    std::erase(lines, "pong kept");
    ASSERT_EQ(lines.size(), 5u) << piece;
    EXPECT_EQ(lines[3], five);
    EXPECT_EQ(lines[4], five);
    EXPECT_EQ(say(house, client, ends(sum.substr(5))), Lines{std::string(five)});
    EXPECT_EQ(house.gauges().partial_messages.load(), 0u);
  }
}

TEST(WebSocketTest, AStalledReaderIsEndedAsElsewhere) {
  House house(with(both[1]));
  const House::ClientId client = opened(house);
  house.io().client_stop_reading(client, 0);
  house.say(client, blob(100'000));
  house.wait_ms(both[1].stall_timeout_ms + 2 * slot_ms);
  EXPECT_EQ(house.count(Counter::limit_stall_timeout), 1u);
  expect_empty(house);
}

TEST(WebSocketTest, AMessageThatFindsNoRoomIsToComeAgain) {
  serve::WorkerOptions options = House::small();
  options.message_size_max = 100'000;
  options.partial_pool_size = 128u << 10;
  House house(options);
  const House::ClientId one = opened(house);
  const House::ClientId two = opened(house);
  EXPECT_EQ(say(house, one, text(std::string(99'000, ' ')).substr(0, 98'000)), Lines{});
  EXPECT_EQ(say(house, two, text(std::string(99'000, ' ')).substr(0, 98'000)), Lines{"close 1013"});
  EXPECT_EQ(house.count(Counter::limit_partial_pool), 1u);
  house.io().client_fin(one);
  house.io().client_fin(two);
  house.turn_until_idle();
  expect_empty(house);
}

TEST(WebSocketTest, AnnouncingAMessageReservesLittle) {
  House house;
  std::vector<House::ClientId> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(opened(house));
    EXPECT_EQ(say(house, clients.back(), text(std::string(4'000'000, ' ')).substr(0, 100)),
              Lines{});
  }
  EXPECT_LE(house.gauges().partial_bytes.load(), 8u * (32u << 10));
  for (const House::ClientId client : clients) house.io().client_reset(client);
  house.turn_until_idle();
  expect_empty(house);
}

TEST(WebSocketTest, AnIdleOneOwnsNothing) {
  House house;
  const House::ClientId client = opened(house);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(say(house, client, text(sum)), Lines{std::string(five)});
    EXPECT_EQ(say(house, client, opens(sum.substr(0, 9)) + ends(sum.substr(9))),
              Lines{std::string(five)});
    EXPECT_EQ(say(house, client, ping("x").substr(0, 3)), Lines{});
    EXPECT_EQ(say(house, client, ping("x").substr(3)), Lines{"pong x"});
    EXPECT_EQ(house.gauges().partial_messages.load(), 0u);
    EXPECT_EQ(house.gauges().segments.load(), 0u);
    EXPECT_EQ(house.connections(), 1u);
  }
}

TEST(WebSocketTest, AMessageInOnePieceIsNotCopied) {
  House house;
  const House::ClientId client = opened(house);
  const std::uint64_t before = house.count(Counter::bytes_copied);
  EXPECT_EQ(say(house, client, text(sum)), Lines{std::string(five)});
  EXPECT_EQ(say(house, client, text(sum) + text(sum)),
            (Lines{std::string(five), std::string(five)}));
  EXPECT_EQ(house.count(Counter::bytes_copied), before);
  EXPECT_EQ(say(house, client, text(sum).substr(0, 20)), Lines{});
  EXPECT_EQ(say(house, client, text(sum).substr(20)), Lines{std::string(five)});
  EXPECT_EQ(house.count(Counter::bytes_copied), before + sum.size());
}

TEST(WebSocketTest, APeerThatLeavesAtAnyByteLeavesNothingBehind) {
  const std::string bytes = handshake_bytes("/rpc") + text(sum) + opens(sum.substr(0, 9)) +
                            ping("ping") + ends(sum.substr(9)) + blob(5000) +
                            frame(ws::test::first_close, "\x03\xe8");
  House house;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    for (const bool reset : {false, true}) {
      for (const bool at_once : {false, true}) {
        const House::ClientId client = house.io().connect({});
        house.io().client_write(client, bytes.substr(0, size));
        if (!at_once) house.turn_until_idle();
        reset ? house.io().client_reset(client) : house.io().client_fin(client);
        house.turn_until_idle();
        house.io().client_read(client);
        house.turn_until_idle();
        expect_empty(house);
        if (::testing::Test::HasFailure()) FAIL() << size << reset << at_once;
      }
    }
  }
}

TEST(WebSocketTest, ThereAreAsManyAsConnections) {
  serve::WorkerOptions options = House::small();
  options.connections_max = 1000;
  options.segments = 4096;
  House house(options);
  std::vector<House::ClientId> clients;
  for (int i = 0; i < 1000; ++i) clients.push_back(opened(house));
  EXPECT_EQ(house.count(Counter::upgrades), 1000u);
  for (const House::ClientId client : clients) {
    house.io().client_write(client, text(sum).substr(0, 15));
  }
  house.turn_until_idle();
  EXPECT_EQ(house.gauges().partial_messages.load(), 1000u);
  for (const House::ClientId client : clients)
    house.io().client_write(client, text(sum).substr(15));
  house.turn_until_idle();
  EXPECT_EQ(house.gauges().partial_messages.load(), 0u);
  for (const House::ClientId client : clients) {
    EXPECT_EQ(hear(house, client), Lines{std::string(five)});
  }
  EXPECT_EQ(house.started("sum"), 1000u);
  house.stop();
  for (const House::ClientId client : clients) EXPECT_EQ(hear(house, client), Lines{"close 1001"});
  expect_empty(house);
}

}  // namespace ringrpc::testing
