// Goal: calls over HTTP end as their responses say, whatever the pieces, and tries follow the
// rules. Method: a scripted server on the loopback, in the same thread.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/client/started.h"

namespace ringrpc::client_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(HttpCall, TheRequestSaysWhatIsAsked) {
  Peer peer;
  Client client(peer.url("http") + "/x?y", {.headers = {{"X-A", "b"}, {"accept", "c/d"}}});
  Started call(client, R"( {"a": 2,
    "b":3})");
  peer.accept(client);
  const std::string request = peer.read_request(client);
  const std::string host = peer.url("http").substr(7);
  const std::string body = R"({"jsonrpc":"2.0","method":"sum","params":{"a": 2,    "b":3},"id":1})";
  EXPECT_EQ("POST /x?y HTTP/1.1\r\nHost: " + host +
                "\r\nContent-Type: application/json\r\nX-A: b\r\naccept: c/d\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body,
            request);
  peer.write(http(result("1", "5")));
  ASSERT_TRUE(call.wait().ok()) << call.wait().sentence();
  EXPECT_EQ(5, *call.wait());
}

TEST(HttpCall, AConnectionIsUsedAgainAndIdsAreNot) {
  Peer peer;
  Client client(peer.url("http"));
  peer.stop_listening();
  Peer other;
  Client second(other.url("http"));
  for (int i = 1; i <= 3; ++i) {
    Started call(second);
    if (i == 1) other.accept(second);
    EXPECT_EQ(std::to_string(i), id_of(other.read_request(second)));
    other.write(http(result(std::to_string(i), "7")));
    EXPECT_EQ(7, *call.wait());
  }
  EXPECT_EQ(1u, second.stats().connects);
}

std::string chunk(std::string_view bytes) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

// The same answer in one of three frames.
std::string framed(int kind, const std::string& body) {
  const std::string ok = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
  if (kind == 0) return http(body);
  if (kind == 1) {
    return "HTTP/1.1 103 x\r\nA: b\r\n\r\n" + ok + "\r\n" + chunk(body.substr(0, 3)) +
           chunk(body.substr(3)) + "0\r\n\r\n";
  }
  return ok + "Content-Type: text/event-stream\r\n\r\n" + chunk(": hello\r\n\r\nda") +
         chunk("ta:" + body + "\r") + chunk("\n\n") + "0\r\n\r\n";
}

TEST(HttpCall, AResponseMayComeInAnyPieces) {
  Peer peer;
  Client client(peer.url("http"));
  for (int kind = 0; kind < 3; ++kind) {
    // As long as with the longest id.
    const std::size_t size = framed(kind, result("1000", "5")).size();
    for (std::size_t cut = 0; cut < size; ++cut) {
      Started call(client);
      const std::string answer = framed(kind, result(id_of(peer.read_request(client)), "5"));
      peer.write(std::string_view(answer).substr(0, cut));
      client.poll(1);
      client.poll(0);
      peer.write(std::string_view(answer).substr(std::min(cut, answer.size())));
      ASSERT_TRUE(call.wait().ok()) << kind << " cut at " << cut << call.wait().sentence();
    }
    // An event may be the whole answer before its response ends; then others do not wait.
    EXPECT_TRUE(kind == 2 || client.stats().connects == 1) << client.stats().connects;
  }
}

TEST(HttpCall, AnEndAtAnyByteIsAFailureThatMayHaveRun) {
  for (const bool chunked : {false, true}) {
    const std::string body = result("1", "5");
    const std::string whole = framed(chunked ? 1 : 0, body);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      for (const bool reset : {false, true}) {
        Peer peer;
        Client client(peer.url("http"), fast(3));
        Started call(client);
        peer.accept(client);
        peer.read_request(client);
        peer.write(whole.substr(0, size));
        if (reset) {
          client.poll(0);
          peer.reset();
        } else {
          peer.close();
        }
        ASSERT_TRUE(call.wait().failed()) << size;
        EXPECT_EQ(FailureKind::disconnected, call.wait().failure().kind) << size;
        EXPECT_TRUE(call.wait().failure().may_have_run);
        EXPECT_EQ(0u, client.stats().retries);
        EXPECT_EQ(0u, client.in_flight());
      }
    }
  }
}

