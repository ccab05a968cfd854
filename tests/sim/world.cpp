#include "tests/sim/world.h"

#include <algorithm>

#include "engine/base/assert.h"

namespace ringrpc::sim {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;
// Less than any deadline of a connection.
constexpr std::uint64_t patience_ns = 400 * ns_per_ms;
// More often than any run lets everybody go on.
constexpr std::uint32_t rounds_max = 100'000;

}  // namespace

World::World(std::uint64_t seed) : random_(seed), seed_(seed) {
  choose_options();
  add_methods();
  shared_.registry = &registry_;
  shared_.hosts = &hosts_;
  shared_.oracle = this;
  shared_.hub = &LateMethods::hub();
  worker_ = std::make_unique<FakeWorker>(options_, shared_);
}

World::~World() = default;

std::uint64_t World::counted(base::Counter counter) const {
  return worker_->counters().get(counter);
}

Excuses World::excuses() const {
  return {.memory = is_tight_ || is_full_,
          .time = jumps_ || passed_ns_ > patience_ns,
          .stopping = stopping_,
          .crowd = options_.refusals_max != 0,
          .in_flight = options_.in_flight_per_connection_max < limits::in_flight_per_connection_max,
          .calls_time = options_.call_timeout_ms != 0,
          .drops = counted(base::Counter::events_dropped) != 0};
}

void World::pass(std::uint64_t ns) {
  passed_ns_ += ns;
  worker_->io().advance(ns);
}

// What a call waits for comes. Returns: whether one does.
bool World::pass_to_next() {
  const std::uint64_t due_ns = worker_->late().calls().next_ns();
  if (due_ns == 0) return false;
  const std::uint64_t now_ns = worker_->io().now_ns();
  if (due_ns > now_ns) pass(due_ns - now_ns);
  return true;
}

