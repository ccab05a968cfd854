// Goal: calls that are answered later are held to their number, in all and on one connection, at
// n-1, n and n+1. One too many is refused with its code and counted, and there is room again when
// one has ended. Where replies have an order, a connection with as many as it may have is not read
// instead; elsewhere it is, so that its peer can cancel, ping and close.
// Method: a whole worker on the fake kernel.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fault/peers.h"
#include "tests/support/conversation_frames.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::testing {
namespace {

using ws::test::frame;

std::string text_frame(std::string_view text) { return frame(ws::test::first_text, text); }

std::string post(std::string_view text) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(text.size()) + "\r\n\r\n" + std::string(text);
}

// The bodies of responses, a line each.
std::string bodies(std::string_view bytes) {
  constexpr std::string_view field = "Content-Length: ";
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find("\r\n\r\n");
    const std::size_t at = bytes.find(field);
    if (at >= end) return "no response: " + std::string(bytes);
    const std::size_t size = std::strtoul(bytes.data() + at + field.size(), nullptr, 10);
    lines += std::string(bytes.substr(end + 4, size)) + "\n";
    bytes.remove_prefix(std::min(bytes.size(), end + 4 + size));
  }
  return lines;
}

// A peer whose replies have no order, on lines or on a WebSocket.
class Peer {
 public:
  Peer(Peers& peers, bool websocket)
      : peers_(peers), id_(websocket ? peers.open_http() : peers.open()), websocket_(websocket) {
    if (!websocket) return;
    const std::string heard = peers.say_bytes(id_, handshake_bytes("/rpc"));
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 101 ")) << heard;
  }

  [[nodiscard]] ClientId id() const { return id_; }
  [[nodiscard]] std::string bytes(std::string_view text) const {
    return websocket_ ? text_frame(text) : std::string(text) + "\n";
  }
  // Returns: what it hears of messages, a line each.
  std::string say(std::string_view text) { return lines(peers_.say_bytes(id_, bytes(text))); }
  std::string hear() { return lines(peers_.hear(id_)); }

 private:
  [[nodiscard]] std::string lines(std::string_view heard) const {
    if (!websocket_) return std::string(heard);
    std::string texts;
    while (heard.size() > 4) {
      EXPECT_EQ(heard[0], '\x81');
      std::size_t size = static_cast<std::uint8_t>(heard[1]);
      const std::size_t head = size < 126 ? 2 : 4;
      if (head == 4) {
        size = static_cast<std::uint8_t>(heard[2]) * 256u + static_cast<std::uint8_t>(heard[3]);
      }
      texts += std::string(heard.substr(head, size)) + "\n";
      heard.remove_prefix(std::min(heard.size(), head + size));
    }
    return texts;
  }

  Peers& peers_;
  const ClientId id_;
  const bool websocket_;
};

std::string sleep_call(std::uint32_t id) {
  return call("co.sleep", R"({"n":3600000})", std::to_string(id));
}
const std::string one_too_many = overloaded_by("in_flight_per_connection");

}  // namespace

TEST(LimitInFlightTest, CallsInFlightAreHeldToInFlightMax) {
  constexpr int most = 3;
  Peers peers(late("in_flight_max", most));
  // Of all connections together.
  const ClientId clients[] = {peers.open(), peers.open()};
  for (int i = 0; i < most; ++i) {
    EXPECT_EQ(peers.say(clients[i % 2], hold(std::to_string(i))), "") << i;
    EXPECT_EQ(peers.gauges().in_flight, static_cast<std::uint32_t>(i + 1));
  }
  EXPECT_EQ(peers.counted(Counter::limit_in_flight), 0u);
  EXPECT_TRUE(peers.say(clients[0], hold("x")).starts_with(overloaded_by("in_flight")));
  EXPECT_EQ(peers.counted(Counter::limit_in_flight), 1u);
  EXPECT_EQ(peers.gauges().in_flight, 3u);
  peers.release("1");
  EXPECT_EQ(peers.hear(clients[1]), result("0"));
  EXPECT_EQ(peers.say(clients[0], hold("x")), "");
  EXPECT_TRUE(peers.say(clients[1], hold("y")).starts_with(overloaded_by("in_flight")));
  EXPECT_EQ(peers.counted(Counter::limit_in_flight), 2u);
}