TEST(HttpCall, WhatIsNoReplyIsAFailureWithAReason) {
  struct Case {
    std::string response;
    FailureKind kind;
    std::string_view words;
  };
  const std::vector<Case> cases = {
      {"SSH-2.0-OpenSSH\r\n\r\n", FailureKind::bad_reply, "not HTTP/1.x"},
      {http("<html>"), FailureKind::bad_reply, "no JSON-RPC reply: HTTP/1.1 200 OK"},
      {http("<html>", "", "502 Bad Gateway"), FailureKind::http_status, "502 Bad Gateway"},
      {http("", "", "404 Not Found"), FailureKind::http_status, "404 Not Found"},
      {"HTTP/1.1 204 No Content\r\n\r\n", FailureKind::http_status, "204 No Content"},
      {http(result("77", "1")), FailureKind::bad_reply, "the reply's id is 77"},
      {http(result("\"1\"", "1")), FailureKind::bad_reply, "the reply's id is \"1\""},
      {http(R"({"id":1,"result":1}})"), FailureKind::bad_reply, "no JSON-RPC reply"},
      {http(R"({"id":1,"result":"x"})"), FailureKind::bad_reply, "must be an integer"},
      {http("", "Upgrade: x\r\n", "101 Switching Protocols"), FailureKind::bad_reply, "switched"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", FailureKind::too_large, "too large"},
      {"HTTP/1.1 200 OK\r\n\r\n" + std::string(101, 'x'), FailureKind::too_large, "too large"},
      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + std::string(101, 'x'),
       FailureKind::too_large, "larger than reply_size_max"},
  };
  for (const Case& one : cases) {
    Peer peer;
    ClientOptions options = fast(3);
    options.reply_size_max = 100;
    Client client(peer.url("http"), options);
    Started call(client);
    peer.accept(client);
    peer.read_request(client);
    peer.write(one.response);
    EXPECT_EQ(one.kind, call.wait().failure().kind) << one.response << call.wait().sentence();
    EXPECT_NE(std::string::npos, call.wait().sentence().find(one.words)) << call.wait().sentence();
    EXPECT_EQ(0u, client.stats().retries);
  }
}

TEST(HttpCall, AnErrorIsAnAnswerAlsoWithoutAnIdAndWithAnotherStatus) {
  for (const std::string_view status : {"200 OK", "404 Not Found", "500 x"}) {
    for (const std::string_view id : {"1", "null"}) {
      Peer peer;
      Client client(peer.url("http"), fast(3));
      Started call(client);
      peer.accept(client);
      peer.read_request(client);
      peer.write(http(error(id, -32601, "[1]"), "", status));
      ASSERT_TRUE(call.wait().is_error()) << call.wait().sentence();
      EXPECT_EQ(-32601, call.wait().error().code);
      EXPECT_EQ("[1]", call.wait().error().data);
      EXPECT_EQ("error -32601: m [1]", call.wait().sentence());
    }
  }
}

