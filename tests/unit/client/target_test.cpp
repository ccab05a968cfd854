// Goal: each kind of URL is taken apart as it is written, and what is none is refused with a
// reason.

#include "engine/client/target.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::client {
namespace {

Target target_of(std::string_view url) {
  Target target;
  EXPECT_EQ("", read_url(url, target)) << url;
  return target;
}

TEST(Target, HttpHasHostPortAndPath) {
  const Target target = target_of("http://a.example:81/x/y?z");
  EXPECT_EQ(Protocol::http, target.protocol);
  EXPECT_EQ("a.example", target.host);
  EXPECT_EQ("a.example:81", target.authority);
  EXPECT_EQ(81, target.port);
  EXPECT_EQ("/x/y?z", target.target);
  EXPECT_EQ("/", target_of("http://a").target);
  EXPECT_EQ(80, target_of("http://a").port);
  EXPECT_EQ("/?q", target_of("http://a?q").target);
  EXPECT_EQ("::1", target_of("http://[::1]:8080/rpc").host);
  EXPECT_EQ("[::1]:8080", target_of("http://[::1]:8080/rpc").authority);
  EXPECT_EQ(80, target_of("http://[::1]/rpc").port);
}

TEST(Target, OtherSchemesNameTheirTransport) {
  EXPECT_EQ(Protocol::websocket, target_of("ws://a:1/rpc").protocol);
  const Target tcp = target_of("tcp://127.0.0.1:9");
  EXPECT_EQ(Protocol::lines, tcp.protocol);
  EXPECT_EQ(9, tcp.port);
  EXPECT_EQ(9, target_of("tcp://127.0.0.1:9/").port);
  const Target local = target_of("unix:/run/x y.sock");
  EXPECT_EQ(Protocol::lines, local.protocol);
  EXPECT_EQ("/run/x y.sock", local.path);
  EXPECT_EQ(Protocol::http, target_of("unix-http:a").protocol);
  EXPECT_EQ("/rpc", target_of("unix-http:a").target);
  EXPECT_EQ("localhost", target_of("unix-http:a").authority);
  EXPECT_EQ(Protocol::websocket, target_of("unix-ws:a").protocol);
}

TEST(Target, ACommandIsWordsThatQuotesHoldTogether) {
  using Words = std::vector<std::string>;
  EXPECT_EQ((Words{"ringrpcd", "--stdio", "rpc"}), target_of("stdio:ringrpcd --stdio rpc").command);
  EXPECT_EQ((Words{"a b", "", "c'd", "e f"}),
            target_of("stdio: 'a b'  \"\" \"c'd\" e' 'f ").command);
}

TEST(Target, WhatIsNoUrlIsRefusedWithAReason) {
  for (const std::string_view url : {"",
                                     "https://a/b",
                                     "127.0.0.1:1",
                                     "http://",
                                     "http://a:b/",
                                     "http://a:/",
                                     "http://a:0/",
                                     "http://a:65536/",
                                     "http://a:99999999999999999999/",
                                     "http://a/\r\nX: y",
                                     "http://a/ b",
                                     "http://a/\x7f",
                                     "http://u@a/",
                                     "http://[::1/",
                                     "http://[::1]x/",
                                     "http://a/#b",
                                     "http:///x",
                                     "tcp://a",
                                     "tcp://a:1/x",
                                     "ws://",
                                     "unix:",
                                     "unix-http:",
                                     "stdio:",
                                     "stdio:  ",
                                     "stdio:''",
                                     "stdio:a 'b",
                                     "HTTP://a"}) {
    Target target;
    EXPECT_NE("", read_url(url, target)) << url;
  }
  Target target;
  EXPECT_NE("", read_url("unix:/" + std::string(107, 'x'), target));
  EXPECT_EQ("", read_url("unix:/" + std::string(106, 'x'), target));
}

}  // namespace
}  // namespace ringrpc::client
