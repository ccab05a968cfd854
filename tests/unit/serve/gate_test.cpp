// Goal: row 6 of the numbers to reach, without a clock: after warm-up a request costs no heap
// allocation, no copy when it comes in one piece and one when it does not, one receive and one
// send. Method: real servers over loopback on both backends, driven by blocking sockets of this
// thread, which allocates nothing itself while it counts.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <ringrpc/server.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/allocation_gate.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

Co<std::int64_t> sum(Sum in) { co_return in.a + in.b; }

// It could send, and where nobody wants it, it tries to.
Co<std::int64_t> sum_or_send(Sum in, CoStream stream) {
  if (!stream.open()) co_await stream.send("summed", in);
  co_return co_await sum(in);
}

std::string post(const std::string& body) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string post_for_events(const std::string& body) {
  std::string bytes = post(body);
  return bytes.insert(bytes.find("Content-Type"),
                      "Accept: application/json, text/event-stream\r\n");
}

const std::string canonical = R"({"jsonrpc":"2.0","method":"sum","params":{"a":2,"b":3},"id":1})";

int connected(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return fd;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(size, 0);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

// Reads `count` bytes into memory that exists already. Returns: whether they came.
bool read_exactly(int fd, std::size_t count) {
  static std::array<char, 1u << 16> bytes;
  while (count > 0) {
    const ssize_t size = recv(fd, bytes.data(), std::min(bytes.size(), count), 0);
    if (size <= 0) return false;
    count -= static_cast<std::size_t>(size);
  }
  return true;
}

// Returns: the bytes of `responses` whole responses.
std::size_t size_of_responses(int fd, std::size_t responses) {
  std::string heard;
  std::size_t at = 0;
  for (std::size_t i = 0; i < responses;) {
    const std::size_t end = heard.find("\r\n\r\n", at);
    std::size_t length = 0;
    if (end != std::string::npos) {
      std::size_t digits = heard.find("Content-Length:", at) + 15;
      if (digits < end) {
        while (heard[digits] == ' ') ++digits;
        std::from_chars(heard.data() + digits, heard.data() + end, length);
      }
      if (heard.size() >= end + 4 + length) {
        at = end + 4 + length;
        ++i;
        continue;
      }
    }
    char bytes[4096];
    const ssize_t size = recv(fd, bytes, sizeof(bytes), 0);
    if (size <= 0) return 0;
    heard.append(bytes, static_cast<std::size_t>(size));
  }
  EXPECT_EQ(at, heard.size());
  return heard.size();
}

std::uint64_t metric(const Server& server, const std::string& name) {
  const std::string text = "\n" + server.metrics();
  const std::size_t at = text.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return std::stoull(text.substr(at + name.size() + 2));
}

class Gate : public ::testing::TestWithParam<IoChoice> {
 protected:
  Gate() {
    server.method("sum", [](const Sum& in) { return in.a + in.b; });
    server.method("echo",
                  [](Call& call, Reply& reply) { reply.result().raw(call.params().raw()); });
    server.method("sum.co", [](Sum in) -> Co<std::int64_t> { co_return co_await sum(in); });
    server.method("sum.stream", &sum_or_send);
    started = server.start();
  }
  ~Gate() override { server.stop(); }

  Server server{{.listen = "127.0.0.1:0",
                 .more_listeners = {"tcp://127.0.0.1:0"},
                 .workers = 1,
                 .io = GetParam(),
                 .pin = false}};
  bool started = false;
};

// What a client sends at once, and how many responses come back.
struct Load {
  const char* name;
  std::string bytes;
  std::size_t responses = 1;
};

std::vector<Load> loads() {
  std::string pipelined;
  for (int i = 0; i < 16; ++i) pipelined += post(canonical);
  std::string batch = "[";
  for (int i = 0; i < 100; ++i) batch += (i == 0 ? "" : ",") + canonical;
  return {
      {"canonical", post(canonical)},
      {"pipelined", pipelined, 16},
      {"batch", post(batch + "]")},
      {"echo", post(R"({"jsonrpc":"2.0","method":"echo","params":{"k":[1,"\u0061"]},"id":"x"})")},
      {"coroutine", post(R"({"jsonrpc":"2.0","method":"sum.co","params":[1,2],"id":1})")},
      {"coroutine with a stream",
       post(R"({"jsonrpc":"2.0","method":"sum.stream","params":[1,2],"id":1})")},
      {"coroutine with a stream that is wanted", post_for_events(R"({"jsonrpc":"2.0",)"
                                                                 R"("method":"sum.stream",)"
                                                                 R"("params":[1,2],"id":1})")},
      {"notification", post(R"({"jsonrpc":"2.0","method":"sum","params":[1,2]})")},
      {"-32601", post(R"({"jsonrpc":"2.0","method":"nobody","id":1})")},
      {"-32602", post(R"({"jsonrpc":"2.0","method":"sum","params":{"a":"x"},"id":1})")},
      {"-32700", post("{")}};
}

TEST_P(Gate, ARequestAllocatesNothingOnceTheServerIsWarm) {
  ASSERT_TRUE(started) << server.error();
  for (const Load& load : loads()) {
    const int fd = connected(server.port());
    write_all(fd, load.bytes);
    const std::size_t size = size_of_responses(fd, load.responses);
    ASSERT_GT(size, 0u) << load.name;
    for (int i = 0; i < 50; ++i) {
      write_all(fd, load.bytes);
      ASSERT_TRUE(read_exactly(fd, size));
    }
    const std::uint64_t before = testing::heap_allocations();
    for (int i = 0; i < 200; ++i) {
      write_all(fd, load.bytes);
      if (!read_exactly(fd, size)) break;
    }
    EXPECT_EQ(testing::heap_allocations() - before, 0u) << load.name;
    close(fd);
  }
}

TEST_P(Gate, ARequestInOnePieceIsNotCopiedAndASplitOneOnce) {
  ASSERT_TRUE(started) << server.error();
  const int fd = connected(server.port());
  const std::string request = post(canonical);
  write_all(fd, request);
  const std::size_t size = size_of_responses(fd, 1);
  for (int i = 0; i < 100; ++i) {
    write_all(fd, request);
    ASSERT_TRUE(read_exactly(fd, size));
  }
  EXPECT_EQ(metric(server, "ringrpc_bytes_copied_total"), 0u);
  // Whether the halves meet in one receive is the kernel's business, so the cut is at 4,096: two
  // receive buffers, each once.
  const std::uint64_t receives = metric(server, "ringrpc_receives_total");
  std::string filler = R"({"jsonrpc":"2.0","method":"echo","params":[")";
  filler += std::string(5000, 'f') + R"("],"id":1})";
  const std::string split = post(filler);
  write_all(fd, split);
  ASSERT_GT(size_of_responses(fd, 1), 5000u);
  EXPECT_EQ(metric(server, "ringrpc_receives_total") - receives, 2u);
  EXPECT_EQ(metric(server, "ringrpc_bytes_copied_total"), split.size());
  close(fd);
}

