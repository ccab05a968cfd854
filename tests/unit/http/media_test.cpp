// Goal: the engine takes JSON and nothing that a browser sends without asking first, answers whom
// it may, and spends bounded work on long lists.

#include "engine/http/media.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/http/hosts.h"
#include "tests/unit/http/head_cases.h"
#include "tests/unit/http/twins.h"

namespace ringrpc::http::test {

namespace {

TEST(Media, JsonIsTheOnlyPlainBody) {
  for (const char* type :
       {"application/json", "Application/JSON", "application/json; charset=utf-8",
        "application/json;charset=UTF-8", "application/json;charset=\"utf-8\"",
        "application/json ; a=b ; charset=Utf-8", "application/json; profile=\"a;b,\\\"c\"",
        "application/json;"}) {
    EXPECT_EQ(media_type(type), MediaType::json) << type;
  }
  for (const char* type : {"application/a2a+json", "APPLICATION/A2A+JSON;charset=utf-8"}) {
    EXPECT_EQ(media_type(type), MediaType::a2a_json) << type;
  }
  EXPECT_EQ(media_type(""), MediaType::none);
  for (const char* type : {"text/plain",
                           "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x",
                           "application/json; charset=utf-16",
                           "application/json; charset=latin1",
                           "application/json; charset=utf-8; charset=utf-16",
                           "application/json; charset",
                           "application/json; charset=",
                           "application/json, text/plain",
                           "text/plain; application/json",
                           "application/json5",
                           "application/jso",
                           "application",
                           "application/",
                           "/json",
                           "json",
                           "application /json",
                           "application/json x",
                           "application/json; a=\"b",
                           "*/*",
                           "text/json",
                           "application/json; =a",
                           "application/vnd.api+json"}) {
    EXPECT_EQ(media_type(type), MediaType::unsupported) << type;
  }
}

TEST(Accept, JsonIsTakenUnlessExcluded) {
  for (const char* accept :
       {"", "*/*", "application/json", "APPLICATION/JSON", "application/*", "text/html, */*;q=0.1",
        "application/json;q=0.001", "text/plain, application/json;charset=utf-8",
        "*/*;q=0, application/json", "application/*;q=0,application/json;q=1",
        "application/json;q=0, application/json", "text/html;a=\",\", */*", "x, application/json",
        "x y, application/json", ",,application/json,,", "application/json;q=\"1\""}) {
    EXPECT_TRUE(accepts_json(accept)) << accept;
  }
  for (const char* accept :
       {"text/html", "application/json;q=0", "*/*;q=0.0", "application/json;q=0.000, */*",
        "application/json;Q=0, application/*", "application/*;q=0, */*", "text/event-stream",
        "application/jsonx", "text/html;a=\", */*\"", "x", ",", "application/xml",
        "application/json x"}) {
    EXPECT_FALSE(accepts_json(accept)) << accept;
  }
}

TEST(Accept, AnEventStreamMustBeListedByName) {
  for (const char* accept : {"text/event-stream", "application/json, text/event-stream",
                             "Text/Event-Stream;q=0.5", "a/b;c=\"d\", text/event-stream ,"}) {
    EXPECT_TRUE(accepts_event_stream(accept)) << accept;
  }
  for (const char* accept : {"", "*/*", "text/*", "text/event-stream;q=0", "text/event-streams",
                             "application/json", "a/b;c=\"text/event-stream\""}) {
    EXPECT_FALSE(accepts_event_stream(accept)) << accept;
  }
}

TEST(Accept, SeveralLinesAreOneList) {
  const Padded input(head_with("Accept: text/event-stream\r\nAccept: application/json\r\n"));
  Request request;
  ASSERT_EQ(parse(input, request).status, HeadStatus::complete);
  EXPECT_EQ(request.accept_count, 2);
  EXPECT_TRUE(accepts_json(request));
  EXPECT_TRUE(accepts_event_stream(request));
  const Padded other(head_with("Accept: text/html\r\nAccept: text/plain\r\n"));
  ASSERT_EQ(parse(other, request).status, HeadStatus::complete);
  EXPECT_FALSE(accepts_json(request));
  const Padded none(head_with(""));
  ASSERT_EQ(parse(none, request).status, HeadStatus::complete);
  EXPECT_TRUE(accepts_json(request));
  EXPECT_FALSE(accepts_event_stream(request));
}

TEST(Accept, AListOfTwoThousandIsReadOnce) {
  std::string accept;
  for (int i = 0; i < 2'000; ++i) accept += "a/b,";
  EXPECT_FALSE(accepts_json(accept));
  EXPECT_TRUE(accepts_json(accept + "*/*"));
  EXPECT_FALSE(accepts_json(std::string(8'000, '"')));
  EXPECT_FALSE(accepts_json(std::string(8'000, ';')));
  EXPECT_EQ(media_type("application/json" + std::string(8'000, ';')), MediaType::json);
}

TEST(Hosts, ALoopbackBindKnowsThreeNamesOnAnyPort) {
  const HostPolicy policy;
  for (const char* host : {"localhost", "LocalHost:8080", "127.0.0.1", "127.0.0.1:1", "[::1]",
                           "[::1]:8080", "localhost:", ""}) {
    EXPECT_TRUE(host_allowed(host, policy)) << host;
  }
  for (const char* host : {"evil.example.com", "localhost.", "127.1", "[::ffff:127.0.0.1]",
                           "0.0.0.0", "localhost.evil.example", "127.0.0.10", "localhost:8x",
                           "[::1]x", "localhos", "x.localhost", "[::1"}) {
    EXPECT_FALSE(host_allowed(host, policy)) << host;
  }
}

TEST(Hosts, OtherBindsKnowTheirListOnly) {
  const std::vector<std::string> hosts = {"api.example.com:8080", "api.example.com"};
  const std::vector<std::string> origins = {"https://app.example.com"};
  const HostPolicy policy = {.loopback = false, .hosts = hosts, .origins = origins};
  EXPECT_TRUE(host_allowed("API.example.com:8080", policy));
  EXPECT_TRUE(host_allowed("api.example.com", policy));
  EXPECT_FALSE(host_allowed("api.example.com:80", policy));
  EXPECT_FALSE(host_allowed("localhost", policy));
  EXPECT_TRUE(origin_allowed("https://app.example.com", policy));
  EXPECT_FALSE(origin_allowed("http://app.example.com", policy));
  EXPECT_FALSE(origin_allowed("http://localhost", policy));
  const HostPolicy open = {.loopback = false, .any_host = true};
  EXPECT_TRUE(host_allowed("anything", open));
  EXPECT_FALSE(origin_allowed("https://anything", open));
}

TEST(Hosts, OriginsAreNativeLocalOrRefused) {
  const HostPolicy policy;
  for (const char* origin : {"", "http://localhost", "http://localhost:3000", "https://127.0.0.1",
                             "http://[::1]:5173"}) {
    EXPECT_TRUE(origin_allowed(origin, policy)) << origin;
  }
  for (const char* origin : {"null", "http://evil.example", "http://localhost.evil.example",
                             "localhost", "file://localhost", "http://localhost/", "http://",
                             "http://localhost@evil.example", "http://127.0.0.1:80:80"}) {
    EXPECT_FALSE(origin_allowed(origin, policy)) << origin;
  }
}

}  // namespace

}  // namespace ringrpc::http::test