TEST(LimitInFlightTest, InABatchOneTooManyIsRefused) {
  constexpr int most = 3;
  Peers peers(late("in_flight_per_connection_max", most));
  for (int count = most - 1; count <= most + 1; ++count) {
    const ClientId client = peers.open();
    std::string batch;
    for (int i = 0; i < count; ++i) batch += (i == 0 ? "[" : ",") + hold(std::to_string(i));
    EXPECT_EQ(peers.say(client, batch + "]"), "");
    for (int i = 0; i < std::min(count, most); ++i) peers.release(std::to_string(i));
    const std::string heard = peers.hear(client);
    const std::string refused = overloaded_by("in_flight_per_connection");
    EXPECT_EQ(heard.find(refused) != heard.npos, count > most) << heard;
    peers.leave(client);
  }
}

TEST(LimitInFlightTest, AnHttpConnectionIsNotReadWhileItHasInFlightPerConnectionMax) {
  constexpr int most = 2;
  Peers peers(late("in_flight_per_connection_max", most));
  const ClientId client = peers.open_http();
  for (int i = 0; i < most; ++i) {
    EXPECT_EQ(peers.say_bytes(client, post(hold(std::to_string(i)))), "");
  }
  EXPECT_EQ(peers.say_bytes(client, post(hold("x")) + post(call("sum", "[2,3]", "7"))), "");
  EXPECT_EQ(peers.gauges().in_flight, 2u);
  // Another connection has calls of its own.
  const ClientId other = peers.open_http();
  EXPECT_EQ(peers.say_bytes(other, post(hold("y"))), "");
  EXPECT_EQ(peers.gauges().in_flight, 3u);
  peers.release("0");
  EXPECT_EQ(bodies(peers.hear(client)), result("0"));
  EXPECT_EQ(peers.gauges().in_flight, 3u);
  peers.release("1");
  EXPECT_EQ(bodies(peers.hear(client)), result("0"));
  EXPECT_EQ(peers.gauges().in_flight, 2u);
  peers.release("x");
  EXPECT_EQ(bodies(peers.hear(client)), result("0") + result("5", "7"));
}

TEST(LimitInFlightTest, WhereRepliesHaveNoOrderOneTooManyIsRefusedAndTheNextIsRead) {
  constexpr std::uint32_t most = 2;
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(late("in_flight_per_connection_max", most));
    Peer peer(peers, websocket);
    for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(peer.say(hold(std::to_string(i))), "");
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), 0u);
    const std::string refused = peer.say(hold("x", "9"));
    EXPECT_TRUE(refused.starts_with(one_too_many)) << refused;
    EXPECT_TRUE(refused.ends_with(R"(,"id":9})"
                                  "\n"))
        << refused;
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), 1u);
    EXPECT_EQ(peer.say(call("sum", "[2,3]", "7")), result("5", "7"));
    const std::string batch = peer.say("[" + hold("x") + "," + call("sum", "[2,3]", "7") + "]");
    EXPECT_TRUE(batch.starts_with("[" + one_too_many)) << batch;
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), 2u);
    EXPECT_EQ(peers.gauges().in_flight, most);
    // Another connection has calls of its own.
    Peer other(peers, websocket);
    EXPECT_EQ(other.say(hold("y")), "");
    EXPECT_EQ(peers.gauges().in_flight, most + 1);
    peers.release("0");
    EXPECT_EQ(peer.hear(), result("0"));
    EXPECT_EQ(peer.say(hold("x")), "");
    EXPECT_TRUE(peer.say(hold("z")).starts_with(one_too_many));
    peers.release("x");
    EXPECT_EQ(peer.hear(), result("0"));
  }
}

