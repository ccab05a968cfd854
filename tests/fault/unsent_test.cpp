// Goal: what a stalled reader has not taken does not stay with the kernel after its connection has
//       been closed.
// Method: a reader with a small window asks for a large reply and reads nothing; the kernel's own
//       table of sockets shows what is still queued for it.

#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "tests/fault/child.h"
#include "tests/support/io_uring.h"

namespace ringrpc::testing {
namespace {

// Bytes that the kernel holds for the peers of a local port, in connections that are still there.
std::uint64_t queued_for_peers_of(std::uint16_t port) {
  std::FILE* file = std::fopen("/proc/self/net/tcp", "re");
  EXPECT_NE(file, nullptr);
  char line[512];
  std::uint64_t bytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned local_port = 0;
    unsigned state = 0;
    unsigned long queued = 0;
    constexpr unsigned listening = 0x0A;
    if (std::sscanf(line, " %*d: %*8x:%4x %*8x:%*4x %2x %8lx:", &local_port, &state, &queued) ==
            3 &&
        local_port == port && state != listening) {
      bytes += queued;
    }
  }
  std::fclose(file);
  return bytes;
}

class Unsent : public ::testing::TestWithParam<IoChoice> {};

}  // namespace

TEST_P(Unsent, BytesOfAStalledReaderLeaveTheKernelSoonAfterItsEnd) {
  Options options = Child::options(GetParam());
  options.stall_timeout_ms = 300;
  Server server(options);
  server.method("blob", [](Call&) { return std::string(15u << 20, 'x'); });
  RINGRPC_STARTED(server.start(), GetParam(), server.error());
  Socket reader(server.port());
  ASSERT_TRUE(reader.write(post(call_text("blob"))));
  ASSERT_TRUE(wait_for(server, "ringrpc_limit_hits_total{limit=\"stall_timeout\"}", 1));
  ASSERT_TRUE(wait_for(server, "ringrpc_connections", 0));
  // Without help the kernel would probe the peer for minutes, its queue in hand.
  const auto begin = std::chrono::steady_clock::now();
  while (queued_for_peers_of(server.port()) != 0) {
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    sched_yield();
  }
  EXPECT_EQ(server.stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, Unsent, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         [](const ::testing::TestParamInfo<IoChoice>& one) {
                           return std::string(one.param == IoChoice::uring ? "uring" : "epoll");
                         });

}  // namespace ringrpc::testing
