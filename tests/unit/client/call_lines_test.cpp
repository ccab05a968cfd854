// Goal: on stream transports replies find their calls by id, in any order and in any pieces;
// notifications, deadlines, cancelling and lost connections do what the header says.
// Method: a scripted server with lines of JSON, in the same thread.

#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/client/started.h"

namespace ringrpc::client_test {
namespace {

std::string notification(std::string_view method, std::string_view params) {
  return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":)" +
         std::string(params) + "}\n";
}

TEST(LineCall, RepliesFindTheirCallsInAnyOrder) {
  for (const bool local : {false, true}) {
    Peer peer(local);
    Client client(peer.url(local ? "unix" : "tcp"), fast());
    Started first(client, "[1,\n1]");
    Started second(client, "[2]");
    Started third(client);
    peer.accept(client);
    EXPECT_EQ(R"({"jsonrpc":"2.0","method":"sum","params":[1,1],"id":1})", peer.read_line(client));
    EXPECT_EQ("2", id_of(peer.read_line(client)));
    EXPECT_EQ("3", id_of(peer.read_line(client)));
    peer.write(result("3", "30") + "\r\n\r\n \n" + result("1", "10") + "\n");
    EXPECT_EQ(30, *third.wait());
    EXPECT_EQ(10, *first.wait());
    EXPECT_FALSE(second.done());
    peer.write(error("2", 5) + "\n");
    EXPECT_EQ(5, second.wait().error().code);
    EXPECT_EQ(1u, client.stats().connects);
  }
}

TEST(LineCall, AReplyMayComeInAnyPieces) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  const std::size_t size = result("100", "5").size() + 2;
  for (std::size_t cut = 0; cut <= size; ++cut) {
    Started call(client);
    if (!peer.is_connected()) peer.accept(client);
    const std::string answer = result(id_of(peer.read_line(client)), "5") + "\r\n";
    peer.write(std::string_view(answer).substr(0, cut));
    client.poll(1);
    peer.write(std::string_view(answer).substr(std::min(cut, answer.size())));
    ASSERT_TRUE(call.wait().ok()) << cut;
  }
}

TEST(LineCall, AnEndAtAnyByteFailsWhatIsInFlight) {
  const std::string answer = result("1", "5");
  for (std::size_t size = 0; size <= answer.size(); ++size) {
    Peer peer;
    Client client(peer.url("tcp"), fast(3));
    Started call(client);
    Started other(client);
    peer.accept(client);
    peer.read_line(client);
    peer.read_line(client);
    peer.write(std::string_view(answer).substr(0, size));
    peer.finish();
    EXPECT_EQ(FailureKind::disconnected, call.wait().failure().kind) << size;
    EXPECT_EQ(FailureKind::disconnected, other.wait().failure().kind) << size;
    EXPECT_TRUE(call.wait().failure().may_have_run);
    EXPECT_EQ(0u, client.stats().retries);
  }
}

TEST(LineCall, WhatIsForeignIsDroppedAndCounted) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  Started call(client);
  peer.accept(client);
  peer.read_line(client);
  peer.write(result("9", "1") + "\n" + result("\"1\"", "1") + "\n" + error("7", 1) + "\n");
  peer.write("garbage\n{}\n[1,2]\n{\"id\":1}\n\xFF\n" + result("1.0", "1") + "\n");
  peer.write(result("1", "4") + "\n" + result("1", "5") + "\n");
  EXPECT_EQ(4, *call.wait());
  ASSERT_TRUE(turn_until(client, [&] { return client.stats().unknown_replies == 5; }));
  EXPECT_EQ(6u, client.stats().bad_messages);
}

TEST(LineCall, AnErrorWithoutAnIdIsForTheOnlyCallElseForTheOnlyBatch) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  Started call(client);
  peer.accept(client);
  peer.read_line(client);
  peer.write(error("null", -32600) + "\n");
  EXPECT_EQ(-32600, call.wait().error().code);
  Started first(client);
  Started second(client);
  peer.read_line(client);
  peer.read_line(client);
  peer.write(error("null", -32600) + "\n" + result("2", "1") + "\n" + result("3", "1") + "\n");
  EXPECT_TRUE(first.wait().ok() && second.wait().ok());
  EXPECT_EQ(1u, client.stats().unknown_replies);
}

TEST(LineCall, AServerThatAsksIsToldThatThereIsNoMethod) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  Started call(client);
  peer.accept(client);
  peer.read_line(client);
  peer.write(R"({"jsonrpc":"2.0","method":"ping","id":"a"})"
             "\n");
  EXPECT_EQ(R"({"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":"a"})",
            peer.read_line(client));
  peer.write(result("1", "1") + "\n");
  EXPECT_TRUE(call.wait().ok());
}

