// Goal: the head of each answer says what the protocol page asks for, with the length of its body.

#include "engine/serve/responder.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstring>
#include <string>

namespace ringrpc::serve {
namespace {

class Says final : public Oracle {
 public:
  [[nodiscard]] bool ready() const override { return is_ready; }
  [[nodiscard]] std::string metrics() const override { return std::string(metrics_size, 'm'); }
  bool is_ready = true;
  std::size_t metrics_size = 10;
};

struct Bench {
  Bench() { responder.set_time(784111777); }
  ~Bench() { outbox.clear(out); }

  // The head stays in `text`, so that the request's views live on.
  void parse(const std::string& lines) {
    text = lines + "Host: localhost\r\n\r\n" + std::string(limits::padding, ' ');
    const http::HeadResult result =
        http::parse_head(text.data(), text.data() + text.size() - limits::padding, head);
    ASSERT_EQ(result.status, http::HeadStatus::complete);
    request.head = &head;
    request.admission = admit(head, hosts, {&mount, 1}, 1000);
    request.last = head.close;
  }

  std::string unsent() {
    std::string bytes;
    while (!out.empty()) {
      const Segment& front = outbox.front(out);
      bytes.append(front.data, front.size);
      outbox.taken(out, front.size);
    }
    return bytes;
  }

  std::string reply(const std::string& json, bool has_body = true) {
    OpenReply open(responder, request, {});
    EXPECT_TRUE(open.has_room());
    open.writer().bytes(json);
    rpc::Outcome outcome = usual;
    outcome.has_body = has_body;
    EXPECT_TRUE(open.finish(out, outcome));
    return unsent();
  }