TEST(LimitInFlightTest, OneOfAsManyAsThereMayBeIsCancelledAndLeavesRoom) {
  constexpr std::uint32_t most = limits::in_flight_per_connection_max;
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(Settings{{"methods", "late"}});
    Peer peer(peers, websocket);
    for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(peer.say(sleep_call(i)), "") << i;
    EXPECT_TRUE(peer.say(sleep_call(most)).starts_with(one_too_many));
    for (const std::uint32_t id : {0u, most - 1, 77u}) {
      const std::string ended =
          peer.say(call("rpc.cancel", R"({"id":)" + std::to_string(id) + "}", ""));
      EXPECT_TRUE(ended.starts_with(R"({"jsonrpc":"2.0","error":{"code":-31006,)")) << ended;
      EXPECT_TRUE(ended.ends_with(R"(,"id":)" + std::to_string(id) + "}\n")) << ended;
      EXPECT_EQ(peers.gauges().in_flight, most - 1);
      EXPECT_EQ(peer.say(sleep_call(id)), "");
      EXPECT_EQ(peers.gauges().in_flight, most);
      EXPECT_TRUE(peer.say(sleep_call(most)).starts_with(one_too_many));
    }
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), 4u);
    peers.leave(peer.id());
    EXPECT_EQ(peers.gauges().in_flight, 0u);
  }
}

// Calls without an answer are calls in flight like others, and nobody can be told of one too many.
TEST(LimitInFlightTest, WhereRepliesHaveNoOrderANotificationTooManyIsDroppedAndCounted) {
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(late("in_flight_per_connection_max", 1));
    Peer peer(peers, websocket);
    EXPECT_EQ(peer.say(hold("first", "")), "");
    EXPECT_EQ(peers.gauges().in_flight, 1u);
    EXPECT_EQ(peer.say(hold("dropped", "")), "");
    EXPECT_EQ(peers.gauges().in_flight, 1u);
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), 1u);
    EXPECT_TRUE(peer.say(hold("refused")).starts_with(one_too_many));
    peers.release("first");
    EXPECT_EQ(peers.gauges().in_flight, 0u);
    EXPECT_EQ(peer.say(hold("second", "")), "");
    EXPECT_EQ(peers.gauges().in_flight, 1u);
    peers.release("second");
    const ClientId other = peers.open();
    EXPECT_EQ(peers.say(other, call("release", R"({"key":"dropped","result":0})")),
              result("false"));
  }
}

TEST(LimitInFlightTest, AnHttpConnectionIsNotReadWhileItHasSoManyThatNobodyWaitsFor) {
  Peers peers(late("in_flight_per_connection_max", 1));
  const ClientId http = peers.open_http();
  const std::string accepted =
      peers.say_bytes(http, post(hold("first", "")) + post(hold("behind it")));
  EXPECT_TRUE(accepted.starts_with("HTTP/1.1 204 ")) << accepted;
  EXPECT_TRUE(accepted.ends_with("\r\n\r\n")) << accepted;
  EXPECT_EQ(peers.gauges().in_flight, 1u);
  // What is waited for is not the peer's, so its time does not run.
  peers.server().pass(2 * limits::idle_timeout_ms);
  peers.release("first");
  EXPECT_EQ(peers.gauges().in_flight, 1u);
  peers.release("behind it", "7");
  EXPECT_EQ(peers.gauges().in_flight, 0u);
  EXPECT_EQ(bodies(peers.hear(http)), result("7"));
}

