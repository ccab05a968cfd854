// Goal: a peer that has been told of the end of its connection hears nothing more: neither what is
// published, nor what calls say that nobody waits for, nor a reset in place of the end.
// Method: a whole worker on the fake kernel, with the methods of ringrpcd.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <map>
#include <string>
#include <string_view>

#include "tests/sim/sim_server.h"
#include "tests/support/conversation_frames.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::sim {
namespace {

using ClientId = testing::FakeIo::ClientId;

constexpr std::string_view subscribe =
    R"({"jsonrpc":"2.0","id":1,"method":"feed.subscribe","params":["a"]})";
constexpr std::string_view subscribed = R"({"jsonrpc":"2.0","result":true,"id":1})";
constexpr std::string_view publish =
    R"({"jsonrpc":"2.0","id":2,"method":"feed.publish","params":["a",7]})";
constexpr std::string_view event =
    R"({"jsonrpc":"2.0","method":"feed.event","params":{"topic":"a","value":7}})";
constexpr std::string_view ticks = R"({"jsonrpc":"2.0","method":"ticks","params":[100,50]})";
const std::string close_frame = ws::test::frame(ws::test::first_close, "\x03\xe8");

std::string text(std::string_view payload) {
  return ws::test::frame(ws::test::first_text, payload);
}
std::string line(std::string_view payload) { return std::string(payload) + "\n"; }

class Ends : public ::testing::Test {
 protected:
  Ends() : server_(std::map<std::string, std::string>{{"methods", "demo"}}) {}

  ClientId open_lines() { return io().connect({}, 1); }
  ClientId open_websocket() {
    const ClientId client = io().connect({}, 0);
    EXPECT_TRUE(say(client, testing::handshake_bytes("/rpc")).starts_with("HTTP/1.1 101 "));
    return client;
  }

  testing::FakeIo& io() { return server_.io(); }

  std::string say(ClientId client, std::string_view bytes) {
    io().client_write(client, bytes);
    std::string heard;
    EXPECT_TRUE(server_.rest(client, heard));
    return heard;
  }
  std::string hear(ClientId client) {
    std::string heard;
    EXPECT_TRUE(server_.rest(client, heard));
    return heard;
  }

  // Somebody else publishes, and time passes.
  void go_on() {
    const ClientId other = open_lines();
    EXPECT_TRUE(say(other, line(publish)).starts_with(R"({"jsonrpc":"2.0","result":true)"));
    server_.pass(200);
    EXPECT_TRUE(server_.rest());
    io().client_reset(other);
    EXPECT_TRUE(server_.rest());
  }

  // It has been told of the end, and that was all.
  void expect_over(ClientId client) {
    EXPECT_TRUE(io().client_at_end(client));
    EXPECT_FALSE(io().client_gone(client));
    go_on();
    EXPECT_EQ(hear(client), "");
    EXPECT_FALSE(io().client_gone(client));
    io().client_fin(client);
    EXPECT_TRUE(server_.rest());
    EXPECT_EQ(server_.check_baseline(), "");
  }

