// What a seed chooses before a run begins, the methods, and what is told of a run that failed.

#include <ringrpc/server.h>

#include <algorithm>
#include <stdexcept>

#include "tests/sim/world.h"
#include "tests/support/add_method.h"

namespace ringrpc::sim {
namespace {

constexpr std::uint32_t methods_count = 8 + LateMethods::count;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
struct Blob {
  std::int64_t bytes;
};

}  // namespace

void World::choose_options() {
  faults_ = random_() % 8 == 0 ? testing::FakeFaults{} : testing::FakeFaults::swarm(random_());
  weights_ = Weights::swarm(random_);
  is_tight_ = random_() % 3 == 0;
  is_full_ = random_() % 4 == 0;
  jumps_ = random_() % 4 == 0;
  stops_early_ = random_() % 8 == 0;
  forced_ = stops_early_ && random_() % 2 == 0;
  registers_ = random_() % 4 == 0;
  hoards_ = random_() % 4 == 0;
  options_.connections_max = one_of(random_, {1u, 2u, 5u, 16u});
  // Without such places peers over the limit wait, and are answered when others leave.
  options_.refusals_max = random_() % 4 == 0 ? one_of(random_, {1u, 4u}) : 0;
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
  choose_late_options();
  options_.doors = {{}, {.protocol = serve::Protocol::lines}};
  if (hoards_) hoard();
  clients_max_ = 1 + static_cast<std::uint32_t>(random_() % 24);
  if (random_() % 32 == 0) {  // Hundreds at once.
    clients_max_ = 100 + static_cast<std::uint32_t>(random_() % 300);
    options_.connections_max = one_of(random_, {64u, 256u});
    if (hoards_) is_tight_ = true;  // So many of them have more unsent than there is memory for.
    if (!is_tight_) {
      options_.partial_pool_size = 64u << 20;
      options_.large_replies_size_max = 512u << 20;
      options_.segments = 32'768;
    }
  }
  limits_ = {options_.message_size_max, options_.reply_size_max, options_.batch_length_max,
             std::min(options_.reply_size_max / 2, options_.late_memory_size_max / 8),
             is_tight_ || is_full_};
  if (random_() % 4 == 0) {
    serve::PeerLimits& peer = options_.peer;
    peer.head_timeout_ms = one_of(random_, {1'000u, 3'000u});
    peer.idle_timeout_ms = one_of(random_, {1'000u, 10'000u});
    peer.stall_timeout_ms = one_of(random_, {1'000u, 5'000u});
    peer.linger_timeout_ms = one_of(random_, {500u, 2'000u});
  }
}

void World::choose_late_options() {
  options_.in_flight_max = 4096;
  if (random_() % 4 == 0) options_.in_flight_per_connection_max = one_of(random_, {1u, 2u, 5u});
  if (random_() % 8 == 0) options_.call_timeout_ms = one_of(random_, {3u, 10u});
  if (random_() % 4 == 0) {
    options_.heartbeat_ms = one_of(random_, {limits::timer_slot_ms, 10 * limits::timer_slot_ms});
  }
  if (!is_full_) return;
  options_.in_flight_max = one_of(random_, {1u, 3u, 20u, 4096u});
  options_.late_memory_size_max = one_of(random_, {4'000u, 50'000u, 1u << 20});
  options_.frame_memory_size_max = one_of(random_, {1u, 4u}) << 16;
}

// Clients that ask for much and read little: connections are paused, with or without memory to keep
// what they say meanwhile.
void World::hoard() {
  weights_ = {};
  weights_.weight[Weights::large_reply] = 5;
  for (const auto kind : {Weights::single, Weights::chunked, Weights::refused, Weights::expects,
                          Weights::later, Weights::stream}) {
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
  for (std::uint32_t which = 0; which < methods_count; ++which) add_method(which);
}

void World::add_method(std::uint32_t which) {
  switch (which) {
    case 0:
      return testing::add_method(registry_, "sum", [](const Sum& in) { return in.a + in.b; });
    case 1:
      return testing::add_method(registry_, "echo", [](Call& call, Reply& reply) {
        reply.result().raw(call.params().raw());
      });
    case 2:
      return testing::add_method(registry_, "size", [](Call& call, Reply& reply) {
        reply.result().unsigned_integer(call.params().raw().size());
      });
    case 3:
      return testing::add_method(registry_, "who", [](Call& call) { return call.peer().text(); });
    case 4:
      return testing::add_method(registry_, "blob", [](Call&, const Blob& in) {
        return std::string(static_cast<std::size_t>(in.bytes), 'x');
      });
    case 5:
      return testing::add_method(registry_, "fail", []() -> Result<std::int64_t> {
        return Error{.code = 1001, .message = "failed", .data = {}};
      });
    case 6:
      return testing::add_method(registry_, "crash",
                                 []() -> std::int64_t { throw std::runtime_error("simulated"); });
    case 7:
      return testing::add_method(registry_, "sometimes", []() { return std::string("here"); });
    default:
      return late_.add(registry_, which - 8);
  }
}

// What any thread may do while the server serves.
void World::change_methods() {
  switch (random_() % 4) {
    case 0:
      return add_method(static_cast<std::uint32_t>(random_() % methods_count));
    case 1:
      registry_.remove("sometimes");
      return;
    case 2:
      return testing::add_method(registry_, "noise." + std::to_string(noises_++), []() {});
    default:
      if (noises_ != 0) registry_.remove("noise." + std::to_string(random_() % noises_));
      return;
  }
}

// What a failure is read with.
std::string World::described() const {
  std::string text = "\n  options:";
  const auto add_number = [&text](const char* name, std::uint64_t value) {
    text += std::string(" ") + name + " " + std::to_string(value);
  };
  add_number("connections", options_.connections_max);
  add_number("refusals", options_.refusals_max);
  add_number("buffers", options_.receive_buffers);
  add_number("of", options_.receive_buffer_size);
  add_number("in_flight", options_.in_flight_max);
  add_number("each", options_.in_flight_per_connection_max);
  add_number("call_timeout", options_.call_timeout_ms);
  add_number("message", options_.message_size_max);
  add_number("reply", options_.reply_size_max);
  add_number("tight", is_tight_ ? 1 : 0);
  add_number("full", is_full_ ? 1 : 0);
  add_number("late_memory", options_.late_memory_size_max);
  add_number("jumps", jumps_ ? 1 : 0);
  add_number("hoards", hoards_ ? 1 : 0);
  add_number("stops", stops_early_ ? 1 : 0);
  add_number("registers", registers_ ? 1 : 0);
  text += "\n  now:";
  add_number("turns", turns_);
  add_number("open", worker_->connections());
  add_number("clients", clients_.size());
  for (std::size_t i = 0; i < base::counter_count; ++i) {
    const std::uint64_t value = counted(static_cast<base::Counter>(i));
    if (value != 0) add_number(base::counter_names[i].data(), value);
  }
  return text;
}

}  // namespace ringrpc::sim
