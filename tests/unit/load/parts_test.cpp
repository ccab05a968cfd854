// Goal:   URLs, requests, /proc lines and JSON-RPC answers are read as they are meant.
// Method: cases, good and bad, one by one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "tools/common/url.h"
#include "tools/ringload/cpu_time.h"
#include "tools/ringload/request.h"
#include "tools/ringload/rpc_check.h"

namespace ringload {
namespace {

using tools::parse_url;
using tools::Url;

TEST(UrlTest, GoodOnesAreTakenApart) {
  struct Case {
    std::string_view text, host, authority, target;
    std::uint16_t port;
  };
  const std::vector<Case> cases = {
      {"http://127.0.0.1:8080/rpc", "127.0.0.1", "127.0.0.1:8080", "/rpc", 8080},
      {"http://localhost", "localhost", "localhost", "/", 80},
      {"http://localhost/", "localhost", "localhost", "/", 80},
      {"http://localhost:65535?a=b:c/d", "localhost", "localhost:65535", "/?a=b:c/d", 65535},
      {"http://[::1]:9/x?y=[1]", "::1", "[::1]:9", "/x?y=[1]", 9},
      {"http://[::1]/", "::1", "[::1]", "/", 80},
      {"ws://localhost:9/rpc", "localhost", "localhost:9", "/rpc", 9},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    Url url;
    EXPECT_EQ(parse_url(c.text, url), "");
    EXPECT_EQ(url.host, c.host);
    EXPECT_EQ(url.authority, c.authority);
    EXPECT_EQ(url.target, c.target);
    EXPECT_EQ(url.port, c.port);
    EXPECT_EQ(url.websocket, c.text.starts_with("ws:"));
  }
}

TEST(UrlTest, WrongOnesAreRefusedWithAReason) {
  for (const std::string_view text :
       {"",           "localhost:8080", "https://localhost/", "wss://localhost/", "ws:/a",
        "http://",    "http:///rpc",    "http://:80/",        "http://a:0/",      "http://a:65536/",
        "http://a:/", "http://a:8x/",   "http://a:-1/",       "http://[::1/",     "http://[::1]x/",
        "http://[]/", "http://a b/",    "http://a/\r\nX: y",  "http://user@a/",   "http://a/#top",
        "HTTP://a/"}) {
    Url url;
    EXPECT_NE(parse_url(text, url), "") << text;
  }
}

TEST(UrlTest, LinesAndPathsHaveSchemesOfTheirOwn) {
  Url url;
  EXPECT_EQ(parse_url("tcp://[::1]:9000", url), "");
  EXPECT_TRUE(url.lines);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 9000);
  EXPECT_EQ(url.socket_path, "");
  EXPECT_EQ(parse_url("unix:a b/c#d", url), "");
  EXPECT_TRUE(url.lines);
  EXPECT_EQ(url.socket_path, "a b/c#d");
  EXPECT_EQ(parse_url("unix-http:/s", url), "");
  EXPECT_FALSE(url.lines);
  EXPECT_EQ(url.socket_path, "/s");
  EXPECT_EQ(url.target, "/rpc");
  EXPECT_EQ(url.authority, "localhost");
  EXPECT_EQ(parse_url("http://a/", url), "");
  EXPECT_EQ(url.socket_path, "");
  const std::string long_path(108, 'x');
  for (const std::string& text :
       {std::string("tcp://a"), std::string("tcp://a:1/rpc"), std::string("unix:"),
        std::string("unix-http:"), "unix:" + long_path, std::string("wss://a:1/")}) {
    EXPECT_NE(parse_url(text, url), "") << text;
  }
}

TEST(RequestTest, ALineIsTheBodyOnOneLine) {
  Url url;
  EXPECT_EQ(parse_url("unix:s", url), "");
  EXPECT_EQ(make_request("POST", url, {}, "{\n\"a\":\r\n1}"), "{ \"a\":  1}\n");
}

Url some_url() {
  Url url;
  EXPECT_EQ(parse_url("http://127.0.0.1:8080/rpc", url), "");
  return url;
}

TEST(RequestTest, TheCanonicalOneHasItsFieldsAndItsLength) {
  EXPECT_EQ(canonical_body.size(), 62u);
  EXPECT_EQ(make_request("POST", some_url(), {}, canonical_body),
            "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
            "Content-Length: 62\r\n\r\n" +
                std::string(canonical_body));
}

TEST(RequestTest, GivenFieldsReplaceTheUsualOnesOfTheSameName) {
  EXPECT_EQ(make_request("POST", some_url(), {"host: x", "Content-TYPE:text/plain", "A: b"}, "{}"),
            "POST /rpc HTTP/1.1\r\nContent-Length: 2\r\nhost: x\r\nContent-TYPE:text/plain\r\n"
            "A: b\r\n\r\n{}");
}

TEST(RequestTest, WithoutABodyThereIsNoLength) {
  EXPECT_EQ(make_request("GET", some_url(), {}, ""),
            "GET /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
}

TEST(RequestTest, OnlyNameAndValueOnOneLineAreAField) {
  EXPECT_TRUE(is_field("A: b"));
  EXPECT_TRUE(is_field("A:"));
  EXPECT_FALSE(is_field("A"));
  EXPECT_FALSE(is_field(": b"));
  EXPECT_FALSE(is_field("A: b\r\nC: d"));
}

TEST(CpuTimeTest, TheStatLineIsReadBehindAnyCommand) {
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  EXPECT_TRUE(
      read_stat_line("7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 123 456 0 0 20 0 1", user, system));
  EXPECT_EQ(user, 123u);
  EXPECT_EQ(system, 456u);
  EXPECT_FALSE(read_stat_line("", user, system));
  EXPECT_FALSE(read_stat_line("7 (a) S 1 7", user, system));
}

TEST(CpuTimeTest, OwnTimeIsKnownAndAMissingProcessIsNot) {
  EXPECT_TRUE(thread_cpu_time().known);
  EXPECT_TRUE(process_cpu_time(getpid()).known);
  EXPECT_FALSE(process_cpu_time(1 << 30).known);
}

TEST(RpcCheckTest, AnswersAreCountedByKind) {
  struct Case {
    std::string_view body;
    std::uint32_t results, errors;
  };
  const std::vector<Case> cases = {
      {R"({"jsonrpc":"2.0","result":5,"id":1})", 1, 0},
      {R"( { "jsonrpc" : "2.0" , "id" : null , "result" : null } )", 1, 0},
      {R"({"jsonrpc":"2.0","error":{"code":1,"message":"result"},"id":1})", 0, 1},
      {R"({"jsonrpc":"2.0","result":{"error":{"a":[{"error":1}]}},"id":"a\"b\\"})", 1, 0},
      {R"({"jsonrpc":"2.0","result":"error\":","id":1})", 1, 0},
      {R"([{"jsonrpc":"2.0","result":[1,[2]],"id":1},{"jsonrpc":"2.0","error":{},"id":2},
           {"jsonrpc":"2.0","result":{},"id":3}])",
       2, 1},
  };
  for (const Case& c : cases) {
    const RpcVerdict verdict = check_rpc(c.body);
    EXPECT_TRUE(verdict.valid) << c.body;
    EXPECT_EQ(verdict.results, c.results) << c.body;
    EXPECT_EQ(verdict.errors, c.errors) << c.body;
  }
}