  SimServer server_;
};

TEST_F(Ends, NothingIsPublishedBehindACloseFrame) {
  const ClientId client = open_websocket();
  EXPECT_EQ(say(client, text(subscribe)), ws::test::frame(0x81, subscribed, ""));
  go_on();
  EXPECT_EQ(hear(client), ws::test::frame(0x81, event, ""));
  EXPECT_EQ(say(client, close_frame), ws::test::frame(0x88, "\x03\xe8", ""));
  expect_over(client);
}

TEST_F(Ends, NoCallThatNobodyWaitsForTicksBehindACloseFrame) {
  const ClientId client = open_websocket();
  EXPECT_EQ(say(client, text(ticks)), "");
  server_.pass(120);
  EXPECT_NE(hear(client).find(R"("params":{"n":1})"), std::string::npos);
  EXPECT_EQ(say(client, close_frame), ws::test::frame(0x88, "\x03\xe8", ""));
  expect_over(client);
}

// Nor behind one that its peer is slow to read.
TEST_F(Ends, NothingTicksBehindACloseFrameThatWaits) {
  const ClientId client = open_websocket();
  EXPECT_EQ(say(client, text(subscribe)), ws::test::frame(0x81, subscribed, ""));
  EXPECT_EQ(say(client, text(ticks)), "");
  io().client_stop_reading(client);
  io().client_write(client, close_frame);
  EXPECT_TRUE(server_.rest());
  go_on();
  io().client_resume_reading(client);
  EXPECT_EQ(hear(client), ws::test::frame(0x88, "\x03\xe8", ""));
  expect_over(client);
}

TEST_F(Ends, NothingIsPublishedBehindTheRefusalOfWhatIsNoLine) {
  const ClientId client = open_lines();
  EXPECT_EQ(say(client, line(subscribe)), line(subscribed));
  EXPECT_NE(say(client, "GET / HTTP/1.1\r\n").find("-32700"), std::string::npos);
  expect_over(client);
}

TEST_F(Ends, NoCallThatNobodyWaitsForTicksBehindTheRefusalOfWhatIsNoLine) {
  const ClientId client = open_lines();
  EXPECT_EQ(say(client, line(ticks)), "");
  EXPECT_NE(say(client, "GET / HTTP/1.1\r\n").find("-32700"), std::string::npos);
  expect_over(client);
}

// A publisher that never rests does not keep a subscriber that is to end.
TEST_F(Ends, ASubscriberThatIsRefusedHearsNothingWhileItStillReads) {
  const ClientId client = open_lines();
  EXPECT_EQ(say(client, line(subscribe)), line(subscribed));
  io().client_stop_reading(client);
  io().client_write(client, "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(server_.rest());
  go_on();
  io().client_resume_reading(client);
  EXPECT_EQ(hear(client).find("feed.event"), std::string::npos);
  expect_over(client);
}

TEST_F(Ends, NothingIsPublishedToAPeerThatHasEnded) {
  const ClientId client = open_lines();
  EXPECT_EQ(say(client, line(subscribe)), line(subscribed));
  io().client_fin(client);
  EXPECT_EQ(hear(client), "");
  go_on();
  EXPECT_EQ(hear(client), "");
  EXPECT_EQ(server_.check_baseline(), "");
}

TEST_F(Ends, NothingIsPublishedBehindTheEndOfAServerThatStops) {
  const ClientId lines = open_lines();
  const ClientId websocket = open_websocket();
  EXPECT_EQ(say(lines, line(subscribe)), line(subscribed));
  EXPECT_EQ(say(websocket, text(subscribe)), ws::test::frame(0x81, subscribed, ""));
  const ClientId other = open_lines();
  io().client_write(other, publish.substr(0, 10));
  EXPECT_TRUE(server_.rest());
  server_.begin_stop();
  server_.pass(200);
  EXPECT_EQ(hear(lines), "");
  EXPECT_TRUE(hear(websocket).starts_with("\x88"));
  EXPECT_TRUE(io().client_at_end(lines));
  EXPECT_TRUE(io().client_at_end(websocket));
  EXPECT_NE(say(other, line(publish.substr(10))), "");
  for (const ClientId client : {lines, websocket}) {
    EXPECT_EQ(hear(client), "");
    EXPECT_FALSE(io().client_gone(client));
    io().client_fin(client);
  }
  io().client_fin(other);
  EXPECT_TRUE(server_.rest());
  EXPECT_EQ(server_.check_baseline(), "");
}

// A server that is forced to end gives up a stream whose events wait for a peer that does not read,
// whose handler waits for room, or is held, or has answered.
TEST(ForcedEnds, GiveUpAHandlerThatWaitsForRoom) {
  SimServer server(std::map<std::string, std::string>{{"methods", "late"}});
  const ClientId client = server.io().connect({}, 1);
  server.io().client_stop_reading(client);
  server.io().client_write(
      client, line(R"({"jsonrpc":"2.0","method":"pour","params":[100,50000],"id":1})"));
  EXPECT_TRUE(server.rest());
  EXPECT_TRUE(server.worker().late().busy());
}

TEST(ForcedEnds, GiveUpStreamsThatWaitForRoom) {
  for (const bool answered : {false, true}) {
    SimServer server(std::map<std::string, std::string>{{"methods", "late"}});
    testing::FakeIo& io = server.io();
    const ClientId client = io.connect({}, 1);
    const ClientId other = io.connect({}, 1);
    std::string heard;
    const auto say = [&](ClientId who, const std::string& json) {
      io.client_write(who, line(json));
      heard.clear();
      EXPECT_TRUE(server.rest(other, heard));
    };
    io.client_stop_reading(client);
    say(client, R"({"jsonrpc":"2.0","method":"open","params":["a"],"id":1})");
    const std::string large(limits::unsent_size_max, 'x');
    for (int i = 0; i < 2; ++i) {
      say(other, R"({"jsonrpc":"2.0","method":"say","params":["a",")" + large + R"("],"id":2})");
      EXPECT_EQ(heard, line(R"({"jsonrpc":"2.0","result":"sent","id":2})"));
    }
    if (!answered) continue;
    say(other, R"({"jsonrpc":"2.0","method":"release","params":["a",1],"id":3})");
    EXPECT_EQ(heard, line(R"({"jsonrpc":"2.0","result":true,"id":3})"));
  }
}

}  // namespace
}  // namespace ringrpc::sim
