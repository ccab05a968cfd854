// Goal: every head is admitted or refused as the table of the protocol page says, in its order.

#include "engine/serve/endpoint.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrpc::serve {
namespace {

struct Case {
  std::string head;  // without Host and the empty line
  Target target;
  int status = 0;
  rpc::ErrorCode code = rpc::ErrorCode::invalid_request;
  std::string_view allow = {};
};

constexpr std::string_view json = "Content-Type: application/json\r\n";
constexpr std::string_view upgrade =
    "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

Admission admission_of(const std::string& lines, const std::string& host = "localhost") {
  const std::string text = lines + "Host: " + host + "\r\n\r\n" + std::string(limits::padding, ' ');
  http::Request head;
  const http::HeadResult result =
      http::parse_head(text.data(), text.data() + text.size() - limits::padding, head);
  EXPECT_EQ(result.status, http::HeadStatus::complete) << text;
  static const http::HostPolicy loopback;
  static const std::vector<Mount> mounts = {
      {.path = "/rpc"}, {.path = "/agent", .options = agent_endpoint()}, {.path = "/a%20b"}};
  return admit(head, loopback, mounts, 1000);
}

TEST(Endpoint, APathIsFoundAmongTheMountsByItsBytes) {
  const std::string fields = " HTTP/1.1\r\n" + std::string(json);
  const std::pair<std::string, int> cases[] = {{"/rpc", 0},      {"/agent", 1},   {"/agent?x", 1},
                                               {"/a%20b", 2},    {"/agent/", -1}, {"/Agent", -1},
                                               {"/agen%74", -1}, {"/a", -1}};
  for (const auto& [path, mount] : cases) {
    const Admission admission = admission_of("POST " + path + fields);
    EXPECT_EQ(admission.target, mount < 0 ? Target::none : Target::rpc) << path;
    if (mount < 0) continue;
    EXPECT_EQ(admission.mount, mount) << path;
  }
}

TEST(Endpoint, AnUpgradeIsTakenOnlyWhereTheRulesSaySo) {
  const std::string fields = " HTTP/1.1\r\n" + std::string(upgrade);
  EXPECT_EQ(admission_of("GET /a%20b" + fields).target, Target::websocket);
  EXPECT_EQ(admission_of("GET /a%20b" + fields).mount, 2);
  EXPECT_EQ(admission_of("GET /agent" + fields).status, 405);
  EXPECT_EQ(admission_of("POST /agent" + fields + std::string(json)).target, Target::rpc);
}

TEST(Endpoint, AcceptIsLookedAtOnlyWhereTheRulesSaySo) {
  const std::string fields = " HTTP/1.1\r\nAccept: text/html\r\n" + std::string(json);
  EXPECT_EQ(admission_of("POST /rpc" + fields).status, 406);
  EXPECT_EQ(admission_of("POST /agent" + fields).target, Target::rpc);
}

TEST(Endpoint, AMountWantsAPathAsRequestsSpellItAndThatIsFree) {
  for (const char* path : {"/", "/a", "/a/b", "/a%20b", "/.well-known/x.json", "/rpc"}) {
    EXPECT_EQ(check_mount_path(path), "") << path;
  }
  for (const char* path :
       {"", "a", "/a b", "/a#b", "/a?b", "/\xc3\xa4", "/healthz", "/readyz", "/metrics", "*"}) {
    EXPECT_NE(check_mount_path(path), "") << path;
  }
  EXPECT_EQ(check_mount_path("/" + std::string(limits::target_size_max - 1, 'x')), "");
  EXPECT_NE(check_mount_path("/" + std::string(limits::target_size_max, 'x')), "");
}

TEST(Endpoint, EachHeadIsAdmittedOrRefusedByTheTable) {
  const std::string post = "POST /rpc HTTP/1.1\r\n";
  const Case cases[] = {
      {post + std::string(json), Target::rpc},
      {post + "Content-Type: application/json; charset=utf-8\r\n", Target::rpc},
      {post + "Content-Type: APPLICATION/JSON\r\n", Target::rpc},
      {"POST /rpc?x=1 HTTP/1.1\r\n" + std::string(json), Target::rpc},
      {post, Target::none, 415},
      {post + "Content-Type: text/plain\r\n", Target::none, 415},
      {post + "Content-Type: application/json; charset=latin1\r\n", Target::none, 415},
      {post + std::string(json) + "Content-Encoding: gzip\r\n", Target::none, 415},
      {post + std::string(json) + "Accept: text/html\r\n", Target::none, 406},
      {post + std::string(json) + "Accept: text/html, */*;q=0.1\r\n", Target::rpc},
      {post + std::string(json) + "Content-Length: 999\r\n", Target::rpc},
      {post + std::string(json) + "Content-Length: 1000\r\n", Target::rpc},
      {post + std::string(json) + "Content-Length: 1001\r\n", Target::none, 413,
       rpc::ErrorCode::request_too_large},
      {"GET /rpc HTTP/1.1\r\n", Target::none, 405, rpc::ErrorCode::invalid_request,
       "POST, OPTIONS"},
      {"PUT /rpc HTTP/1.1\r\n", Target::none, 405, rpc::ErrorCode::invalid_request,
       "POST, OPTIONS"},
      {"GET /rpc HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
       "Sec-WebSocket-Version: 12\r\n",
       Target::none, 426},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade), Target::websocket},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) +
           "Sec-WebSocket-Extensions: constructor\r\nSec-WebSocket-Protocol: soap\r\n",
       Target::websocket},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) + "Origin: http://localhost:3000\r\n",
       Target::websocket},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) + "Origin: https://evil.example\r\n",
       Target::none, 403, rpc::ErrorCode::not_allowed},
      {"GET /rpc HTTP/1.0\r\n" + std::string(upgrade), Target::none, 400},
      {"POST /rpc HTTP/1.1\r\n" + std::string(upgrade) + std::string(json), Target::none, 400},
      {"POST /rpc HTTP/1.1\r\nUpgrade: websocket\r\n" + std::string(json), Target::rpc},
      {"GET /rpc HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n", Target::none,
       400},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) + "Content-Length: 5\r\n", Target::none, 400},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) + "Sec-WebSocket-Key: x\r\n", Target::none,
       400},
      {"GET /rpc HTTP/1.1\r\n" + std::string(upgrade) + "Sec-WebSocket-Version: 13\r\n",
       Target::none, 426},
      {"GET /healthz HTTP/1.1\r\n" + std::string(upgrade), Target::health},
      {"GET /nope HTTP/1.1\r\n" + std::string(upgrade), Target::none, 404},
      {"OPTIONS /rpc HTTP/1.1\r\n", Target::options, 0, rpc::ErrorCode::invalid_request,
       "POST, OPTIONS"},
      {"OPTIONS * HTTP/1.1\r\n", Target::options, 0, rpc::ErrorCode::invalid_request,
       "GET, HEAD, POST, OPTIONS"},
      {"GET /healthz HTTP/1.1\r\n", Target::health},
      {"HEAD /readyz HTTP/1.1\r\n", Target::ready},
      {"GET /metrics HTTP/1.1\r\n", Target::metrics},
      {"POST /metrics HTTP/1.1\r\n", Target::none, 405, rpc::ErrorCode::invalid_request,
       "GET, HEAD, OPTIONS"},
      {"GET / HTTP/1.1\r\n", Target::none, 404},
      {"GET /rpc/ HTTP/1.1\r\n", Target::none, 404},
      {"GET /%72pc HTTP/1.1\r\n", Target::none, 404},
      {"GET /healthz HTTP/1.1\r\nOrigin: https://evil.example\r\n", Target::none, 403,
       rpc::ErrorCode::not_allowed},
      {"GET /healthz HTTP/1.1\r\nOrigin: null\r\n", Target::none, 403, rpc::ErrorCode::not_allowed},
      {"GET /healthz HTTP/1.1\r\nOrigin: http://localhost:3000\r\n", Target::health},
  };
  for (const Case& one : cases) {
    const Admission admission = admission_of(one.head);
    EXPECT_EQ(admission.target, one.target) << one.head;
    EXPECT_EQ(admission.allow, one.allow) << one.head;
    if (one.target != Target::none) continue;
    EXPECT_EQ(admission.status, one.status) << one.head;
    EXPECT_EQ(admission.code, one.code) << one.head;
  }
}