TEST(RpcCheckTest, WhatIsNoAnswerIsInvalid) {
  for (const std::string_view body :
       {"", " ", "5", "\"result\"", "{}", "[]", "[1]", "[[]]", R"({"result":5,"id":1})",
        R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","result":5,"error":{},"id":1})",
        R"({"jsonrpc":"2.0","result":5,"id":1)", R"({"jsonrpc":"2.0","result":5,"id":1}])",
        R"({"jsonrpc":"2.0","result":5,"id":1}})", R"({"jsonrpc":"2.0","result":[5,"id":1})",
        R"({"jsonrpc":"2.0","result":5,"id":"1})", R"({"jsonrpc":"2.0","result":5,"id":"\)",
        R"({"jsonrpc":"2.0","result":5,"id":1} {"jsonrpc":"2.0","result":5,"id":1})",
        R"([{"jsonrpc":"2.0","result":5,"id":1},{"result":5}])"}) {
    EXPECT_FALSE(check_rpc(body).valid) << body;
  }
}

TEST(RpcCheckTest, ADeepResultIsRefusedRatherThanFollowed) {
  std::string body = R"({"jsonrpc":"2.0","id":1,"result":)";
  body.append(100'000, '[');
  EXPECT_FALSE(check_rpc(body).valid);
}

}  // namespace
}  // namespace ringload
