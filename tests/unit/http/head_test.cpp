// Goal: the verdict on a head is right, the same for both parsers, for every cut, and whatever
// bytes happen to follow. Method: a table of heads, each judged whole and at every prefix.

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/http/head_cases.h"
#include "tests/unit/http/twins.h"

namespace ringrpc::http::test {

using std::string_literals::operator""s;

namespace {

int verdict_of(HeadResult result) {
  if (result.status == HeadStatus::complete) return 0;
  return result.status == HeadStatus::incomplete ? 1 : result.http_status;
}

struct Parsed {
  explicit Parsed(const std::string& bytes) : input(bytes), result(parse(input, request)) {}
  [[nodiscard]] std::string_view text(Span span) const { return request.view(span); }

  Padded input;
  Request request;
  HeadResult result;
};

TEST(Head, EveryCaseHasItsVerdictOnBothParsers) {
  for (const HeadCase& head : head_cases()) {
    HeadResult result;
    Request request;
    EXPECT_TRUE(twins_agree(Padded(head.bytes), result, request)) << head.label;
    EXPECT_EQ(verdict_of(result), head.verdict) << head.label;
    if (result.status == HeadStatus::complete) {
      EXPECT_EQ(request.head_size, head.bytes.size()) << head.label;
    }
  }
}

TEST(Head, EveryPrefixIsIncompleteOrHasTheFinalVerdict) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr std::size_t dense = 512;  // every cut up to here, then some
  for (const HeadCase& head : head_cases()) {
    bool refused = false;
    for (std::size_t cut = 0; cut < head.bytes.size();
         cut += cut < dense ? 1 : 1 + random() % 999) {
      const std::string_view rest = std::string_view(head.bytes).substr(cut);
      const std::string_view start = std::string_view(head.bytes).substr(0, cut);
      HeadResult result;
      Request request;
      // Once with what follows in truth, once with anything.
      ASSERT_TRUE(twins_agree(Padded(start, rest), result, request)) << head.label << " " << cut;
      HeadResult other;
      ASSERT_TRUE(twins_agree(Padded(start, random_slack(random)), other, request)) << head.label;
      ASSERT_EQ(result, other) << head.label << " " << cut;
      ASSERT_NE(result.status, HeadStatus::complete) << head.label << " " << cut;
      if (result.status == HeadStatus::refused) {
        ASSERT_EQ(verdict_of(result), head.verdict) << head.label << " " << cut;
      }
      ASSERT_TRUE(!refused || result.status == HeadStatus::refused) << head.label << " " << cut;
      refused = result.status == HeadStatus::refused;
    }
  }
}

TEST(Head, GoodHeadsEndWhereTheBodyStarts) {
  for (const HeadCase& head : head_cases()) {
    if (head.verdict != 0) continue;
    for (const std::string& body :
         {"{}"s, "\r\n"s, "GET / HTTP/1.1\r\n\r\n"s, std::string(99, 'x')}) {
      HeadResult result;
      Request request;
      ASSERT_TRUE(twins_agree(Padded(head.bytes + body), result, request)) << head.label;
      ASSERT_EQ(result.status, HeadStatus::complete) << head.label;
      ASSERT_EQ(request.head_size, head.bytes.size()) << head.label;
    }
  }
}

TEST(Head, RefusesAtTheFirstBadByte) {
  const std::string line = "POST /rpc HTTP/1.1\r\n";
  const std::string start = line + "Host: h\r\n";
  const std::vector<std::string> refused = {"\n",
                                            "\r\r",
                                            "\r\n\r",
                                            " ",
                                            "P[",
                                            "POST\t",
                                            "POST  ",
                                            "POST r",
                                            "POST *",
                                            "POST hx",
                                            "POST /\x7f",
                                            "POST / h",
                                            "POST / HTTP/2",
                                            "GET / HTTP/0",
                                            "GET /a#",
                                            "GET /a?#",
                                            "GET http://h/#",
                                            "POST / HTTP/1.01",
                                            "POST / HTTP/1.1\n",
                                            "POST http://:",
                                            "POST http://h:65536",
                                            "POST http://a,",
                                            "post ",
                                            "CONNECT ",
                                            "AAAAAAAAAAAAAAAAA",
                                            line + " ",
                                            line + ":",
                                            line + "X ",
                                            line + "X: \x01",
                                            line + "X: a\n",
                                            line + "X: a\rb",
                                            line + "X: a\r\n ",
                                            line + "\r",
                                            line + "Host:\r",
                                            line + "Host: a,",
                                            line + "Host: a b",
                                            line + "Host: a:65536",
                                            line + "Host: [::1 ",
                                            start + "Host:",
                                            start + "Content-Length: +",
                                            start + "Content-Length: 05",
                                            start + "Content-Length: 5,",
                                            start + "Content-Length: 5 3",
                                            start + "Content-Length:\r",
                                            start + "Content-Length: 18446744073709551616",
                                            start + "Content-Length: 5\r\nContent-Length:",
                                            start + "Content-Length: 5\r\nTransfer-Encoding:",
                                            start + "Transfer-Encoding: chunked\r\nContent-Length:",
                                            start + "Transfer-Encoding: ,",
                                            start + "Transfer-Encoding: chunked;",
                                            start + "Transfer-Encoding: \"",
                                            start + "Transfer-Encoding: chunked, \r",
                                            start + "Transfer-Encoding:\r",
                                            "POST / HTTP/1.0\r\nTransfer-Encoding:"};
  for (const std::string& bytes : refused) {
    HeadResult result;
    Request request;
    EXPECT_TRUE(twins_agree(Padded(bytes), result, request)) << bytes;
    EXPECT_EQ(result.status, HeadStatus::refused) << bytes;
    EXPECT_TRUE(twins_agree(Padded(bytes.substr(0, bytes.size() - 1)), result, request)) << bytes;
    EXPECT_EQ(result.status, HeadStatus::incomplete) << bytes;
  }
}

TEST(Head, RecordsTheCallThatClientsSend) {
  const Parsed head(
      "POST /rpc?x=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
      "Accept:  application/json \r\nOrigin: http://localhost\r\nContent-Length: 62\r\n\r\n");
  ASSERT_EQ(head.result.status, HeadStatus::complete);
  const Request& request = head.request;
  EXPECT_EQ(request.method, Method::post);
  EXPECT_EQ(request.version_minor, 1);
  EXPECT_EQ(head.text(request.target), "/rpc?x=1");
  EXPECT_EQ(head.text(request.path), "/rpc");
  EXPECT_EQ(head.text(request.host), "127.0.0.1:8080");
  EXPECT_EQ(head.text(request.content_type), "application/json");
  EXPECT_EQ(head.text(request.accept), "application/json");
  EXPECT_EQ(head.text(request.origin), "http://localhost");
  EXPECT_EQ(head.text(request.content_length_value), "62");
  EXPECT_EQ(request.content_length, 62u);
  EXPECT_TRUE(request.has_length);
  EXPECT_FALSE(request.chunked || request.close || request.expect_continue);
  EXPECT_EQ(request.field_count, 5);
  EXPECT_EQ(request.find("content-type"), "application/json");
  EXPECT_TRUE(request.find_span("origin").present());
  EXPECT_FALSE(request.find_span("cookie").present());
}

TEST(Head, ViewsMoveWithTheBase) {
  const std::string bytes = head_with("Content-Length: 5\r\n");
  Parsed head(bytes);
  const std::string moved = bytes;
  head.request.base = moved.data();
  EXPECT_EQ(head.text(head.request.path).data(), moved.data() + 5);
}

TEST(Head, AnAbsoluteFormReplacesHost) {
  const Parsed head("GET http://a.example:1/x/y?z HTTP/1.1\r\nHost: b\r\n\r\n");
  ASSERT_EQ(head.result.status, HeadStatus::complete);
  EXPECT_EQ(head.text(head.request.host), "a.example:1");
  EXPECT_EQ(head.text(head.request.path), "/x/y");
  EXPECT_TRUE(head.request.absolute_form);
  for (const std::string& target : {"http://a"s, "http://a?x"s, "http://a/"s, "http://a/?x"s}) {
    const Parsed short_head("GET " + target + " HTTP/1.1\r\nHost: b\r\n\r\n");
    ASSERT_EQ(short_head.result.status, HeadStatus::complete) << target;
    EXPECT_EQ(short_head.text(short_head.request.path), "/") << target;
    EXPECT_EQ(short_head.text(short_head.request.host), "a") << target;
  }
}

TEST(Head, ConnectionOptionsDecideWhoCloses) {
  struct Case {
    std::string version;
    std::string fields;
    bool close;
  };
  const std::vector<Case> cases = {
      {"1.1", "", false},
      {"1.1", "Connection: close\r\n", true},
      {"1.1", "Connection: CLOSE\r\n", true},
      {"1.1", "Connection: keep-alive\r\n", false},
      {"1.1", "Connection: close, keep-alive\r\n", true},
      {"1.1", "Connection: keep-alive ,\tclose\r\n", true},
      {"1.1", "Connection: keep-alive\r\nConnection: close\r\n", true},
      {"1.1", "Connection: closed, , \"close\"\r\n", false},
      {"1.0", "", true},
      {"1.0", "Connection: Keep-Alive\r\n", false},
      {"1.0", "Connection: close\r\n", true},
      {"1.0", "Connection: keep-alive, close\r\n", true},
  };
  for (const Case& c : cases) {
    const Parsed head("GET / HTTP/" + c.version + "\r\nHost: h\r\n" + c.fields + "\r\n");
    ASSERT_EQ(head.result.status, HeadStatus::complete) << c.fields;
    EXPECT_EQ(head.request.close, c.close) << c.version << " " << c.fields;
  }
}

TEST(Head, AnUpgradeIsRecordedAsTwoBits) {
  const Parsed both(head_with("Connection: keep-alive, Upgrade\r\nUpgrade: h2c, WebSocket\r\n"));
  EXPECT_TRUE(both.request.connection_upgrade && both.request.upgrade_websocket);
  const Parsed one(head_with("Upgrade: websocket\r\n"));
  EXPECT_FALSE(one.request.connection_upgrade);
  EXPECT_TRUE(one.request.upgrade_websocket);
}

TEST(Head, ExpectationsAndCodingsAreFlags) {
  EXPECT_TRUE(Parsed(head_with("Expect: 100-continue\r\n")).request.expect_continue);
  const Parsed old("POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(old.result.status, HeadStatus::complete);
  EXPECT_FALSE(old.request.expect_continue);
  EXPECT_TRUE(Parsed(head_with("Transfer-Encoding: Chunked\r\n")).request.chunked);
  EXPECT_TRUE(Parsed(head_with("Content-Encoding: gzip\r\n")).request.content_encoded);
  EXPECT_TRUE(Parsed(head_with("Content-Encoding: identity, br\r\n")).request.content_encoded);
  EXPECT_FALSE(Parsed(head_with("Content-Encoding: Identity\r\n")).request.content_encoded);
  EXPECT_FALSE(Parsed(head_with("Content-Encoding:\r\n")).request.content_encoded);
}

}  // namespace

}  // namespace ringrpc::http::test