TEST(HttpCall, RefusalsAreTriedAgainWithAFreshId) {
  const std::vector<std::string> refusals = {http("", "Retry-After: 0\r\n", "503 Busy"),
                                             http("", "", "429 Slow"), "-31001", "-31002"};
  for (const std::string& refusal : refusals) {
    Peer peer;
    Client client(peer.url("http"), fast(3));
    std::vector<std::string> notes;
    CallOptions options;
    options.on_retry = [&](Retry& retry) {
      notes.push_back(std::to_string(retry.number) + "/" + std::to_string(retry.most) + " " +
                      std::to_string(retry.exchange.http_status));
      EXPECT_LE(retry.wait_s, 0.002);
    };
    Started call(client, "[1]", options);
    peer.accept(client);
    const std::string first = peer.read_request(client);
    peer.write(refusal[0] == '-' ? http(error(id_of(first), std::stoi(refusal))) : refusal);
    const std::string second = peer.read_request(client);
    EXPECT_EQ("1", id_of(first));
    EXPECT_EQ("2", id_of(second));
    peer.write(http(result("2", "9")));
    EXPECT_EQ(9, *call.wait());
    ASSERT_EQ(1u, notes.size());
    EXPECT_EQ("1/3 ", notes[0].substr(0, 4));
  }
}

TEST(HttpCall, ADefectIsTriedAgainOnceAndInvalidParamsNever) {
  for (const auto& [code, tries] : {std::pair(-32603, 2), std::pair(-32602, 1)}) {
    Peer peer;
    Client client(peer.url("http"), fast(5));
    Started call(client);
    peer.accept(client);
    for (int i = 0; i < tries; ++i) {
      peer.write(http(error(id_of(peer.read_request(client)), code)));
    }
    ASSERT_TRUE(call.wait().is_error());
    EXPECT_EQ(code, call.wait().error().code);
    EXPECT_EQ(static_cast<unsigned>(tries), client.stats().sent);
  }
}

TEST(HttpCall, RetryAfterIsWaitedFor) {
  Peer peer;
  Client client(peer.url("http"), fast(1));
  Started call(client);
  peer.accept(client);
  const auto begin = steady_clock::now();
  peer.write(http(error(id_of(peer.read_request(client)), -31001, R"({"retryAfterMs":50})")));
  peer.write(http(result(id_of(peer.read_request(client)), "1")));
  EXPECT_TRUE(call.wait().ok());
  EXPECT_GE(steady_clock::now() - begin, milliseconds(50));
}

TEST(HttpCall, AServerThatAsksForTooLongIsNotWaitedFor) {
  Peer peer;
  Client client(peer.url("http"), fast(3));
  bool given_up = false;
  CallOptions options;
  options.on_retry = [&](Retry& retry) { given_up = retry.given_up && retry.wait_s == 61; };
  Started call(client, "[1]", options);
  peer.accept(client);
  peer.read_request(client);
  peer.write(http("", "Retry-After: 61\r\n", "503 Busy"));
  EXPECT_EQ(FailureKind::http_status, call.wait().failure().kind);
  EXPECT_FALSE(call.wait().failure().may_have_run);
  EXPECT_TRUE(given_up);
}

