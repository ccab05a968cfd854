#pragma once

// A server's worker on the fake kernel, set up as the server would, where time passes when told.

#include <ringrpc/server.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tests/sim/fake_worker.h"
#include "tests/support/fake_io.h"

namespace ringrpc::sim {

// The first listener speaks HTTP, the second one lines of JSON.
// Thread: one. Its pools are small: the fake kernel fills what it lends, and the invariants walk
// over all of it.
class SimServer {
 public:
  explicit SimServer(const std::map<std::string, std::string>& options,
                     std::uint32_t connections_max = 4);

  [[nodiscard]] FakeWorker& worker() { return *worker_; }
  [[nodiscard]] testing::FakeIo& io() { return worker_->io(); }

  // Turns until nothing moves; what the client hears meanwhile is added to `heard`.
  // Returns: false when that does not come.
  bool rest(testing::FakeIo::ClientId client, std::string& heard);
  // The same for a client that does not listen.
  bool rest();

  // Lets the time pass, with a turn at each tick of the timers.
  void pass(std::uint64_t ms);
  [[nodiscard]] std::uint64_t now_ms() { return io().now_ns() / 1'000'000; }

  void begin_stop();
  // Handlers started so far, by method.
  std::map<std::string, std::uint64_t> calls();
  [[nodiscard]] std::uint64_t counted(base::Counter counter) {
    return worker_->counters().get(counter);
  }

  // Returns: what the worker still holds, empty when it is nothing.
  std::string check_baseline();

 private:
  // Lets the time pass that a call sleeps for, when that is short. Returns: whether one did.
  bool wake_sleeper();

  std::unique_ptr<Server> server_;
  std::unique_ptr<FakeWorker> worker_;
};

}  // namespace ringrpc::sim