TEST(LimitInFlightTest, APeerWithAsManyAsItMayHaveIsPingedAndAnswersAndCloses) {
  constexpr std::uint32_t most = 3;
  Peers peers(late("in_flight_per_connection_max", most));
  Peer peer(peers, true);
  for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(peer.say(sleep_call(i)), "");
  EXPECT_EQ(peers.say_bytes(peer.id(), frame(ws::test::first_ping, "abc")),
            std::string("\x8a\x03") + "abc");
  // Many times the time in which one that does not answer is closed.
  for (int i = 0; i < 10; ++i) {
    peers.server().pass(limits::websocket_ping_ms + limits::timer_slot_ms);
    const std::string ping = peers.hear(peer.id());
    ASSERT_TRUE(ping.starts_with('\x89')) << i << ": " << ping;
    EXPECT_EQ(peers.say_bytes(peer.id(), frame(ws::test::first_pong, ping.substr(2))), "");
  }
  EXPECT_EQ(peers.gauges().in_flight, most);
  const std::string code = "\x03\xe8";
  EXPECT_EQ(peers.say_bytes(peer.id(), frame(ws::test::first_close, code)), "\x88\x02" + code);
  EXPECT_EQ(peers.gauges().in_flight, 0u);
}

// Refusals are replies like others: a peer that does not read them is not read.
TEST(LimitInFlightTest, WhatIsRefusedIsHeldToWhatMayBeUnsent) {
  constexpr std::uint32_t count = 10'000;
  constexpr std::uint32_t most = 2;
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(late("in_flight_per_connection_max", most));
    Peer peer(peers, websocket);
    for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(peer.say(hold(std::to_string(i))), "");
    peers.server().io().client_stop_reading(peer.id());
    std::string flood;
    for (std::uint32_t i = 0; i < count; ++i) flood += peer.bytes(hold("x"));
    peers.server().io().client_write(peer.id(), flood);
    ASSERT_TRUE(peers.server().rest());
    const std::uint64_t answered = peers.counted(Counter::limit_in_flight_per_connection);
    const std::uint64_t each = std::string_view(one_too_many).size();
    EXPECT_GT(answered, 0u);
    EXPECT_LE(answered * each, std::uint64_t{limits::unsent_size_max} + 1024);
    EXPECT_GT(peers.counted(Counter::limit_unsent_size), 0u);
    peers.server().io().client_resume_reading(peer.id());
    const std::string heard = peer.hear();
    EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), count);
    EXPECT_EQ(peers.counted(Counter::limit_in_flight_per_connection), count);
    peers.release("0");
    EXPECT_EQ(peer.hear(), result("0"));
  }
}

// Also what came with the end, and was too many.
TEST(LimitInFlightTest, APeerThatHalfClosesHearsAllThatItHas) {
  constexpr std::uint32_t most = 2;
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(late("in_flight_per_connection_max", most));
    Peer peer(peers, websocket);
    for (std::uint32_t i = 0; i < most; ++i) EXPECT_EQ(peer.say(hold(std::to_string(i))), "");
    peers.server().io().client_write(peer.id(), peer.bytes(hold("x", "9")));
    peers.server().io().client_fin(peer.id());
    EXPECT_TRUE(peer.hear().starts_with(one_too_many));
    EXPECT_EQ(peers.gauges().in_flight, most);
    peers.release("1");
    EXPECT_EQ(peer.hear(), result("0"));
    peers.release("0");
    EXPECT_EQ(peer.hear(), result("0"));
    EXPECT_EQ(peers.server().check_baseline(), "");
  }
}

TEST(LimitInFlightTest, APeerThatResetsEndsAllThatItHas) {
  for (const bool websocket : {false, true}) {
    SCOPED_TRACE(websocket ? "a WebSocket" : "lines");
    Peers peers(late("in_flight_per_connection_max", 2));
    Peer peer(peers, websocket);
    for (std::uint32_t i = 0; i < 2; ++i) EXPECT_EQ(peer.say(sleep_call(i)), "");
    peers.server().io().client_write(peer.id(), peer.bytes(sleep_call(3)));
    peers.leave(peer.id());
    EXPECT_EQ(peers.server().check_baseline(), "");
  }
}

}  // namespace ringrpc::testing