  rpc::Outcome usual;
  Says oracle;
  http::HostPolicy hosts;
  Mount mount{.path = "/rpc"};
  base::Counters counters;
  Outbox outbox{{.slab_size = 8192,
                 .slab_count = 2,
                 .segment_count = 4,
                 .reply_size_max = 100'000,
                 .mapped_max = 1u << 20}};
  Responder responder{
      {.outbox = &outbox, .counters = &counters, .oracle = &oracle, .reply_size_max = 100'000}};
  OutList out;
  http::Request head;
  Request request;
  std::string text;
};

const std::string post = "POST /rpc HTTP/1.1\r\nContent-Type: application/json\r\n";
const std::string post_1_0 = "POST /rpc HTTP/1.0\r\nContent-Type: application/json\r\n";

bool has(const std::string& bytes, std::string_view part) {
  return bytes.find(part) != std::string::npos;
}

void expect_length(const std::string& bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  ASSERT_NE(end, std::string::npos) << bytes;
  const std::size_t at = bytes.find("Content-Length:");
  ASSERT_LT(at, end) << bytes;
  EXPECT_EQ(std::stoull(bytes.substr(at + 15)), bytes.size() - end - 4) << bytes;
}

TEST(Responder, AnOrdinaryReplyHasTheFieldsOfTheProtocolPage) {
  Bench bench;
  bench.parse(post);
  const std::string bytes = bench.reply(R"({"x":1})");
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n{\"x\":1}"));
  EXPECT_TRUE(has(bytes, "\r\nContent-Type: application/json\r\n"));
  EXPECT_TRUE(has(bytes, "\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_TRUE(has(bytes, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
  EXPECT_FALSE(has(bytes, "Connection:"));
  expect_length(bytes);
}

TEST(Responder, TheEndOfAConnectionAndHttp10AreSaid) {
  Bench bench;
  bench.parse(post + "Connection: close\r\n");
  std::string bytes = bench.reply("{}");
  EXPECT_TRUE(has(bytes, "\r\nConnection: close\r\n"));
  expect_length(bytes);
  bench.parse(post_1_0);
  EXPECT_TRUE(has(bench.reply("{}"), "\r\nConnection: close\r\n"));
  bench.parse(post_1_0 + "Connection: keep-alive\r\n");
  bytes = bench.reply("{}");
  EXPECT_TRUE(has(bytes, "\r\nConnection: keep-alive\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n{}"));
}

TEST(Responder, NotificationsAreWhatTheOutcomeSaysWithoutBody) {
  Bench bench;
  bench.parse(post);
  bench.usual.status = 204;
  std::string bytes = bench.reply("", false);
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 204 "));
  EXPECT_FALSE(has(bytes, "Content-Length"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
  bench.usual.status = 202;
  bytes = bench.reply("", false);
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 202 "));
  EXPECT_FALSE(has(bytes, "\r\nContent-Type:"));
  expect_length(bytes);
}

TEST(Responder, StatusRetryAndFieldsOfAnOutcomeStandInTheHead) {
  Bench bench;
  bench.parse(post);
  bench.usual.status = 429;
  bench.usual.retry_after_s = 7;
  bench.usual.fields = "Mcp-Session-Id: 1234\r\nX-More: y\r\n";
  const std::string bytes = bench.reply("{}");
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(has(bytes, "\r\nRetry-After: 7\r\n"));
  EXPECT_TRUE(has(bytes, "\r\nMcp-Session-Id: 1234\r\nX-More: y\r\n"));
  EXPECT_TRUE(has(bytes, "\r\nContent-Type: application/json\r\n"));
  expect_length(bytes);
  EXPECT_TRUE(bytes.ends_with("\r\n\r\n{}"));
}

TEST(Responder, LargeRepliesKeepHeadAndLength) {
  for (const std::size_t size : {7000u, 8000u, 8044u, 8045u, 30'000u, 99'000u}) {
    for (const std::string& more : {std::string(), std::string("Connection: close\r\n")}) {
      Bench bench;
      bench.parse(post + more);
      const std::string bytes = bench.reply(std::string(size, 'j'));
      expect_length(bytes);
      EXPECT_EQ(bytes.size() - bytes.find("\r\n\r\n") - 4, size);
      EXPECT_EQ(bench.outbox.bytes_mapped(), 0u);
    }
  }
}

TEST(Responder, RefusalsCarryAnErrorWithoutIdAndTheirOwnFields) {
  Bench bench;
  bench.parse("PUT /rpc HTTP/1.1\r\n");
  ASSERT_TRUE(bench.responder.answer_refused(bench.out, bench.request));
  std::string bytes = bench.unsent();
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 405 "));
  EXPECT_TRUE(has(bytes, "\r\nAllow: POST, OPTIONS\r\n"));
  EXPECT_TRUE(
      bytes.ends_with(R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request",)"
                      R"("data":{"reason":"method"}},"id":null})"));
  expect_length(bytes);
  bench.parse("GET /rpc HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n");
  ASSERT_TRUE(bench.responder.answer_refused(bench.out, bench.request));
  bytes = bench.unsent();
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 426 "));
  EXPECT_TRUE(has(bytes,
                  "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  "Sec-WebSocket-Version: 13\r\n"));
  EXPECT_EQ(bench.counters.get(base::Counter::bad_routes), 2u);
}

TEST(Responder, AnUpgradeIsAgreedToWithTheProofOfItsKey) {
  Bench bench;
  bench.parse(
      "GET /rpc HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
  ASSERT_EQ(bench.request.admission.target, Target::websocket);
  ASSERT_TRUE(bench.responder.answer_upgrade(bench.out, bench.request));
  const std::string bytes = bench.unsent();
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 101 Switching Protocols\r\n"));
  EXPECT_TRUE(
      bytes.ends_with("Upgrade: websocket\r\nConnection: Upgrade\r\n"
                      "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"))
      << bytes;
  EXPECT_EQ(bench.counters.get(base::Counter::upgrades), 1u);
}

TEST(Responder, AHeadRequestNeverHasABody) {
  Bench bench;
  for (const char* path : {"/healthz", "/nowhere", "/metrics"}) {
    bench.parse(std::string("HEAD ") + path + " HTTP/1.1\r\n");
    ASSERT_TRUE(bench.request.admission.target == Target::none
                    ? bench.responder.answer_refused(bench.out, bench.request)
                    : bench.responder.answer_plain(bench.out, bench.request));
    const std::string bytes = bench.unsent();
    EXPECT_TRUE(bytes.ends_with("\r\n\r\n")) << bytes;
    EXPECT_FALSE(has(bytes, "Content-Length:         0\r\n")) << bytes;
  }
}

TEST(Responder, HealthAndReadinessAndMetricsAnswerByTheOracle) {
  Bench bench;
  bench.parse("GET /readyz HTTP/1.1\r\n");
  ASSERT_TRUE(bench.responder.answer_plain(bench.out, bench.request));
  EXPECT_TRUE(bench.unsent().starts_with("HTTP/1.1 200 "));
  bench.oracle.is_ready = false;
  ASSERT_TRUE(bench.responder.answer_plain(bench.out, bench.request));
  EXPECT_TRUE(bench.unsent().starts_with("HTTP/1.1 503 "));
  bench.oracle.metrics_size = 50'000;
  bench.parse("GET /metrics HTTP/1.1\r\n");
  ASSERT_TRUE(bench.responder.answer_plain(bench.out, bench.request));
  const std::string bytes = bench.unsent();
  expect_length(bytes);
  EXPECT_TRUE(bytes.ends_with("mmm"));
}

TEST(Responder, BrokenBytesGetAHeadAndTheEnd) {
  Bench bench;
  for (const int status : {400, 408, 413, 431, 501, 503, 505}) {
    ASSERT_TRUE(bench.responder.answer_broken(bench.out, Protocol::http,
                                              static_cast<std::uint16_t>(status), {}));
    const std::string bytes = bench.unsent();
    EXPECT_TRUE(bytes.starts_with("HTTP/1.1 " + std::to_string(status)));
    EXPECT_TRUE(has(bytes, "\r\nConnection: close\r\n"));
    EXPECT_EQ(has(bytes, "Retry-After"), status == 503);
    expect_length(bytes);
  }
  ASSERT_TRUE(bench.responder.answer_continue(bench.out));
  EXPECT_TRUE(bench.unsent().starts_with("HTTP/1.1 100 Continue\r\n"));
}

}  // namespace
}  // namespace ringrpc::serve
