// Goal: the doors without sockets answer as the sockets do, from any number of threads at a time,
// while methods come and go.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ringrpc {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

std::string called(Server& server, std::string_view json) {
  std::string reply = "garbage";
  server.call(json, reply);
  return reply;
}

std::string body_of(const std::string& response) {
  const std::size_t at = response.find("\r\n\r\n");
  return at == std::string::npos ? response : response.substr(at + 4);
}

std::string http_of(const std::string& body, const std::string& more = {}) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(InMemory, AnswersCallsAndIsSilentOnNotifications) {
  Server server({.listen = ""});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  EXPECT_EQ(called(server, R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})"),
            R"({"jsonrpc":"2.0","result":5,"id":1})");
  EXPECT_EQ(called(server, R"({"jsonrpc":"2.0","method":"sum","params":[2,3]})"), "");
  EXPECT_EQ(called(server, R"([{"jsonrpc":"2.0","method":"sum","params":[2,3]}])"), "");
  EXPECT_EQ(called(server, "{"),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null})");
}

TEST(InMemory, AMessageAtTheLimitPassesAndAboveItIsRefused) {
  Server server({.listen = "", .message_size_max = 1024, .partial_pool_size = 100'000});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  std::string text = R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})";
  for (const std::size_t size : {1023u, 1024u}) {
    text.resize(size, ' ');
    EXPECT_EQ(called(server, text), R"({"jsonrpc":"2.0","result":5,"id":1})") << size;
  }
  text.resize(1025, ' ');
  EXPECT_NE(called(server, text).find("-31008"), std::string::npos);
}

TEST(InMemory, HttpAnswersOneWholeRequestAndNothingElse) {
  Server server({.listen = ""});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  const std::string request = http_of(R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})");
  std::string response;
  server.call_http(request, response);
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(body_of(response), R"({"jsonrpc":"2.0","result":5,"id":1})");
  for (const std::string& bad : {request + "x", request.substr(0, request.size() - 1),
                                 request.substr(0, 30), std::string()}) {
    server.call_http(bad, response);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 400 ")) << bad;
  }
  server.call_http(request, response);
  EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << "after the bad ones";
}

TEST(InMemory, AHandlerMayCallTheSameServer) {
  Server server({.listen = ""});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  server.method("twice", [&server] {
    return called(server, R"({"jsonrpc":"2.0","method":"sum","params":[20,1],"id":"in"})");
  });
  EXPECT_EQ(
      called(server, R"({"jsonrpc":"2.0","method":"twice","id":1})"),
      R"({"jsonrpc":"2.0","result":"{\"jsonrpc\":\"2.0\",\"result\":21,\"id\":\"in\"}","id":1})");
}

TEST(InMemory, AHandlerMayRemoveItselfAndAddOthers) {
  Server server({.listen = ""});
  server.method("once", [&server] {
    server.remove("once");
    server.method("next", [] { return 2; });
    return 1;
  });
  const std::string once = R"({"jsonrpc":"2.0","method":"once","id":1})";
  EXPECT_EQ(called(server, once), R"({"jsonrpc":"2.0","result":1,"id":1})");
  EXPECT_NE(called(server, once).find("-32601"), std::string::npos);
  EXPECT_EQ(called(server, R"({"jsonrpc":"2.0","method":"next","id":1})"),
            R"({"jsonrpc":"2.0","result":2,"id":1})");
}

TEST(InMemory, EightThreadsGetTheirOwnAnswersWhileMethodsComeAndGo) {
  Server server({.listen = ""});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  std::atomic<int> wrong{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&server, &wrong, t] {
      std::string reply;
      for (int i = 0; i < 2000; ++i) {
        const std::string id = std::to_string(t * 10'000 + i);
        const std::string body =
            R"({"jsonrpc":"2.0","method":"sum","params":[)" + id + R"(,1],"id":)" + id + "}";
        if (i % 2 == 0) {
          server.call(body, reply);
        } else {
          server.call_http(http_of(body), reply);
          reply = body_of(reply);
        }
        const std::string expected = R"({"jsonrpc":"2.0","result":)" +
                                     std::to_string(t * 10'000 + i + 1) + R"(,"id":)" + id + "}";
        if (reply != expected) wrong.fetch_add(1);
        server.call(R"({"jsonrpc":"2.0","method":"flicker","id":1})", reply);
        if (reply.find("32601") == std::string::npos && reply.find("true") == std::string::npos) {
          wrong.fetch_add(1);
        }
      }
    });
  }
  std::thread writer([&server, &over] {
    while (!over.load()) {
      server.method("flicker", [] { return true; });
      server.remove("flicker");
    }
  });
  for (std::thread& thread : threads) thread.join();
  over.store(true);
  writer.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_NE(server.metrics().find("ringrpc_calls_total"), std::string::npos);
}

}  // namespace
}  // namespace ringrpc
