// Goal: whenever a peer that has half closed its connection, or has as many calls as it may, resets
// it, its calls are asked to stop at once; one that only listens hears its answers; and nothing is
// left behind. Method: the worker
// of a server on the fake kernel, out of one seed: clients whose calls sleep or stream, with every
// fault.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/sim/sim_server.h"

namespace ringrpc::sim {
namespace {

using testing::FakeFaults;
using testing::FakeIo;

constexpr std::uint64_t seeds = 300;
constexpr std::uint32_t http = 0;
constexpr std::uint32_t lines = 1;

const char* const messages[] = {
    R"({"jsonrpc":"2.0","id":1,"method":"co.sleep","params":[3600000]})",
    R"({"jsonrpc":"2.0","id":2,"method":"sleep","params":[3600000]})",
    R"({"jsonrpc":"2.0","id":3,"method":"co.wait","params":{"key":"nobody"}})",
    R"({"jsonrpc":"2.0","id":4,"method":"co.count","params":[200]})",
    R"({"jsonrpc":"2.0","id":5,"method":"sum","params":[1,2]})",
    R"([{"jsonrpc":"2.0","id":6,"method":"co.sleep","params":[3600000]},)"
    R"({"jsonrpc":"2.0","id":7,"method":"sum","params":[1,2]}])",
};

std::string said(std::uint32_t listener, const std::string& message) {
  if (listener == lines) return message + "\n";
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Accept: application/json, text/event-stream\r\nContent-Length: " +
         std::to_string(message.size()) + "\r\n\r\n" + message;
}

class HalfClose {
 public:
  explicit HalfClose(std::uint64_t seed)
      : random_(seed),
        server_({{"methods", "late"},
                 {"in_flight_per_connection_max", std::to_string(seed % 3 == 0 ? 1 : 128)}},
                16),
        seed_(seed) {}

  // Returns: a complaint; empty when all was as it should be.
  std::string run(FakeFaults faults) {
    FakeIo& io = server_.io();
    io.configure(seed_, faults);
    std::vector<FakeIo::ClientId> clients;
    const std::size_t count = 1 + random_() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t listener = random_() % 2 == 0 ? http : lines;
      clients.push_back(io.connect({}, listener));
      const std::size_t calls = random_() % 4;
      for (std::size_t k = 0; k <= calls; ++k) {
        io.client_write(clients.back(), said(listener, messages[random_() % std::size(messages)]));
        if (random_() % 2 == 0) server_.worker().turn();
      }
      if (random_() % 4 == 0) io.client_stop_reading(clients.back(), random_() % 300);
      if (random_() % 4 != 0) io.client_fin(clients.back());
      if (random_() % 2 == 0) server_.worker().turn();
    }
    if (!server_.rest()) return "the server does not come to rest";
    // One after the other is gone, and none of its calls stays.
    for (const FakeIo::ClientId client : clients) {
      io.client_resume_reading(client);
      io.client_reset(client);
      if (random_() % 2 == 0 && !server_.rest()) return "no rest behind a reset";
    }
    if (!server_.rest()) return "no rest behind the last reset";
    io.configure(seed_, {});
    server_.rest();
    watched_ = server_.worker().counters().get(base::Counter::replies_dropped) != 0;
    return server_.check_baseline();
  }

  [[nodiscard]] bool dropped_replies() const { return watched_; }

 private:
  std::mt19937_64 random_;
  SimServer server_;
  const std::uint64_t seed_;
  bool watched_ = false;
};

TEST(HalfCloses, AResetBehindAFinEndsTheCallsAtOnce) {
  std::uint64_t told = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    HalfClose world(seed);
    const FakeFaults faults = seed % 4 == 0 ? FakeFaults{} : FakeFaults::swarm(seed);
    ASSERT_EQ(world.run(faults), "") << "seed " << seed;
    if (world.dropped_replies()) ++told;
  }
  EXPECT_GT(told, seeds / 2);
}

// The kernel itself resets them at any time, and nobody else does.
TEST(HalfCloses, AreResetByTheNetworkAtAnyTime) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    HalfClose world(seed);
    FakeFaults faults = FakeFaults::swarm(seed);
    faults.reset_after_fin = 1 + static_cast<std::uint32_t>(seed % 60);
    ASSERT_EQ(world.run(faults), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace ringrpc::sim