TEST(LineCall, EventsGoToTheOldestCallThatTakesThem) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  std::vector<std::string> seen;
  client.on_notification([&](const Notification& event) {
    seen.push_back("client " + std::string(event.method) + " " + std::string(event.params));
  });
  CallOptions picky;
  picky.on_event = [&](const Notification& event) {
    if (event.method != "a") return false;
    struct Params {
      int n;
    };
    seen.push_back("first " + std::to_string(event.as<Params>().value().n));
    return true;
  };
  CallOptions any;
  any.on_event = [&](const Notification& event) {
    seen.push_back("second " + std::string(event.text));
  };
  Started plain(client);
  Started first(client, "[]", picky);
  Started second(client, "[]", any);
  peer.accept(client);
  for (int i = 0; i < 3; ++i) peer.read_line(client);
  peer.write(notification("a", "{\"n\":1}") + "{\"method\":\"b\"}\n" + result("3", "1") + "\n" +
             notification("b", "[2]") + notification("a", "{\"n\":3}") + result("2", "1") + "\n" +
             notification("a", "[ 4]") + result("1", "1") + "\n");
  EXPECT_TRUE(plain.wait().ok() && first.wait().ok() && second.wait().ok());
  EXPECT_EQ((std::vector<std::string>{"first 1", "second {\"method\":\"b\"}", "client b [2]",
                                      "first 3", "client a [ 4]"}),
            seen);
  EXPECT_EQ(5u, client.stats().notifications);
}

TEST(LineCall, NotificationsComeWithoutACallAndNobodyMayTakeThem) {
  Peer peer;
  ClientOptions options = fast();
  options.stay_connected = true;
  Client client(peer.url("tcp"), options);
  peer.accept(client);
  peer.write(notification("a", "[1]"));
  ASSERT_TRUE(turn_until(client, [&] { return client.stats().unclaimed == 1; }));
  int seen = 0;
  client.on_notification([&](const Notification&) { ++seen; });
  peer.write(notification("a", "[1]"));
  ASSERT_TRUE(turn_until(client, [&] { return seen == 1; }));
}

TEST(LineCall, ATimeoutTellsTheServerAndALateReplyIsDropped) {
  Peer peer;
  Client client(peer.url("tcp"), fast(3));
  Started call(client, "[1]", {.timeout_ms = 20});
  Started other(client);
  peer.accept(client);
  peer.read_line(client);
  peer.read_line(client);
  EXPECT_EQ(FailureKind::timed_out, call.wait().failure().kind);
  EXPECT_TRUE(call.wait().failure().may_have_run);
  EXPECT_EQ(R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}})", peer.read_line(client));
  peer.write(result("1", "1") + "\n" + result("2", "2") + "\n");
  EXPECT_EQ(2, *other.wait());
  EXPECT_EQ(1u, client.stats().unknown_replies);
}

TEST(LineCall, CancellingTellsTheServer) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  Started queued(client);
  EXPECT_TRUE(client.cancel(queued.number));
  Started call(client);
  peer.accept(client);
  EXPECT_EQ("2", id_of(peer.read_line(client)));
  EXPECT_EQ(FailureKind::cancelled, queued.wait().failure().kind);
  EXPECT_FALSE(queued.wait().failure().may_have_run);
  EXPECT_TRUE(client.cancel(call.number));
  EXPECT_EQ(R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":2}})", peer.read_line(client));
  EXPECT_EQ(FailureKind::cancelled, call.wait().failure().kind);
  EXPECT_TRUE(call.wait().failure().may_have_run);
}

TEST(LineCall, APendingThatEndsCancelsItsCall) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  {
    auto kept = client.begin<int>("a");
    auto dropped = client.begin<int>("b");
    peer.accept(client);
    peer.read_line(client);
    peer.read_line(client);
    dropped = std::move(kept);
    EXPECT_EQ(R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":2}})",
              peer.read_line(client));
    peer.write(result("1", "8") + "\n");
    ASSERT_TRUE(turn_until(client, [&] { return dropped.ready(); }));
    EXPECT_EQ(8, *dropped.get());
    EXPECT_EQ(FailureKind::none, dropped.get().failure().kind);
  }
  client.poll(0);
  EXPECT_EQ(0u, client.in_flight());
}

TEST(LineCall, RefusalsAreTriedAgainAndOtherErrorsStand) {
  Peer peer;
  Client client(peer.url("tcp"), fast(2));
  Started call(client);
  peer.accept(client);
  peer.write(error(id_of(peer.read_line(client)), -31001, R"({"retryAfterMs":1})") + "\n");
  peer.write(error(id_of(peer.read_line(client)), -32603) + "\n");
  const std::string last = id_of(peer.read_line(client));
  EXPECT_EQ("3", last);
  peer.write(error(last, -31002) + "\n");
  EXPECT_EQ(-31002, call.wait().error().code);
}