TEST_P(Gate, LinesAllocateNothingAndInOnePieceAreNotCopied) {
  ASSERT_TRUE(started) << server.error();
  const int fd = connected(server.port(1));
  const std::string line = canonical + "\n";
  const std::string five = "{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":1}\n";
  std::string many;
  for (int i = 0; i < 16; ++i) many += line;
  const auto once = [&](const std::string& bytes, std::size_t size) {
    write_all(fd, bytes);
    ASSERT_TRUE(read_exactly(fd, size));
  };
  for (int i = 0; i < 50; ++i) {
    once(line, five.size());
    once(many, 16 * five.size());
  }
  EXPECT_EQ(metric(server, "ringrpc_bytes_copied_total"), 0u);
  const std::uint64_t before = testing::heap_allocations();
  for (int i = 0; i < 200; ++i) {
    once(line, five.size());
    once(many, 16 * five.size());
  }
  EXPECT_EQ(testing::heap_allocations() - before, 0u);
  close(fd);
}

TEST_P(Gate, AWebSocketsMessagesAllocateNothingAndInOnePieceAreNotCopied) {
  ASSERT_TRUE(started) << server.error();
  using ws::test::frame;
  const int fd = connected(server.port());
  write_all(fd,
            "GET /rpc HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  ASSERT_GT(size_of_responses(fd, 1), 0u);
  const std::string text = frame(ws::test::first_text, canonical);
  const std::string parts = ws::test::opens(canonical.substr(0, 20)) +
                            frame(ws::test::first_ping, "p") + ws::test::ends(canonical.substr(20));
  const std::size_t reply_size = 2 + std::string(R"({"jsonrpc":"2.0","result":5,"id":1})").size();
  const auto once = [&](const std::string& bytes, std::size_t size) {
    write_all(fd, bytes);
    ASSERT_TRUE(read_exactly(fd, size));
  };
  for (int i = 0; i < 50; ++i) once(text, reply_size);
  EXPECT_EQ(metric(server, "ringrpc_bytes_copied_total"), 0u);
  for (int i = 0; i < 50; ++i) once(parts, reply_size + 3);
  EXPECT_EQ(metric(server, "ringrpc_bytes_copied_total"), 50 * canonical.size());
  const std::uint64_t before = testing::heap_allocations();
  for (int i = 0; i < 200; ++i) once(text, reply_size);
  for (int i = 0; i < 200; ++i) once(parts, reply_size + 3);
  EXPECT_EQ(testing::heap_allocations() - before, 0u);
  close(fd);
}

TEST_P(Gate, ARequestIsOneReceiveAndOneSendAndEntersAreShared) {
  ASSERT_TRUE(started) << server.error();
  constexpr std::size_t connections = 32;
  constexpr std::size_t rounds = 50;
  const std::string request = post(canonical);
  std::vector<int> fds;
  std::size_t size = 0;
  for (std::size_t i = 0; i < connections; ++i) {
    fds.push_back(connected(server.port()));
    write_all(fds.back(), request);
    size = size_of_responses(fds.back(), 1);
    ASSERT_GT(size, 0u);
  }
  const auto counted = [this](const char* name) { return metric(server, name); };
  const std::uint64_t receives = counted("ringrpc_receives_total");
  const std::uint64_t sends = counted("ringrpc_sends_total");
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const int fd : fds) write_all(fd, request);
    for (const int fd : fds) ASSERT_TRUE(read_exactly(fd, size));
  }
  // The last send's completion may come after its bytes.
  const std::uint64_t requests = connections * rounds;
  EXPECT_EQ(counted("ringrpc_receives_total") - receives, requests);
  EXPECT_LE(counted("ringrpc_sends_total") - sends, requests + connections);
  EXPECT_GE(counted("ringrpc_sends_total") - sends + connections, requests);
  for (const int fd : fds) close(fd);
}

