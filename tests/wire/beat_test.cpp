// Signs of life of event streams, with real time that only has to pass.

#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <ringrpc/stream.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/wire/socket.h"
#include "tests/wire/ways.h"

namespace ringrpc::testing {
namespace {

class Beats : public ::testing::TestWithParam<IoChoice> {};

TEST_P(Beats, ComeThoughThePeerKeepsAsking) {
  std::vector<Stream> held;  // the worker's
  Server server({.listen = "127.0.0.1:0", .workers = 1, .io = GetParam(), .heartbeat_ms = 200});
  server.method("hold", [&held](Stream stream) { held.push_back(std::move(stream)); });
  server.method("release", [&held] {
    for (Stream& stream : held) stream.answer("released");
    held.clear();
  });
  ASSERT_TRUE(server.start()) << server.error();
  Socket socket(server.port());
  ASSERT_TRUE(socket.write(said(Way::http, call("1", "hold", "{}"))));
  ASSERT_TRUE(wait_for(server, "ringrpc_in_flight", 1));
  // Each is answered behind the stream, so nothing is sent; ten of them come in the time of one
  // beat.
  const std::string note = post(R"({"jsonrpc":"2.0","method":"nobody"})");
  const auto begin = std::chrono::steady_clock::now();
  for (int asked = 0; metric(server, "ringrpc_heartbeats_total") < 3;) {
    const auto passed = std::chrono::steady_clock::now() - begin;
    ASSERT_LT(passed, std::chrono::seconds(20)) << "no sign of life";
    if (passed < asked * std::chrono::milliseconds(20)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_TRUE(socket.write(note));
    ++asked;
  }
  Socket other(server.port());
  ASSERT_TRUE(other.write(post(R"({"jsonrpc":"2.0","id":2,"method":"release"})")));
  EXPECT_NE(other.read_response().find(R"("id":2)"), std::string::npos);
  EXPECT_EQ(server.stop(), 0);
}

// What has come of a request behind a stream is not held against its peer, who waits for the
// stream.
TEST_P(Beats, ComeThoughHalfARequestHasComeBehindTheStream) {
  std::vector<Stream> held;  // the worker's
  Server server({.listen = "127.0.0.1:0",
                 .workers = 1,
                 .io = GetParam(),
                 .head_timeout_ms = 300,
                 .body_grace_ms = 300,
                 .heartbeat_ms = 200});
  server.method("hold", [&held](Stream stream) { held.push_back(std::move(stream)); });
  server.method("release", [&held] {
    for (Stream& stream : held) stream.answer("released");
    held.clear();
  });
  ASSERT_TRUE(server.start()) << server.error();
  const std::string next = post(R"({"jsonrpc":"2.0","id":2,"method":"release"})");
  std::uint64_t beats = 0;
  for (const std::size_t cut : {std::size_t{10}, next.find("\r\n\r\n") + 10}) {
    Socket socket(server.port());
    ASSERT_TRUE(socket.write(said(Way::http, call("1", "hold", "{}")) + next.substr(0, cut)));
    beats += 5;
    ASSERT_TRUE(wait_for(server, "ringrpc_heartbeats_total", beats, true));
    ASSERT_TRUE(socket.write(next.substr(cut)));  // It ends the stream.
    std::string heard;
    while (heard.find(R"("id":2})") == heard.npos) {
      const std::string more = socket.read_some();
      ASSERT_FALSE(more.empty() || more.ends_with("<nothing>")) << heard;
      heard += more;
    }
    EXPECT_NE(heard.find(R"("result":"released","id":1})"), heard.npos) << heard;
    EXPECT_EQ(heard.find("HTTP/1.1 408"), heard.npos) << heard;
    beats = metric(server, "ringrpc_heartbeats_total");
  }
  EXPECT_EQ(server.stop(), 0);
}

std::string name_of(const ::testing::TestParamInfo<IoChoice>& one) {
  return one.param == IoChoice::uring ? "OverUring" : "OverEpoll";
}
INSTANTIATE_TEST_SUITE_P(Backends, Beats, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);

}  // namespace
}  // namespace ringrpc::testing