TEST(LineCall, ItConnectsAgainAndSaysSo) {
  Peer peer;
  ClientOptions options = fast();
  options.stay_connected = true;
  Client client(peer.url("tcp"), options);
  std::string said;
  client.on_connect([&](bool again) {
    said += again ? 'a' : 'f';
    client.start<int>("feed.subscribe", "[]", [](Answer<int>) {});
  });
  for (int i = 0; i < 3; ++i) {
    peer.accept(client);
    EXPECT_NE(std::string::npos, peer.read_line(client).find("feed.subscribe"));
    peer.close();
  }
  EXPECT_EQ("faa", said);
}

TEST(LineCall, AServerThatEndsEachConnectionIsNotAskedAllTheTime) {
  Peer peer;
  ClientOptions options = fast();
  options.stay_connected = true;
  options.backoff_ms = options.backoff_max_ms = 600'000;
  Client client(peer.url("tcp"), options);
  peer.accept(client);
  ASSERT_TRUE(turn_until(client, [&] { return client.connected(); }));
  peer.close();
  ASSERT_TRUE(turn_until(client, [&] { return !client.connected(); }));
  for (int i = 0; i < 20; ++i) client.poll(0);
  EXPECT_EQ(1u, client.stats().connects);
  EXPECT_FALSE(peer.has_caller());
  Started call(client);  // a call does not wait for that
  peer.accept(client);
  peer.write(result(id_of(peer.read_line(client)), "1") + "\n");
  EXPECT_TRUE(call.wait().ok());
}

TEST(LineCall, ABatchMayBeAnsweredWholeOrOneByOne) {
  const std::string one = result("1", "10");
  const std::string two = result("2", "20");
  struct Case {
    std::string reply;
    std::string first, second;
  };
  const std::string missing = "the server answered other calls of the batch, and not this one";
  for (const Case& is : {Case{"[" + two + "," + one + "]", "", ""}, Case{two + "\n" + one, "", ""},
                         Case{one + "\n[" + two + "]", "", ""}, Case{"[" + two + "]", missing, ""},
                         Case{"[" + two + ",5," + result("7", "1") + "]", missing, ""},
                         Case{error("null", -31005), "error -31005: m", "error -31005: m"},
                         Case{two + "\n" + error("null", -31008), "error -31008: m", ""}}) {
    Peer peer;
    Client client(peer.url("tcp"), fast());
    Batch batch;
    const auto first = batch.call<int>("a");
    const auto second = batch.call<int>("b");
    batch.notify("c");
    std::optional<Batch> answered;
    client.start(std::move(batch), [&](Batch&& came) { answered.emplace(std::move(came)); });
    peer.accept(client);
    EXPECT_EQ('[', peer.read_line(client)[0]);
    peer.write(is.reply + "\n");
    ASSERT_TRUE(turn_until(client, [&] { return answered.has_value(); })) << is.reply;
    EXPECT_FALSE(answered->failure());
    EXPECT_EQ(is.first, answered->take(first).sentence()) << is.reply;
    EXPECT_EQ(is.second, answered->take(second).sentence()) << is.reply;
  }
}

TEST(LineCall, AnEmptyBatchIsNotSent) {
  Client client("tcp://127.0.0.1:1", fast());
  std::string said;
  client.start(Batch(), [&](Batch&& came) { said = came.failure().sentence; });
  EXPECT_TRUE(client.run());
  EXPECT_EQ("the batch is empty", said);
}

TEST(LineCall, ALineOverTheLimitEndsTheConnection) {
  ClientOptions options = fast();
  options.reply_size_max = 100;
  for (const bool whole : {true, false}) {
    for (const std::size_t size : {99u, 100u, 101u}) {
      Peer peer;
      Client client(peer.url("tcp"), options);
      Started call(client);
      peer.accept(client);
      peer.read_line(client);
      const std::string reply = result("1", "5");
      peer.write(reply + std::string(size - reply.size(), ' ') + (whole ? "\n" : ""));
      if (size > 100) {
        EXPECT_EQ(FailureKind::too_large, call.wait().failure().kind) << size;
      } else {
        if (!whole) peer.write("\n");
        EXPECT_TRUE(call.wait().ok()) << size;
      }
    }
  }
}

TEST(LineCall, OnlySoManyCallsAreInFlight) {
  Peer peer;
  ClientOptions options = fast();
  options.calls_max = 2;
  Client client(peer.url("tcp"), options);
  Started first(client);
  Started second(client);
  Started third(client);
  EXPECT_EQ(FailureKind::too_large, third.wait().failure().kind);
  EXPECT_FALSE(third.wait().failure().may_have_run);
  peer.accept(client);
  peer.read_line(client);
  peer.write(result("1", "1") + "\n");
  EXPECT_TRUE(first.wait().ok());
  Started fourth(client);
  peer.read_line(client);
  EXPECT_NE("", id_of(peer.read_line(client)));
}