// A worker that is held in a handler finds what 31 others asked meanwhile in one turn.
TEST_P(Gate, RequestsThatWaitTogetherShareTheirEnters) {
  ASSERT_TRUE(started) << server.error();
  int held[2];
  int released[2];
  ASSERT_EQ(pipe(held) + pipe(released), 0);
  server.method("hold", [&held, &released] {
    char byte = 1;
    return write(held[1], &byte, 1) == 1 && read(released[0], &byte, 1) == 1;
  });
  const std::string hold = post(R"({"jsonrpc":"2.0","method":"hold","id":1})");
  const std::string request = post(canonical);
  std::vector<int> fds;
  for (int i = 0; i < 32; ++i) {
    fds.push_back(connected(server.port()));
    write_all(fds.back(), request);
    ASSERT_GT(size_of_responses(fds.back(), 1), 0u);
  }
  constexpr std::uint64_t rounds = 20;
  const std::uint64_t enters = metric(server, "ringrpc_enters_total");
  for (std::uint64_t round = 0; round < rounds; ++round) {
    char byte = 1;
    write_all(fds[0], hold);
    ASSERT_EQ(read(held[0], &byte, 1), 1);
    for (std::size_t i = 1; i < fds.size(); ++i) write_all(fds[i], request);
    ASSERT_EQ(write(released[1], &byte, 1), 1);
    for (const int fd : fds) ASSERT_GT(size_of_responses(fd, 1), 0u);
  }
  const double each = static_cast<double>(metric(server, "ringrpc_enters_total") - enters) /
                      static_cast<double>(rounds * fds.size());
  RecordProperty("enters_per_request", std::to_string(each));
  EXPECT_LE(each, 0.4);
  for (const int fd : fds) close(fd);
  for (const int fd : {held[0], held[1], released[0], released[1]}) close(fd);
}

INSTANTIATE_TEST_SUITE_P(Backends, Gate, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         [](const auto& one) {
                           return one.param == IoChoice::uring ? "Uring" : "Epoll";
                         });

TEST(InMemoryGate, TheDoorsWithoutSocketsAllocateNothingOnceTheyAreWarm) {
  Server server({.listen = ""});
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  server.method("sum.co", [](Sum in) -> Co<std::int64_t> { co_return co_await sum(in); });
  server.method("sum.stream", &sum_or_send);
  std::string padded = canonical + std::string(64, ' ');
  const std::string http = post(canonical);
  std::string reply;
  const auto once = [&] {
    server.call(canonical, reply);
    server.call_padded(std::string_view(padded).substr(0, canonical.size()), reply);
    server.call(R"({"jsonrpc":"2.0","method":"nobody","id":1})", reply);
    server.call(R"({"jsonrpc":"2.0","method":"sum.co","params":[1,2],"id":1})", reply);
    server.call(R"({"jsonrpc":"2.0","method":"sum.stream","params":[1,2],"id":1})", reply);
    server.call_http(http, reply);
  };
  for (int i = 0; i < 50; ++i) once();
  const std::uint64_t before = testing::heap_allocations();
  for (int i = 0; i < 200; ++i) once();
  EXPECT_EQ(testing::heap_allocations() - before, 0u);
}

}  // namespace
}  // namespace ringrpc
