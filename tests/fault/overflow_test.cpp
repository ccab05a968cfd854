// Goal: when more completes than the kernel's queue of completions holds, it is counted and nothing
//       is lost.
// Method: the production worker on a ring of eight entries. A handler holds the loop until two
//       hundred peers have asked, so that all of it completes at once.

#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/http/hosts.h"
#include "engine/io/listener.h"
#include "engine/io/uring_io.h"
#include "engine/rpc/table.h"
#include "engine/serve/responder.h"
#include "engine/serve/worker.h"
#include "tests/fault/child.h"
#include "tests/fault/house.h"
#include "tests/support/io_uring.h"

namespace ringrpc::testing {
namespace {

using Worker = serve::Worker<io::UringIo>;

class Nobody final : public serve::Oracle {
 public:
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }
};

struct Gate {
  std::atomic<bool> held{false};
  std::atomic<bool> open{false};
};

template <typename F>
void add(rpc::Registry& registry, const char* name, F handler) {
  auto method = std::make_unique<rpc::Method>();
  method->name = name;
  method->invoke = &handlers::invoke<F>;
  method->state = new F(std::move(handler));
  method->destroy = [](void* state) { delete static_cast<F*>(state); };
  ASSERT_TRUE(registry.add(std::move(method)).ok());
}

struct Number {
  std::int64_t n;
};

}  // namespace

TEST(OverflowTest, AFullCompletionQueueLosesNothing) {
  rpc::Registry registry;
  Gate gate;
  add(registry, "same", [](const Number& in) { return in.n; });
  add(registry, "hold", [&gate](Call&) {
    gate.held = true;
    while (!gate.open.load()) std::this_thread::yield();
  });
  http::HostPolicy hosts;
  Nobody nobody;
  serve::WorkerShared shared;
  shared.registry = &registry;
  shared.hosts = &hosts;
  shared.oracle = &nobody;
  serve::WorkerOptions options;
  options.connections_max = 300;
  Worker worker(options, shared);
  worker.io().pretend_small_ring();
  io::Listener listener;
  ASSERT_TRUE(listener.open("127.0.0.1:0", 1).ok());
  std::string refusal;
  std::atomic<int> started{0};  // 1: yes, -1: no
  std::thread thread([&] {
    const int sockets[] = {listener.socket(0)};
    const base::Status status = worker.start(sockets);
    if (!status.ok()) refusal = status.sentence();
    started = status.ok() ? 1 : -1;
    if (status.ok()) worker.run();
  });
  while (started.load() == 0) std::this_thread::yield();
  if (started.load() < 0) {
    thread.join();
    RINGRPC_STARTED(false, IoChoice::uring, refusal);
  }
  listener.release(0);

  constexpr int rounds = 3;
  constexpr int peers = 200;
  std::vector<Socket> sockets;
  Socket holder(listener.port());
  for (int i = 0; i < peers; ++i) {
    sockets.emplace_back(listener.port());
    EXPECT_EQ(status_of(call_over(sockets.back(), "same", "[0]")), 200) << i;
  }
  for (int round = 0; round < rounds; ++round) {
    gate.held = gate.open = false;
    ASSERT_TRUE(holder.write(post(call_text("hold"))));
    while (!gate.held.load()) std::this_thread::yield();
    for (int i = 0; i < peers; ++i) {
      const std::string params = "[" + std::to_string(round * peers + i) + "]";
      ASSERT_TRUE(sockets[static_cast<std::size_t>(i)].write(post(call_text("same", params))));
    }
    gate.open = true;
    for (int i = 0; i < peers; ++i) {
      const std::string answer = sockets[static_cast<std::size_t>(i)].read_response();
      const std::string result = "\"result\":" + std::to_string(round * peers + i) + ",";
      EXPECT_NE(answer.find(result), answer.npos) << answer;
    }
    EXPECT_EQ(status_of(holder.read_response()), 200);
  }
  EXPECT_GT(worker.counters().get(base::Counter::completion_overflows), 0u);
  EXPECT_EQ(worker.counters().get(base::Counter::requests),
            static_cast<std::uint64_t>(peers * (rounds + 1) + rounds));
  sockets.clear();
  shared.phase = serve::Phase::stopping;
  worker.wake();
  thread.join();
  EXPECT_EQ(worker.connections(), 0u);
}

}  // namespace ringrpc::testing
