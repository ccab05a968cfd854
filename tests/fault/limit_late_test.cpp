// Goal: what calls that are answered later may take is held to its limits at n-1, n and n+1: their
// memory, subscriptions, what waits of a stream, and the frames of coroutines. One too many is
// refused with its code and counted, and there is room again when one has ended. Method: a whole
// worker on the fake kernel. Where a limit is in bytes, the bytes that something takes are found
// first, with room for all.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tests/fault/peers.h"
#include "tests/support/conversation.h"

namespace ringrpc::testing {
namespace {

constexpr std::string_view too_large =
    R"({"jsonrpc":"2.0","error":{"code":-31004,"message":"Reply too large",)";

// Returns: the least number for which it holds. Requires: it holds for `most`, and from some number
// on.
std::uint64_t least(std::uint64_t most, const std::function<bool(std::uint64_t)>& holds) {
  std::uint64_t low = 0;
  while (low + 1 < most) {
    const std::uint64_t middle = low + (most - low) / 2;
    (holds(middle) ? most : low) = middle;
  }
  return most;
}

}  // namespace

TEST(LimitLateTest, WhatARequestTakesIsHeldToLateMemorySizeMax) {
  const std::string large = hold(std::string(1000, 'k'));
  Peers roomy(late("late_memory_size_max", 1u << 20));
  EXPECT_EQ(roomy.say(roomy.open(), large), "");
  const std::uint64_t size = roomy.gauges().late_bytes;
  EXPECT_GT(size, 1000u);
  // Requests leave a quarter of it to what is said of them.
  std::uint64_t enough = size;
  while (size + enough / 4 > enough) ++enough;
  for (const std::uint64_t most : {enough - 1, enough, enough + 1}) {
    Peers peers(late("late_memory_size_max", most));
    const ClientId client = peers.open();
    const std::string heard = peers.say(client, large);
    EXPECT_EQ(heard.starts_with(overloaded_by("late_memory")), most < enough) << heard;
    EXPECT_EQ(heard.empty(), most >= enough) << heard;
    EXPECT_EQ(peers.counted(Counter::limit_late_memory), most < enough ? 1u : 0u);
    // One that takes nothing beside its place has room in any case.
    EXPECT_EQ(peers.say(client, hold("small")), "");
    if (most < enough) continue;
    EXPECT_TRUE(peers.say(client, large).starts_with(overloaded));
    peers.release(std::string(1000, 'k'));
    peers.hear(client);
    EXPECT_EQ(peers.gauges().late_bytes, 0u);
    EXPECT_EQ(peers.say(client, large), "");
  }
}

// Else calls that hold all of it would wait for memory to speak, for ever.
TEST(LimitLateTest, RequestsLeaveSomeOfItToWhatIsSaidOfThem) {
  const std::string large = hold(std::string(1000, 'k'));
  Peers roomy(late("late_memory_size_max", 1u << 20));
  EXPECT_EQ(roomy.say(roomy.open(), large), "");
  const std::uint64_t size = roomy.gauges().late_bytes;
  Peers peers(late("late_memory_size_max", 10 * size + 100));
  const ClientId client = peers.open();
  EXPECT_EQ(peers.say(client, call("open", R"({"key":"a"})")), "");
  const ClientId other = peers.open();
  char key = 'a';
  while (peers.say(other, hold(std::string(1000, key))).empty()) ++key;
  EXPECT_EQ(key, 'h');
  EXPECT_EQ(peers.say(peers.open(), call("say", R"({"key":"a","value":7})")), result(R"("sent")"));
  EXPECT_NE(peers.hear(client).find(R"("params":{"value":7})"), std::string::npos);
}

TEST(LimitLateTest, WhatAReplyTakesIsHeldToIt) {
  const std::string value = "\"" + std::string(1000, 'v') + "\"";
  const auto answered = [&value](std::uint64_t most, bool batch) {
    Peers peers(late("late_memory_size_max", most));
    const ClientId client = peers.open();
    EXPECT_EQ(peers.say(client, batch ? "[" + hold("a") + "]" : hold("a")), "");
    peers.release("a", value);
    const std::string heard = peers.hear(client);
    const bool whole = heard.find(value) != heard.npos;
    const std::uint64_t memory = peers.counted(Counter::limit_late_memory);
    const std::uint64_t size = peers.counted(Counter::limit_reply_size);
    const std::string refused = std::string(too_large) + R"("data":{"reason":"late_memory"})";
    EXPECT_TRUE(whole || heard.starts_with((batch ? "[" : "") + refused)) << heard;
    // The batch that the reply goes to may be what finds none.
    EXPECT_EQ(memory, whole ? 0u : 1u) << heard;
    EXPECT_EQ(size, 0u) << heard;
    EXPECT_EQ(peers.gauges().late_bytes, 0u);
    return whole;
  };
  for (const bool batch : {false, true}) {
    const std::uint64_t size =
        least(1u << 20, [&](std::uint64_t most) { return answered(most, batch); });
    EXPECT_GT(size, batch ? 2 * value.size() : value.size());
    EXPECT_FALSE(answered(size - 1, batch));
    EXPECT_TRUE(answered(size, batch));
    EXPECT_TRUE(answered(size + 1, batch));
  }
}

TEST(LimitLateTest, ANotificationIsHeldToIt) {
  // One by one, so that each has the memory for itself.
  const auto sent = [](std::uint64_t most, std::size_t pad) {
    Peers peers(late("late_memory_size_max", most));
    const ClientId client = peers.open();
    EXPECT_EQ(peers.say(client, call("open", R"({"key":"a"})")), "");
    const std::string value = "\"" + std::string(pad, 'x') + "\"";
    const std::string params = R"({"key":"a","value":)" + value + "}";
    // What is said of it is kept, too, until it is answered.
    const std::string said = peers.say(peers.open(), call("say", params));
    const bool is = said == result(R"("sent")");
    EXPECT_TRUE(is || said == result(R"("no room")")) << said;
    EXPECT_EQ(peers.hear(client).find(value) != std::string::npos, is);
    EXPECT_EQ(peers.counted(Counter::limit_late_memory), is ? 0u : 1u);
    return is;
  };
  for (const std::size_t pad : {std::size_t{10}, std::size_t{3000}}) {
    const std::uint64_t size = least(1u << 20, [&](std::uint64_t most) { return sent(most, pad); });
    EXPECT_GT(size, pad);
    EXPECT_FALSE(sent(size - 1, pad));
    EXPECT_TRUE(sent(size, pad));
    EXPECT_TRUE(sent(size + 1, pad));
  }
}

// A stream that found no memory has nothing that could leave and make room: others give it back.
TEST(LimitLateTest, AStreamWithoutMemoryGoesOnWhenOthersHaveGivenItBack) {
  Peers peers(late("late_memory_size_max", 200'000));
  const ClientId stalled = peers.open();
  const ClientId client = peers.open();
  const ClientId other = peers.open();
  EXPECT_EQ(peers.say(stalled, call("open", R"({"key":"a"})")), "");
  peers.server().io().client_stop_reading(stalled);
  const auto say = [&](std::size_t pad) {
    const std::string value = "\"" + std::string(pad, 'x') + "\"}";
    return peers.say(other, call("say", R"({"key":"a","value":)" + value));
  };
  // More than the connection takes, and then as much as there is memory for.
  for (int i = 0; i < 9; ++i) EXPECT_EQ(say(30'000), result(R"("sent")"));
  while (say(1000) == result(R"("sent")")) continue;
  EXPECT_EQ(peers.say(client, call("pour", "[5,5000]")), "");
  peers.server().io().client_resume_reading(stalled);
  peers.hear(stalled);
  peers.server().pass(100);
  const std::string heard = peers.hear(client);
  EXPECT_NE(heard.find(R"("params":{"n":5,)"), std::string::npos) << shown(heard);
  EXPECT_TRUE(heard.ends_with(result("5"))) << shown(heard);
}

TEST(LimitLateTest, WhatIsPublishedIsHeldToIt) {
  const auto published = [](std::uint64_t most) {
    Peers peers({{"methods", "demo"}, {"late_memory_size_max", std::to_string(most)}});
    const ClientId client = peers.open();
    EXPECT_EQ(peers.say(client, call("feed.subscribe", R"(["a"])")), result("true"));
    const std::string heard = peers.say(client, call("feed.publish", R"(["a",5])"));
    const bool is = heard.starts_with(result("true"));
    EXPECT_EQ(heard.find("feed.event") != heard.npos, is) << heard;
    EXPECT_TRUE(is || heard == result("false")) << heard;
    EXPECT_EQ(peers.counted(Counter::events_dropped), is ? 0u : 1u);
    return is;
  };
  const std::uint64_t size = least(1u << 20, published);
  EXPECT_FALSE(published(size - 1));
  EXPECT_TRUE(published(size));
  EXPECT_TRUE(published(size + 1));
}

TEST(LimitLateTest, AConnectionIsHeldToSubscriptionsPerConnectionMax) {
  constexpr int most = limits::subscriptions_per_connection_max;
  Peers peers(Settings{{"methods", "demo"}});
  const ClientId client = peers.open();
  const auto subscribe = [](int topic) {
    return call("feed.subscribe", "[\"t" + std::to_string(topic) + "\"]");
  };
  for (int i = 0; i < most - 1; ++i) ASSERT_EQ(peers.say(client, subscribe(i)), result("true"));
  EXPECT_EQ(peers.say(client, subscribe(most - 1)), result("true"));
  EXPECT_EQ(peers.gauges().subscriptions, limits::subscriptions_per_connection_max);
  EXPECT_TRUE(peers.say(client, subscribe(most)).starts_with(overloaded));
  EXPECT_EQ(peers.counted(Counter::limit_subscriptions), 1u);
  EXPECT_EQ(peers.say(client, subscribe(5)), result("false"));
  EXPECT_EQ(peers.say(client, call("feed.unsubscribe", R"(["t5"])")), result("true"));
  EXPECT_EQ(peers.say(client, subscribe(most)), result("true"));
  EXPECT_TRUE(peers.say(client, subscribe(5)).starts_with(overloaded));
  EXPECT_EQ(peers.say(peers.open(), subscribe(5)), result("true"));
}

TEST(LimitLateTest, AWorkerIsHeldToSubscriptionsMax) {
  constexpr std::uint32_t each = 512;
  constexpr std::uint32_t clients = limits::subscriptions_max / each;
  static_assert(clients * each == limits::subscriptions_max);
  Peers peers({{"methods", "demo"}, {"in_flight_per_connection_max", "2000"}}, clients + 2);
  const auto batch = [](std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
      text += (i == 0 ? "[" : ",") +
              call("feed.subscribe", "[\"t" + std::to_string(i) + "\"]", std::to_string(i));
    }
    return text + "]";
  };
  for (std::uint32_t i = 0; i < clients - 1; ++i) {
    ASSERT_EQ(peers.say(peers.open(), batch(each)).find("error"), std::string::npos) << i;
  }
  const ClientId client = peers.open();
  ASSERT_EQ(peers.say(client, batch(each - 1)).find("error"), std::string::npos);
  EXPECT_EQ(peers.say(client, call("feed.subscribe", R"(["last"])")), result("true"));
  EXPECT_EQ(peers.gauges().subscriptions, limits::subscriptions_max);
  const ClientId other = peers.open();
  EXPECT_TRUE(peers.say(other, call("feed.subscribe", R"(["a"])")).starts_with(overloaded));
  EXPECT_EQ(peers.counted(Counter::limit_subscriptions), 1u);
  peers.leave(client);
  EXPECT_EQ(peers.gauges().subscriptions, limits::subscriptions_max - each);
  EXPECT_EQ(peers.say(other, call("feed.subscribe", R"(["a"])")), result("true"));
}

TEST(LimitLateTest, WhatWaitsOfAStreamIsHeldToStreamQueueSizeMax) {
  for (const int more : {-1, 0, 1}) {
    Peers peers(Settings{{"methods", "late"}});
    const ClientId client = peers.open();
    const auto say = [&peers, other = peers.open()](std::size_t pad) {
      return peers.say(other,
                       call("say", R"({"key":"a","value":")" + std::string(pad, 'x') + "\"}"));
    };
    EXPECT_EQ(peers.say(client, call("open", R"({"key":"a"})")), "");
    EXPECT_EQ(say(0), result(R"("sent")"));
    const std::size_t overhead = peers.hear(client).size() - 1;  // its LF
    // From here on nothing is read: so much more is sent, and what follows waits.
    peers.server().io().client_stop_reading(client);
    EXPECT_EQ(say(limits::unsent_size_max), result(R"("sent")"));
    EXPECT_EQ(say(100), result(R"("sent")"));
    const std::size_t left = limits::stream_queue_size_max - (overhead + 100);
    const std::size_t size = more < 0 ? left - 1 : left + static_cast<std::size_t>(more);
    EXPECT_EQ(say(size - overhead), result(more > 0 ? R"("no room")" : R"("sent")")) << more;
    // One of any size is taken when nothing waits.
    peers.server().io().client_resume_reading(client);
    peers.hear(client);
    peers.server().io().client_stop_reading(client);
    EXPECT_EQ(say(limits::unsent_size_max), result(R"("sent")"));
    EXPECT_EQ(say(limits::stream_queue_size_max + 1), result(R"("sent")"));
    EXPECT_EQ(say(0), result(R"("no room")"));
  }
}

// Two streams on one connection: what the second one has said waits behind the first one, which
// must not wait for it.
TEST(LimitLateTest, WhatIsHeldBehindAStreamDoesNotKeepItFromSpeaking) {
  Peers peers(Settings{{"methods", "late"}});
  const ClientId client = peers.server().io().connect({}, 0);
  const auto post = [](std::string_view json) {
    return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Accept: application/json, text/event-stream\r\nContent-Length: " +
           std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
  };
  const std::string both =
      post(call("open", R"({"key":"a"})")) + post(call("pour", "[10,50000]", "2"));
  EXPECT_EQ(peers.say_bytes(client, both), "");
  const ClientId other = peers.open();
  for (const char* const value : {"7", "8"}) {
    EXPECT_EQ(peers.say(other, call("say", R"({"key":"a","value":)" + std::string(value) + "}")),
              result(R"("sent")"));
    EXPECT_NE(peers.hear(client).find(R"("params":{"value":)" + std::string(value) + "}"),
              std::string::npos);
  }
  peers.release("a");
  const std::string rest = peers.hear(client);
  EXPECT_GT(rest.size(), 500'000u);
  EXPECT_NE(rest.find(R"("result":10,"id":2})"), std::string::npos);
}

// What has come of a request behind a stream: half a head, half a body, half of one that is
// refused.
struct HalfOfARequest {
  std::string_view half;
  std::string_view rest;
  std::uint32_t time_ms;  // from the end of the stream on
  std::string_view answer;
};
constexpr HalfOfARequest halves[] = {
    {"POST /rpc HTTP/1.1\r\nHost: local",
     "host\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]",
     limits::head_timeout_ms, "-32600"},
    {"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
     "Content-Length: 2\r\n\r\n[",
     "]", limits::body_grace_ms, "-32600"},
    {"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n[", "]",
     limits::body_grace_ms, "HTTP/1.1 404 "}};

// A stream beats for as long as it runs, and its peer, which waits for it, is not cut for what it
// has sent behind it.
TEST(LimitLateTest, HalfARequestBehindAStreamHasItsTimeFromTheStreamsEndOn) {
  constexpr std::uint32_t moment_ms = 2 * limits::timer_slot_ms;
  for (const HalfOfARequest& one : halves) {
    for (const bool whole : {true, false}) {
      Peers peers(Settings{{"methods", "late"}});
      const ClientId client = peers.open_http();
      const std::string open = call("open", R"({"key":"a"})");
      EXPECT_EQ(peers.say_bytes(client,
                                "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                "application/json\r\nAccept: application/json, "
                                "text/event-stream\r\nContent-Length: " +
                                    std::to_string(open.size()) + "\r\n\r\n" + open +
                                    std::string(one.half)),
                "");
      for (std::uint64_t beats = 1; beats <= 5; ++beats) {
        peers.server().pass(limits::heartbeat_ms + moment_ms);
        EXPECT_NE(peers.hear(client).find(":\n\n"), std::string::npos) << one.half;
        EXPECT_EQ(peers.counted(Counter::heartbeats), beats);
      }
      peers.release("a", "7");
      std::string heard = peers.hear(client);
      EXPECT_NE(heard.find(R"("result":7,"id":1})"), std::string::npos);
      peers.server().pass(one.time_ms - moment_ms);
      const auto timeouts = [&peers] {
        return peers.counted(Counter::limit_head_timeout) + peers.counted(Counter::limit_body_rate);
      };
      EXPECT_EQ(timeouts(), 0u) << one.half;
      if (whole) {
        heard += peers.say_bytes(client, one.rest);
        EXPECT_NE(heard.find(one.answer), heard.npos) << heard;
        const std::string next = peers.say_bytes(
            client,
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\n\r\n[]");
        EXPECT_TRUE(next.starts_with("HTTP/1.1 200 ")) << next;
      } else {
        peers.server().pass(2 * moment_ms);
        EXPECT_EQ(timeouts(), 1u) << one.half;
      }
    }
  }
}

TEST(LimitLateTest, FramesAreHeldToFrameMemorySizeMax) {
  constexpr std::uint32_t chunk = 64u << 10;
  Peers peers({{"methods", "late"},
               {"frame_memory_size_max", std::to_string(2 * chunk)},
               {"in_flight_per_connection_max", "2000"}});
  const ClientId client = peers.open();
  const auto waits = [](std::uint32_t id) {
    return call("co.sleep", R"({"n":3600000})", std::to_string(id));
  };
  std::uint32_t each = 0;  // frames of a chunk
  while (peers.gauges().frame_bytes <= chunk) ASSERT_EQ(peers.say(client, waits(each++)), "");
  --each;
  ASSERT_GT(each, 10u);
  for (std::uint32_t i = each + 1; i < 2 * each; ++i) ASSERT_EQ(peers.say(client, waits(i)), "");
  EXPECT_EQ(peers.gauges().frame_bytes, 2 * chunk);
  EXPECT_EQ(peers.counted(Counter::limit_frame_memory), 0u);
  EXPECT_TRUE(peers.say(client, waits(9999)).starts_with(overloaded_by("frame_memory")));
  EXPECT_EQ(peers.counted(Counter::limit_frame_memory), 1u);
  EXPECT_NE(peers.say(client, call("rpc.cancel", R"({"id":5})", "")).find("-31006"),
            std::string::npos);
  EXPECT_EQ(peers.say(client, waits(5)), "");
  EXPECT_TRUE(peers.say(client, waits(9999)).starts_with(overloaded_by("frame_memory")));
}

}  // namespace ringrpc::testing