TEST(HttpCall, ATryThatWouldComeTooLateIsNotWaitedFor) {
  Peer peer;
  Client client(peer.url("http"), fast(3));
  Started call(client, "[1]", {.timeout_ms = 10'000});
  peer.accept(client);
  peer.write(
      http(error(id_of(peer.read_request(client)), -31001), "Retry-After: 11\r\n", "503 Busy"));
  EXPECT_EQ(-31001, call.wait().error().code);
  EXPECT_EQ(1u, client.stats().sent);
}

TEST(HttpCall, ABatchOfWhichSomethingHasRunIsNotSentAgain) {
  Peer peer;
  Client client(peer.url("http"), fast(3));
  Batch batch;
  const auto first = batch.call<int>("a");
  const auto second = batch.call<int>("b");
  std::optional<Batch> answered;
  client.start(std::move(batch), [&](Batch&& came) { answered.emplace(std::move(came)); });
  peer.accept(client);
  peer.read_request(client);
  peer.write(http("[" + result("1", "5") + "," + error("2", -31001) + "]", "", "503 Busy"));
  ASSERT_TRUE(turn_until(client, [&] { return answered.has_value(); }));
  EXPECT_EQ(5, *answered->take(first));
  EXPECT_EQ(-31001, answered->take(second).error().code);
}

TEST(HttpCall, ABodyHasALimitInEachFrame) {
  const std::string reply = result("1", "5");
  for (const std::size_t size : {99u, 100u, 101u}) {
    const std::string body = reply + std::string(size - reply.size(), ' ');
    for (int kind = 0; kind < 4; ++kind) {
      Peer peer;
      ClientOptions options = fast();
      // Of an event the name of its field counts too: "data:".
      options.reply_size_max = kind == 2 ? 105 : 100;
      Client client(peer.url("http"), options);
      Started call(client);
      peer.accept(client);
      peer.read_request(client);
      peer.write(kind == 3 ? "HTTP/1.1 200 OK\r\n\r\n" + body : framed(kind, body));
      if (kind == 3) peer.finish();
      const FailureKind expected = size > 100 ? FailureKind::too_large : FailureKind::none;
      EXPECT_EQ(expected, call.wait().failure().kind) << size << " in " << kind;
    }
  }
}

TEST(HttpCall, EachAddressOfAHostIsTried) {
  Peer peer;
  std::string url = peer.url("http");
  url.replace(url.find("127.0.0.1"), 9, "localhost");  // often [::1] first
  Client client(url, fast());
  Started call(client);
  peer.accept(client);
  peer.write(http(result(id_of(peer.read_request(client)), "3")));
  EXPECT_EQ(3, *call.wait());
}

TEST(HttpCall, AnIdempotentCallIsSentAgainWhenItsConnectionEnds) {
  Peer peer;
  Client client(peer.url("http"), fast(1));
  Started call(client, "[1]", {.idempotent = true});
  peer.accept(client);
  peer.read_request(client);
  peer.close();
  peer.accept(client);
  peer.write(http(result(id_of(peer.read_request(client)), "3")));
  EXPECT_EQ(3, *call.wait());
  EXPECT_EQ(1u, client.stats().disconnects);
}

TEST(HttpCall, AnEarlyRefusalIsReadThoughTheBodyWasNotTaken) {
  Peer peer;
  Client client(peer.url("http"), fast());
  Started call(client, "[\"" + std::string(std::size_t{20} << 20, 'x') + "\"]");
  peer.accept(client);
  peer.write(http(error("null", -31008), "Connection: close\r\n", "413 Content Too Large"));
  ASSERT_TRUE(call.wait().is_error()) << call.wait().sentence();
  EXPECT_EQ(-31008, call.wait().error().code);
}

TEST(HttpCall, ARequestThatWasNotTakenWholeCannotHaveRun) {
  Peer peer;
  Client client(peer.url("http"), fast());
  Started call(client, "[\"" + std::string(std::size_t{20} << 20, 'x') + "\"]");
  peer.accept(client);
  peer.reset();
  EXPECT_EQ(FailureKind::disconnected, call.wait().failure().kind);
  EXPECT_FALSE(call.wait().failure().may_have_run);
}

TEST(HttpCall, AStaleConnectionIsNotUsed) {
  Peer peer;
  Client client(peer.url("http"), fast());
  for (int i = 0; i < 3; ++i) {
    Started call(client);
    peer.accept(client);
    peer.write(http(result(id_of(peer.read_request(client)), "3")));
    EXPECT_TRUE(call.wait().ok());
    peer.close();  // The client is not turning: it must see that by itself.
  }
  EXPECT_EQ(3u, client.stats().connects);
}

TEST(HttpCall, ATimeoutClosesTheConnectionAndALateAnswerIsNotHeard) {
  Peer peer;
  Client client(peer.url("http"), fast(3));
  Started call(client, "[1]", {.timeout_ms = 20});
  peer.accept(client);
  peer.read_request(client);
  EXPECT_EQ(FailureKind::timed_out, call.wait().failure().kind);
  EXPECT_TRUE(call.wait().failure().may_have_run);
  EXPECT_EQ("", peer.read_to_end(client));
}

TEST(HttpCall, CancellingClosesTheConnection) {
  Peer peer;
  Client client(peer.url("http"), fast(3));
  Started call(client);
  peer.accept(client);
  peer.read_request(client);
  EXPECT_TRUE(client.cancel(call.number));
  EXPECT_FALSE(client.cancel(call.number));
  EXPECT_EQ(FailureKind::cancelled, call.wait().failure().kind);
  EXPECT_EQ("", peer.read_to_end(client));
  EXPECT_FALSE(client.cancel(call.number));
}

TEST(HttpCall, CallsBeyondTheConnectionsWaitInOrder) {
  Peer peer;
  ClientOptions options = fast();
  options.connections_max = 1;
  Client client(peer.url("http"), options);
  Started first(client);
  Started second(client);
  Started third(client);
  peer.accept(client);
  for (const char* id : {"1", "2", "3"}) {
    EXPECT_EQ(id, id_of(peer.read_request(client)));
    peer.write(http(result(id, id)));
  }
  EXPECT_EQ(1, *first.wait());
  EXPECT_EQ(2, *second.wait());
  EXPECT_EQ(3, *third.wait());
  EXPECT_FALSE(peer.has_caller());
}

TEST(HttpCall, AResponseWithoutKeepAliveEndsItsConnection) {
  Peer peer;
  Client client(peer.url("http"), fast());
  for (int i = 0; i < 2; ++i) {
    Started call(client);
    peer.accept(client);
    const std::string id = id_of(peer.read_request(client));
    peer.write(http(result(id, "1"), "Connection: close\r\n"));
    EXPECT_TRUE(call.wait().ok());
    EXPECT_EQ("", peer.read_to_end(client));
  }
}

TEST(HttpCall, AnotherServersRefusalToConnectIsTriedAgainAndCannotHaveRun) {
  Peer peer;
  const std::string url = peer.url("http");
  peer.stop_listening();
  Client client(url, fast(2));
  Started call(client);
  EXPECT_EQ(FailureKind::unreachable, call.wait().failure().kind);
  EXPECT_NE(std::string::npos, call.wait().sentence().find("refused")) << call.wait().sentence();
  EXPECT_FALSE(call.wait().failure().may_have_run);
  EXPECT_EQ(2u, client.stats().retries);
  Client nowhere("http://no-such-host.invalid/rpc", fast());
  EXPECT_NE(std::string::npos, nowhere.call_json("x").sentence().find("cannot resolve"));
}

TEST(HttpCall, ANotificationHasAWholeAnswerIn202And204) {
  for (const std::string_view answer :
       {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 202 Accepted\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    Answering server{std::string(answer)};
    Client client(server.url(), fast());
    const Failure failure = client.notify("a", "[1]");
    EXPECT_FALSE(failure) << failure.sentence << answer;
    EXPECT_EQ(0u, client.in_flight());
  }
}

TEST(HttpCall, ANotificationThatIsRefusedSaysWhy) {
  Answering server(http(error("null", -32600), "", "400 Bad Request"));
  Client client(server.url(), fast());
  const Failure failure = client.notify("a");
  EXPECT_EQ(FailureKind::http_status, failure.kind);
  EXPECT_EQ("error -32600: m", failure.sentence);
}

TEST(HttpCall, ABatchHasAnAnswerForEachCallInAnyOrder) {
  Answering server(http("[" + result("3", "30") + "," + error("1", 7) + "," + result("9", "1") +
                        "," + result("4", "\"x\"") + "]"));
  Client client(server.url(), fast());
  Batch batch;
  const auto first = batch.call<int>("a");
  const auto second = batch.call<int>("b", "[2]");
  batch.notify("c");
  const auto third = batch.call<int>("d");
  const auto fourth = batch.call<int>("e");
  EXPECT_TRUE(client.send(batch)) << batch.failure().sentence;
  EXPECT_EQ(7, batch.take(first).error().code);
  EXPECT_EQ(FailureKind::missing, batch.take(second).failure().kind);
  EXPECT_EQ(30, *batch.take(third));
  EXPECT_EQ(FailureKind::bad_reply, batch.take(fourth).failure().kind);
  EXPECT_EQ(FailureKind::none, batch.take(third).failure().kind);
  EXPECT_EQ(1u, client.stats().unknown_replies);
  EXPECT_EQ(R"([{"jsonrpc":"2.0","method":"a","id":1},)"
            R"({"jsonrpc":"2.0","method":"b","params":[2],"id":2},{"jsonrpc":"2.0","method":"c"},)"
            R"({"jsonrpc":"2.0","method":"d","id":3},{"jsonrpc":"2.0","method":"e","id":4}])",
            server.body());
}

TEST(HttpCall, ABatchThatIsRefusedGivesEachCallTheError) {
  Answering server(http(error("null", -31005)));
  Client client(server.url(), fast());
  Batch batch;
  const auto first = batch.call<int>("a");
  const auto second = batch.call<int>("b");
  EXPECT_TRUE(client.send(batch));
  EXPECT_EQ(-31005, batch.take(first).error().code);
  EXPECT_EQ(-31005, batch.take(second).error().code);
}

TEST(HttpCall, ABatchWithoutAnAnswerFailsWhole) {
  Answering server(http("nothing", "", "500 x"));
  Client client(server.url(), fast());
  Batch batch;
  const auto first = batch.call<int>("a");
  EXPECT_FALSE(client.send(batch));
  EXPECT_EQ(FailureKind::http_status, batch.failure().kind);
  EXPECT_EQ(FailureKind::http_status, batch.take(first).failure().kind);
  EXPECT_FALSE(client.send(batch));
  EXPECT_EQ("the batch is empty", batch.failure().sentence);
}

TEST(HttpCall, WhatCannotBeSentFailsAtOnce) {
  Client client("http://127.0.0.1:1/", fast(3));
  for (const std::string_view params : {"1", "[1", "\"a\"", "null", "[1]]", "{\"a\":01}"}) {
    EXPECT_EQ(FailureKind::not_sent, client.call_json("a", params).failure().kind) << params;
  }
  EXPECT_EQ(FailureKind::not_sent, client.call_json("\xFF").failure().kind);
  struct Text {
    std::string text;
  };
  EXPECT_EQ(FailureKind::not_sent, client.call_json("a", Text{"\xFF"}).failure().kind);
  EXPECT_EQ(0u, client.stats().sent);
  Client none("https://x/");
  EXPECT_EQ(none.error(), none.call_json("a").sentence());
  Client wrong("http://127.0.0.1:1/", {.headers = {{"A", "b\r\nC: d"}}});
  EXPECT_NE("", wrong.error());
  ClientOptions options = fast();
  options.message_size_max = 50;
  Client small("http://127.0.0.1:1/", options);
  EXPECT_EQ(FailureKind::too_large,
            small.call_json("a", "[" + std::string(50, '1') + "]").failure().kind);
}

TEST(HttpCall, ARawMessageGoesAsItIsAndComesBackWhole) {
  Answering server(http("{ \"id\":\"me\", \"result\" : 1 }", "X: y\r\n", "201 Created"));
  Client client(server.url(), fast());
  const Exchange done = client.exchange({.text = "{\"id\":\"me\",\n", .ids = {"\"me\""}});
  EXPECT_FALSE(done.failure) << done.failure.sentence;
  EXPECT_EQ("{ \"id\":\"me\", \"result\" : 1 }", done.body);
  EXPECT_EQ(201, done.http_status);
  EXPECT_TRUE(done.head.starts_with("HTTP/1.1 201 Created\r\n"));
  EXPECT_EQ("{\"id\":\"me\",\n", server.body());
  EXPECT_LE(done.timing.connected, done.timing.first_byte);
  EXPECT_LE(done.timing.first_byte, done.timing.total);
}

}  // namespace
}  // namespace ringrpc::client_test
