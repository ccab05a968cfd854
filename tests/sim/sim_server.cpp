#include "tests/sim/sim_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/spec/methods.h"
#include "tests/support/server_door.h"

namespace ringrpc::sim {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr int turns_max = 1'000'000;
// What sleeps no longer than this belongs to what moves.
constexpr std::uint64_t short_sleep_ns = 5 * ns_per_ms;

}  // namespace

SimServer::SimServer(const std::map<std::string, std::string>& settings,
                     std::uint32_t connections_max) {
  Options options;
  options.listen = "";
  options.connections_max = connections_max;
  testing::Served served;
  EXPECT_EQ(testing::read_options(settings, options, served), "");
  server_ = std::make_unique<Server>(options);
  EXPECT_TRUE(testing::add_methods(*server_, served, options.reply_size_max)) << served.methods;
  serve::WorkerOptions worker = testing::worker_options_of(*server_);
  worker.receive_buffers = 16;
  worker.receive_buffer_size = 1024;
  worker.segments = std::max(64u, 2 * connections_max);
  worker.reply_slabs = 4;
  worker.doors = {{}, {.protocol = serve::Protocol::lines}};
  worker_ = std::make_unique<FakeWorker>(worker, testing::shared_of(*server_));
  EXPECT_TRUE(worker_->start({}).ok());
}

bool SimServer::rest(testing::FakeIo::ClientId client, std::string& heard) {
  for (int i = 0; i < turns_max; ++i) {
    worker_->turn();
    heard += io().client_read(client);
    if (io().idle() && !wake_sleeper()) return true;
  }
  return false;
}

bool SimServer::rest() {
  for (int i = 0; i < turns_max; ++i) {
    worker_->turn();
    if (io().idle() && !wake_sleeper()) return true;
  }
  return false;
}

bool SimServer::wake_sleeper() {
  const rpc::LateCalls& calls = worker_->late().calls();
  if (calls.has_posts()) return true;
  const std::uint64_t due_ns = calls.next_ns();
  if (due_ns == 0 || due_ns > io().now_ns() + short_sleep_ns) return false;
  if (due_ns > io().now_ns()) io().advance(due_ns - io().now_ns());
  return true;
}

void SimServer::pass(std::uint64_t ms) {
  for (; ms > 0; ms -= std::min<std::uint64_t>(ms, limits::timer_slot_ms)) {
    io().advance(std::min<std::uint64_t>(ms, limits::timer_slot_ms) * ns_per_ms);
    worker_->turn();
  }
}

void SimServer::begin_stop() {
  testing::shared_of(*server_).phase.store(serve::Phase::stopping, std::memory_order_release);
}

std::map<std::string, std::uint64_t> SimServer::calls() {
  const std::vector<std::string> names = testing::shared_of(*server_).registry->slot_names();
  std::map<std::string, std::uint64_t> started;
  for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
    for (std::size_t at = 0; at < worker_->endpoints().count(); ++at) {
      const std::uint64_t count = worker_->endpoints()[at].stats->started(slot);
      if (count != 0) started[names[slot]] += count;
    }
  }
  return started;
}

std::string SimServer::check_baseline() {
  worker_->check_invariants();
  const serve::Gauges& gauges = worker_->gauges();
  if (worker_->connections() != 0) return "a connection stays";
  if (io().lent_count() != 0 || gauges.buffers_lent.load() != 0) return "buffers stay lent";
  if (gauges.partial_messages.load() != 0) return "a partial message stays";
  if (worker_->late().exchanges() != 0) return "a message still waits for its answers";
  if (worker_->late().busy()) return "a call stays in flight";
  if (gauges.segments.load() != 0) return "a reply stays";
  if (gauges.large_reply_bytes.load() != 0) return "a large reply stays";
  io().check_baseline();
  if (counted(base::Counter::accepts) != counted(base::Counter::closes)) return "closes are amiss";
  return {};
}

}  // namespace ringrpc::sim