TEST(LineCall, ManyCallsInFlightAreAnsweredBackwards) {
  constexpr int count = 5000;
  Peer peer;
  Client client(peer.url("tcp"), fast());
  std::vector<int> answers;
  for (int i = 0; i < count; ++i) {
    client.start<int>("a", "[]", [&](Answer<int> answer) { answers.push_back(*answer); });
  }
  peer.accept(client);
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) ids.push_back(id_of(peer.read_line(client)));
  for (; !ids.empty(); ids.pop_back()) peer.write(result(ids.back(), ids.back()) + "\n");
  ASSERT_TRUE(turn_until(client, [&] { return client.in_flight() == 0; }));
  ASSERT_EQ(static_cast<std::size_t>(count), answers.size());
  EXPECT_EQ(count, answers.front());
  EXPECT_EQ(1, answers.back());
}

TEST(LineCall, CallbacksMayStartCallsAndNotWaitForThem) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  std::string said;
  client.start<int>("a", "[]", [&](Answer<int> answer) {
    said += answer ? "a" : "x";
    EXPECT_EQ(FailureKind::not_sent, client.call<int>("b").failure().kind);
    EXPECT_EQ(FailureKind::not_sent, client.notify("b").kind);
    EXPECT_TRUE(client.run() || client.in_flight() > 0);
    client.start<int>("c", "[]", [&](Answer<int> other) { said += other ? "c" : "x"; });
  });
  peer.accept(client);
  peer.read_line(client);
  peer.write(result("1", "1") + "\n");
  EXPECT_NE(std::string::npos, peer.read_line(client).find("\"c\""));
  peer.write(result("2", "1") + "\n");
  ASSERT_TRUE(turn_until(client, [&] { return said == "ac"; }));
}

TEST(LineCall, AnExceptionOfACallbackLeavesThePollThatRanIt) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  int other = 0;
  client.start<int>("a", "[]", [](Answer<int>) { throw 7; });
  client.start<int>("a", "[]", [&](Answer<int> answer) { other = answer.value(); });
  peer.accept(client);
  peer.read_line(client);
  peer.read_line(client);
  peer.write(result("1", "1") + "\n" + result("2", "3") + "\n");
  int thrown = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      turn_until(client, [&] { return other != 0; });
    } catch (int value) {
      thrown += value;
    }
  }
  EXPECT_EQ(7, thrown);
  EXPECT_EQ(3, other);
}

TEST(LineCall, InterruptEndsOneWait) {
  Client client("tcp://127.0.0.1:1", fast());
  client.interrupt();
  client.poll(-1);  // comes back
  Peer peer;
  Client other(peer.url("tcp"), fast());
  Started call(other);
  other.interrupt();
  EXPECT_FALSE(other.run());
}

TEST(LineCall, ACallThatWaitsIsWokenByWhateverHappens) {
  for (const std::string_view scheme : {"tcp", "unix"}) {
    Peer peer(scheme == "unix");
    ClientOptions options = fast();
    options.timeout_ms = 0;
    Client client(peer.url(scheme), options);
    std::thread server([&] {
      Client unused("tcp://127.0.0.1:1");
      peer.accept(unused);
      peer.write(result(id_of(peer.read_line(unused)), "5") + "\n");
      for (int i = 0; i < 3; ++i) EXPECT_NE("", peer.read_line(unused));
    });
    EXPECT_EQ(5, *client.call<int>("a"));
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(client.notify("b"));
    server.join();
    peer.close();
    peer.stop_listening();
    EXPECT_TRUE(client.call<int>("a").failed());
    EXPECT_EQ(FailureKind::unreachable, client.call<int>("a").failure().kind);
  }
}

TEST(LineCall, ARawMessageIsOneLineAndTakesWhicheverReplyComes) {
  Peer peer;
  Client client(peer.url("tcp"), fast());
  std::thread server([&] {
    Client unused("tcp://127.0.0.1:1");
    peer.accept(unused);
    EXPECT_EQ("{\"id\":1  x", peer.read_line(unused));
    peer.write(notification("a", "[]") + error("null", -32700) + "\n");
  });
  const Exchange done = client.exchange({.text = "{\"id\":1\r\nx", .any_reply = true});
  server.join();
  EXPECT_FALSE(done.failure) << done.failure.sentence;
  EXPECT_EQ(error("null", -32700), done.body);
}

}  // namespace
}  // namespace ringrpc::client_test