TEST(Endpoint, ARefusalSaysWhatItIsFor) {
  const std::string post = "POST /rpc HTTP/1.1\r\n";
  const std::pair<std::string, std::string_view> cases[] = {
      {"POST /nope HTTP/1.1\r\n", "path"},
      {"PUT /rpc HTTP/1.1\r\n", "method"},
      {"POST /metrics HTTP/1.1\r\n", "method"},
      {post, "media_type"},
      {post + "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", "media_type"},
      {post + std::string(json) + "Content-Encoding: gzip\r\n", "content_coding"},
      {post + std::string(json) + "Accept: text/html\r\n", "accept"},
      {"GET /rpc HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n", "websocket_version"},
      {"GET /rpc HTTP/1.0\r\n" + std::string(upgrade), "websocket_handshake"},
      {post + std::string(json) + "Content-Length: 1001\r\n", ""},
      {post + std::string(json) + "Origin: null\r\n", ""}};
  for (const auto& [head, reason] : cases) {
    EXPECT_EQ(refusal_name(admission_of(head).reason), reason) << head;
  }
}

TEST(Endpoint, OnlyLoopbackNamesAreServedOnALoopbackListener) {
  const std::string get = "GET /healthz HTTP/1.1\r\n";
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:65535"}) {
    EXPECT_EQ(admission_of(get, host).target, Target::health) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.", "127.0.0.2"}) {
    const Admission admission = admission_of(get, host);
    EXPECT_EQ(admission.status, 403) << host;
    EXPECT_EQ(admission.code, rpc::ErrorCode::not_allowed);
  }
}

TEST(Endpoint, ARefusedHostComesBeforeEverythingElse) {
  EXPECT_EQ(admission_of("PUT /nowhere HTTP/1.1\r\nContent-Length: 99999\r\n", "evil").status, 403);
}

}  // namespace
}  // namespace ringrpc::serve