void World::connect() {
  const std::uint32_t number = static_cast<std::uint32_t>(clients_.size());
  io::Address peer;
  peer.bytes[10] = peer.bytes[11] = 0xFF;
  peer.bytes[12] = 10;
  peer.bytes[14] = static_cast<std::uint8_t>(number >> 8);
  peer.bytes[15] = static_cast<std::uint8_t>(number);
  peer.port = static_cast<std::uint16_t>(1000 + number);
  const std::string text = "10.0." + std::to_string(number >> 8) + "." +
                           std::to_string(number & 0xFF) + ":" + std::to_string(1000 + number);
  Client::Habits habits;
  habits.write_max = one_of(random_, {1u, 7u, 50u, 1000u, 100'000u});
  habits.pipelines = hoards_ || random_() % 2 == 0;
  habits.reads_slowly = hoards_ || random_() % 4 == 0;
  habits.waits_for_continue = random_() % 2 == 0;
  habits.reset_percent = random_() % 6 == 0 ? 3 : 0;
  habits.fin_early = random_() % 6 == 0 ? 3 : 0;
  if (hoards_) habits.write_max = one_of(random_, {300u, 100'000u});
  const std::uint32_t length = hoards_ ? 40 : one_of(random_, {0u, 1u, 3u, 10u, 40u});
  const std::uint64_t tongue = random_() % 4;
  habits.lines = tongue == 0;
  habits.websocket = tongue == 1;
  std::vector<Request> script =
      make_script(random_, tongue < 2 ? weights_.of_lines() : weights_.of_http(), limits_,
                  "c" + std::to_string(number), text, length);
  if (habits.lines) script = as_lines(random_, script);
  if (habits.websocket) script = as_messages(random_, script);
  const std::uint32_t listener = habits.lines ? 1 : 0;
  clients_.push_back(std::make_unique<Client>(worker_->io(), worker_->io().connect(peer, listener),
                                              std::move(script), habits, late_.publications()));
}

void World::turn() {
  worker_->turn();
  worker_->check_invariants();
  RINGRPC_ASSERT(counted(base::Counter::accepts) - counted(base::Counter::closes) ==
                 worker_->connections());
  const serve::Gauges& gauges = worker_->gauges();
  RINGRPC_ASSERT(gauges.partial_bytes <= options_.partial_pool_size);
  RINGRPC_ASSERT(gauges.large_reply_bytes <= options_.large_replies_size_max);
  ++turns_;
}

// What holds whenever nothing is under way: the worker has seen all that the kernel has done.
std::string World::check_rest() {
  const testing::FakeIo& io = worker_->io();
  if (worker_->connections() != io.open_count()) return "not every socket is a connection";
  if (io.lent_count() != 0) return "at rest with buffers lent";
  if (counted(base::Counter::bytes_in) != io.bytes_received()) return "bytes_in is wrong";
  if (counted(base::Counter::bytes_out) != io.bytes_sent()) return "bytes_out is wrong";
  return {};
}

// Clients come, talk, stop and leave, in any order.
std::string World::mix() {
  std::uint32_t steps = 50 + static_cast<std::uint32_t>(random_() % 1500);
  if (clients_max_ >= 100) steps += 3000;
  const std::uint32_t last = static_cast<std::uint32_t>(random_() % steps);
  const std::uint32_t coming = clients_max_ >= 100 ? 2 : 8;
  // More than the server has slots for wait in the backlog, sometimes.
  const std::size_t crowd = random_() % 4 == 0 ? clients_max_ : options_.connections_max;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::size_t here = static_cast<std::size_t>(std::count_if(
        clients_.begin(), clients_.end(), [](const auto& one) { return !one->has_left(); }));
    if (clients_.size() < clients_max_ && here < crowd && random_() % coming == 0) connect();
    if (!clients_.empty()) {
      Client& client = *clients_[random_() % clients_.size()];
      std::string complaint = client.step(random_, excuses());
      if (!complaint.empty()) return complaint;
      if (client.is_done() && random_() % 16 == 0) client.leave(random_);
    }
    if (random_() % 10 < 6) turn();
    if (jumps_ && random_() % 64 == 0) {
      const std::uint64_t most_ms = one_of<std::uint64_t>(random_, {20'000, 20'000, 36'000'000});
      worker_->io().advance(random_() % (most_ms * ns_per_ms));
    }
    if (registers_ && random_() % 32 == 0) change_methods();
    if (random_() % 8 == 0) late_.answer_one(random_);
    if (random_() % 64 == 0) late_.publish(random_);
    if (random_() % 16 == 0) pass(random_() % (2 * ns_per_ms));
    if (stops_early_ && i == last) {
      stopping_ = true;
      shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
    }
    // A forced end comes some turns later, or at once.
    if (forced_ && i >= last && random_() % 16 == 0) return {};
  }
  return {};
}

// Returns: false when the server keeps turning round without an end.
bool World::run_until_idle() {
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    turn();
    if (worker_->io().idle() && !worker_->late().calls().has_posts()) return true;
  }
  return false;
}

// The same until no call waits for anything.
bool World::finish_calls() {
  for (std::uint32_t i = 0; i < rounds_max; ++i) {
    if (!run_until_idle()) return false;
    if (!late_.answer_one(random_) && !pass_to_next()) return true;
  }
  return false;
}

// Everybody says and hears the rest, in no time of the fake clock worth mentioning.
std::string World::settle() {
  for (std::uint32_t i = 0; i < rounds_max; ++i) {
    if (!run_until_idle()) return "the server does not come to rest";
    bool moved = false;
    for (auto& client : clients_) {
      std::string complaint = client->go_on(excuses());
      if (!complaint.empty()) return complaint;
      moved |= client->moved();
    }
    if (!moved && !late_.answer_one(random_) && !pass_to_next()) return check_rest();
  }
  return "a call waits for ever";
}

std::string World::check_answers() {
  // Somebody who waits in the backlog is not late.
  const bool crowded = worker_->connections() >= options_.connections_max;
  const bool short_of_memory =
      counted(base::Counter::limit_partial_pool) + counted(base::Counter::limit_reply_memory) != 0;
  const bool excused = stopping_ || short_of_memory ||
                       counted(base::Counter::limit_head_timeout) +
                               counted(base::Counter::limit_idle_timeout) +
                               counted(base::Counter::limit_body_rate) +
                               counted(base::Counter::limit_stall_timeout) !=
                           0;
  if (!is_tight_ && !is_full_ && short_of_memory) {
    return "a server with room for everything had none";
  }
  for (auto& client : clients_) {
    if (crowded || excused) break;
    std::string complaint = client->check_complete(excuses());
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
    const std::uint64_t started = worker_->endpoints()[0].stats->started(slot);
    const std::string counts = names[slot] + " started " + std::to_string(started) +
                               " times, answered " + std::to_string(certainly[names[slot]]) +
                               ", asked " + std::to_string(possibly[names[slot]]);
    if (started > possibly[names[slot]]) return counts;
    if (names[slot] == "sometimes") continue;  // Nobody can tell beforehand.
    // A call that came after the budget was spent is answered without having run.
    if (started < certainly[names[slot]] && !is_tight_) return counts;
    if (!disturbed && !is_tight_ && started != certainly[names[slot]]) return counts;
  }
  return {};
}

// Everybody leaves, by FIN, by reset, or by saying nothing until a deadline ends it.
std::string World::empty_the_house() {
  for (auto& client : clients_) client->leave(random_);
  if (!finish_calls()) return "the server does not come to rest after everybody left";
  jumps_ = true;
  // The silent ones of the backlog come one after the other and stay an idle timeout each.
  const std::uint32_t seconds_max = 200 + 100 * clients_max_;
  for (std::uint32_t i = 0; i < seconds_max && worker_->connections() != 0; ++i) {
    worker_->io().advance(1'000 * ns_per_ms);
    if (!finish_calls()) return "the server does not come to rest after a deadline";
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
  if (gauges.partial_messages != 0) return "the gauge of partial messages is not 0";
  if (gauges.large_reply_bytes != 0) return "large replies are still mapped";
  if (gauges.in_flight != 0 || worker_->late().busy()) return "calls are still in flight";
  if (gauges.streams != 0 || worker_->late().exchanges() != 0) return "messages still wait";
  if (gauges.subscriptions != 0) return "somebody is still subscribed";
  if (gauges.late_bytes != 0) return "calls still hold memory";
  if (gauges.frame_bytes != 0) return "coroutines still hold memory";
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
  // A forced end leaves everything as it is; the worker's own end must cope with it.
  if (!forced_) {
    if (complaint.empty()) complaint = settle();
    if (complaint.empty()) complaint = check_answers();
    if (complaint.empty()) complaint = empty_the_house();
    if (complaint.empty()) complaint = stop();
  }
  ++coverage.runs;
  coverage.turns += turns_;
  coverage.clients += clients_.size();
  for (std::size_t i = 0; i < base::counter_count; ++i) {
    coverage.counters[i] += counted(static_cast<base::Counter>(i));
  }
  return complaint.empty() ? complaint : complaint + described();
}

}  // namespace ringrpc::sim
