#include "tests/sim/world.h"

#include <ringrpc/server.h>

#include <algorithm>
#include <stdexcept>

#include "engine/base/assert.h"

namespace ringrpc::sim {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
struct Blob {
  std::int64_t bytes;
};

template <typename F>
void add(rpc::Registry& registry, std::string name, F handler) {
  auto method = std::make_unique<rpc::Method>();
  method->name = std::move(name);
  method->invoke = &handlers::invoke<F>;
  method->state = new F(std::move(handler));
  method->destroy = [](void* state) { delete static_cast<F*>(state); };
  RINGRPC_ASSERT(registry.add(std::move(method)).ok());
}

template <typename T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

}  // namespace

World::World(std::uint64_t seed) : random_(seed), seed_(seed) {
  choose_options();
  add_methods();
  shared_.registry = &registry_;
  shared_.hosts = &hosts_;
  shared_.oracle = this;
  worker_ = std::make_unique<FakeWorker>(options_, shared_);
}

World::~World() = default;

void World::choose_options() {
  faults_ = random_() % 8 == 0 ? testing::FakeFaults{} : testing::FakeFaults::swarm(random_());
  weights_ = Weights::swarm(random_);
  is_tight_ = random_() % 3 == 0;
  jumps_ = random_() % 4 == 0;
  stops_early_ = random_() % 8 == 0;
  hoards_ = random_() % 4 == 0;
  options_.connections_max = one_of(random_, {1u, 2u, 5u, 16u});
  options_.refusals_max = 0;  // Peers over the limit wait, and are answered when others leave.
  options_.receive_buffers = one_of(random_, {2u, 8u, 64u});
  options_.receive_buffer_size = one_of(random_, {16u, 100u, 512u, 4096u});
  options_.message_size_max = one_of(random_, {1024u, 5000u, 70'000u});
  options_.reply_size_max = one_of(random_, {16'000u, 100'000u, 600'000u});
  options_.batch_length_max = one_of(random_, {3u, 10u, 40u});
  options_.partial_pool_size = 16u << 20;
  options_.reply_slab_size = one_of(random_, {8192u, 65'536u});
  options_.reply_slabs = 64;
  options_.segments = 4096;
  options_.large_replies_size_max = 64u << 20;
  if (is_tight_) {
    options_.partial_pool_size = one_of(random_, {4096u, 8192u, 100'000u, 300'000u});
    options_.reply_slabs = one_of(random_, {2u, 3u, 5u});
    options_.segments = one_of(random_, {1u, 3u, 10u, 100u});
    options_.large_replies_size_max = one_of(random_, {4096u, 100'000u, 1u << 20});
  }
  if (hoards_) hoard();
  limits_ = {options_.message_size_max, options_.reply_size_max, options_.batch_length_max};
  clients_max_ = 1 + static_cast<std::uint32_t>(random_() % 24);
}

// Clients that ask for much and read little: connections are paused, with or without memory to keep
// what they say meanwhile.
void World::hoard() {
  weights_ = {};
  weights_.weight[Weights::large_reply] = 5;
  for (const auto kind : {Weights::single, Weights::chunked, Weights::refused, Weights::expects}) {
    weights_.weight[kind] = static_cast<std::uint32_t>(random_() % 4);
  }
  options_.reply_size_max = 600'000;
  options_.reply_slab_size = 65'536;
  options_.reply_slabs = 64;
  options_.segments = 4096;
  options_.large_replies_size_max = 64u << 20;
  options_.receive_buffer_size = one_of(random_, {512u, 4096u});
}

void World::add_methods() {
  add(registry_, "sum", [](const Sum& in) { return in.a + in.b; });
  add(registry_, "echo", [](Call& call, Reply& reply) { reply.result().raw(call.params().raw()); });
  add(registry_, "size", [](Call& call, Reply& reply) {
    reply.result().unsigned_integer(call.params().raw().size());
  });
  add(registry_, "who", [](Call& call) { return call.peer().text(); });
  add(registry_, "blob",
      [](Call&, const Blob& in) { return std::string(static_cast<std::size_t>(in.bytes), 'x'); });
  add(registry_, "fail", []() -> Result<std::int64_t> { return Error{1001, "failed"}; });
  add(registry_, "crash", []() -> std::int64_t { throw std::runtime_error("simulated"); });
}

std::uint64_t World::counted(base::Counter counter) const {
  return worker_->counters().get(counter);
}

Excuses World::excuses() const { return {is_tight_, jumps_, stopping_}; }

void World::connect() {
  const std::uint32_t number = static_cast<std::uint32_t>(clients_.size());
  io::Address peer;
  peer.bytes[10] = peer.bytes[11] = 0xFF;
  peer.bytes[12] = 10;
  peer.bytes[15] = static_cast<std::uint8_t>(number);
  peer.port = static_cast<std::uint16_t>(1000 + number);
  const std::string text = "10.0.0." + std::to_string(number) + ":" + std::to_string(1000 + number);
  Client::Habits habits;
  habits.write_max = one_of(random_, {1u, 7u, 50u, 1000u, 100'000u});
  habits.pipelines = hoards_ || random_() % 2 == 0;
  habits.reads_slowly = hoards_ || random_() % 4 == 0;
  habits.waits_for_continue = random_() % 2 == 0;
  habits.reset_percent = random_() % 6 == 0 ? 3 : 0;
  habits.fin_early = random_() % 6 == 0 ? 3 : 0;
  if (hoards_) habits.write_max = one_of(random_, {300u, 100'000u});
  const std::uint32_t length = hoards_ ? 40 : one_of(random_, {0u, 1u, 3u, 10u, 40u});
  std::vector<Request> script =
      make_script(random_, weights_, limits_, "c" + std::to_string(number), text, length);
  clients_.push_back(std::make_unique<Client>(worker_->io(), worker_->io().connect(peer),
                                              std::move(script), habits));
}

void World::turn() {
  worker_->turn();
  worker_->check_invariants();
  ++turns_;
}

// Clients come, talk, stop and leave, in any order.
std::string World::mix() {
  const std::uint32_t steps = 50 + static_cast<std::uint32_t>(random_() % 1500);
  // More than the server has slots for wait in the backlog, sometimes.
  const std::size_t crowd = random_() % 4 == 0 ? clients_max_ : options_.connections_max;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::size_t here = static_cast<std::size_t>(std::count_if(
        clients_.begin(), clients_.end(), [](const auto& one) { return !one->has_left(); }));
    if (clients_.size() < clients_max_ && here < crowd && random_() % 8 == 0) connect();
    if (!clients_.empty()) {
      Client& client = *clients_[random_() % clients_.size()];
      std::string complaint = client.step(random_, excuses());
      if (!complaint.empty()) return complaint;
      if (client.is_done() && random_() % 16 == 0) client.leave(random_);
    }
    if (random_() % 10 < 6) turn();
    if (jumps_ && random_() % 64 == 0) {
      worker_->io().advance(random_() % (20'000 * ns_per_ms));
    }
    if (stops_early_ && i == steps / 2) {
      stopping_ = true;
      shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
    }
  }
  return {};
}

// Returns: false when the server keeps turning round without an end.
bool World::run_until_idle() {
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    turn();
    if (worker_->io().idle()) return true;
  }
  return false;
}

// Everybody says and hears the rest, in no time of the fake clock worth mentioning.
std::string World::settle() {
  for (;;) {
    if (!run_until_idle()) return "the server does not come to rest";
    bool moved = false;
    for (auto& client : clients_) {
      std::string complaint = client->go_on(excuses());
      if (!complaint.empty()) return complaint;
      moved |= client->moved();
    }
    if (!moved) return {};
  }
}

std::string World::check_answers() {
  // Somebody who waits in the backlog is not late.
  const bool crowded = worker_->connections() == options_.connections_max;
  const bool excused = stopping_ || counted(base::Counter::limit_partial_pool) != 0 ||
                       counted(base::Counter::limit_head_timeout) +
                               counted(base::Counter::limit_idle_timeout) +
                               counted(base::Counter::limit_body_rate) +
                               counted(base::Counter::limit_stall_timeout) !=
                           0;
  if (!is_tight_ && counted(base::Counter::limit_partial_pool) != 0) {
    return "a server with room for everything had none";
  }
  for (auto& client : clients_) {
    if (crowded || excused) break;
    std::string complaint = client->check_complete();
    if (!complaint.empty()) return complaint;
  }
  return check_starts();
}

// Handlers have started at least as often as clients were answered, and not more often than they
// have asked.
std::string World::check_starts() {
  std::map<std::string, std::uint64_t> certainly;
  std::map<std::string, std::uint64_t> possibly;
  bool disturbed = false;
  for (const auto& client : clients_) {
    client->count(certainly, possibly);
    disturbed |= client->is_disturbed() || !client->is_done();
  }
  const std::vector<std::string> names = registry_.slot_names();
  for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
    const std::uint64_t started = worker_->stats().started(slot);
    const std::string counts = names[slot] + " started " + std::to_string(started) +
                               " times, answered " + std::to_string(certainly[names[slot]]) +
                               ", asked " + std::to_string(possibly[names[slot]]);
    if (started > possibly[names[slot]]) return counts;
    // A call that came after the budget was spent is answered without having run.
    if (started < certainly[names[slot]] && !is_tight_) return counts;
    if (!disturbed && !is_tight_ && started != certainly[names[slot]]) return counts;
  }
  return {};
}

// Everybody leaves, by FIN, by reset, or by saying nothing until a deadline ends it.
std::string World::empty_the_house() {
  for (auto& client : clients_) client->leave(random_);
  if (!run_until_idle()) return "the server does not come to rest after everybody left";
  jumps_ = true;
  // The silent ones of the backlog come one after the other and stay an idle timeout each.
  const std::uint32_t seconds_max = 200 + 100 * clients_max_;
  for (std::uint32_t i = 0; i < seconds_max && worker_->connections() != 0; ++i) {
    worker_->io().advance(1'000 * ns_per_ms);
    if (!run_until_idle()) return "the server does not come to rest after a deadline";
    for (auto& client : clients_) {
      std::string complaint = client->go_on(excuses());
      if (!complaint.empty()) return complaint;
    }
  }
  if (worker_->connections() != 0) return "a connection outlives every deadline";
  return {};
}

std::string World::stop() {
  shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
  for (std::uint32_t i = 0; i < 1000 && !worker_->finished(); ++i) {
    worker_->io().advance(100 * ns_per_ms);
    turn();
  }
  if (!worker_->finished()) return "the server does not stop";
  const serve::Gauges& gauges = worker_->gauges();
  if (gauges.connections != 0) return "the gauge of connections is not 0";
  if (gauges.buffers_lent != 0) return "the gauge of lent buffers is not 0";
  if (gauges.segments != 0) return "the gauge of segments is not 0";
  if (gauges.large_reply_bytes != 0) return "large replies are still mapped";
  if (counted(base::Counter::accepts) != counted(base::Counter::closes)) {
    return "accepted and closed connections differ in number";
  }
  if (worker_->io().open_count() != 0) return "sockets are still open";
  worker_->io().check_baseline();
  return {};
}

std::string World::run(Coverage& coverage) {
  RINGRPC_ASSERT(worker_->start({}).ok());
  worker_->io().configure(random_(), faults_);
  std::string complaint = mix();
  if (complaint.empty()) complaint = settle();
  if (complaint.empty()) complaint = check_answers();
  if (complaint.empty()) complaint = empty_the_house();
  if (complaint.empty()) complaint = stop();
  ++coverage.runs;
  coverage.turns += turns_;
  coverage.clients += clients_.size();
  for (std::size_t i = 0; i < base::counter_count; ++i) {
    coverage.counters[i] += counted(static_cast<base::Counter>(i));
  }
  return complaint;
}

}  // namespace ringrpc::sim
