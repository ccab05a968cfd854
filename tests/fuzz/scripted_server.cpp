#include "tests/fuzz/scripted_server.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/base/assert.h"
#include "tests/support/conversation.h"
#include "tests/support/conversation_frames.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::fuzz {

using base::Counter;
using testing::FakeFaults;

constexpr std::size_t clients_max = 4;

House::House() {
  add_methods(registry);
  late.add(registry);
  names = registry.slot_names();
}

ScriptedServer::ScriptedServer(House& house, std::uint8_t choice, serve::Protocol protocol)
    : house_(house), protocol_(protocol) {
  choose(choice);
  shared_.registry = &house.registry;
  shared_.hosts = &house.hosts;
  shared_.oracle = &house;
  shared_.hub = &house.late.hub();
  worker_ = std::make_unique<sim::FakeWorker>(options_, shared_);
  RINGRPC_ASSERT(worker_->start({}).ok());
  FakeFaults faults;
  if (choice / 64 % 2 != 0) faults = FakeFaults::swarm(choice);
  faults.send_error = faults.receive_error = faults.reset = faults.reset_after_fin = 0;
  io().configure(choice, faults);
  clients_.reserve(clients_max);
  next_client();
}

void ScriptedServer::choose(std::uint8_t choice) {
  constexpr std::uint32_t buffer_sizes[] = {16, 100, 512, 4096};
  options_.connections_max = clients_max;
  options_.receive_buffers = choice % 2 == 0 ? 16 : 4;
  options_.receive_buffer_size = buffer_sizes[choice / 2 % 4];
  options_.message_size_max = choice / 8 % 2 == 0 ? 5000 : 1024;
  options_.batch_length_max = choice / 16 % 2 == 0 ? 1000 : 3;
  options_.reply_size_max = choice / 32 % 2 == 0 ? 65'536 : 4096;
  options_.reply_slab_size = 65'536;
  options_.reply_slabs = 4;
  options_.segments = 1024;
  options_.refusals_max = 0;
  options_.doors = {{.protocol = protocol_}};
  options_.in_flight_max = choice % 7 == 3 ? 3 : 2000;
  options_.in_flight_per_connection_max = choice % 5 == 0 ? 2 : 1000;
  options_.call_timeout_ms = choice % 3 == 1 ? 300 : 0;
  options_.heartbeat_ms = choice % 11 == 0 ? 100 : limits::heartbeat_ms;
  if (choice / 128 % 2 != 0) {
    options_.head = {.size_max = 1024, .fields_max = 8, .target_size_max = 256};
    options_.peer.drain_size_max = 200;
  }
}

ModelLimits ScriptedServer::model() const {
  return {.batch_length_max = options_.batch_length_max,
          .reply_size_max = options_.reply_size_max,
          .late = true};
}

LateExcuses ScriptedServer::excuses() const {
  return {.overloaded = options_.in_flight_max < 100 || options_.in_flight_per_connection_max < 100,
          .timed_out = options_.call_timeout_ms != 0,
          .stopping = stopping_};
}

void ScriptedServer::play(std::string_view script) {
  std::string piece;
  for (std::size_t i = 0; i < script.size(); ++i) {
    const std::uint8_t byte = static_cast<std::uint8_t>(script[i]);
    const bool escaped = byte == 0xFE && i + 1 < script.size();
    const bool commands = byte >= 0xF5 || byte == 0xC0 || byte == 0xC1;
    if (!commands || escaped) {
      piece += escaped ? script[++i] : script[i];
    } else {
      command(byte, piece);
    }
  }
  say(piece);
  // Everybody hears the rest.
  for (bool more = true; more;) {
    rest();
    more = false;
    for (Client& client : clients_) {
      io().client_resume_reading(client.id);
      more |= hear(client) != 0;
    }
    more = more || house_.late.release() || pass_to_next();
  }
}

void ScriptedServer::close() {
  for (Client& client : clients_) leave(client, client.id % 2 != 0);
  rest();
  // An end may make a message of what was half of one.
  while (house_.late.release() || pass_to_next()) rest();
  for (int i = 0; i < 100 && worker_->connections() != 0; ++i) {
    io().advance(ns_per_s);
    rest();
  }
  RINGRPC_ASSERT(worker_->connections() == 0, worker_->connections());
  shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
  for (int i = 0; i < 100 && !worker_->finished(); ++i) {
    io().advance(ns_per_s);
    worker_->turn();
  }
  RINGRPC_ASSERT(worker_->finished());
  const serve::Gauges& gauges = worker_->gauges();
  RINGRPC_ASSERT(gauges.connections == 0 && gauges.buffers_lent == 0 && gauges.segments == 0);
  RINGRPC_ASSERT(gauges.partial_messages == 0 && gauges.large_reply_bytes == 0);
  RINGRPC_ASSERT(gauges.in_flight == 0 && gauges.streams == 0 && gauges.subscriptions == 0);
  RINGRPC_ASSERT(gauges.late_bytes == 0 && gauges.frame_bytes == 0);
  RINGRPC_ASSERT(worker_->late().exchanges() == 0 && !worker_->late().busy());
  RINGRPC_ASSERT(counted(Counter::accepts) == counted(Counter::closes));
  RINGRPC_ASSERT(counted(Counter::bytes_in) == io().bytes_received());
  RINGRPC_ASSERT(counted(Counter::bytes_out) == io().bytes_sent());
  io().check_baseline();
}

void ScriptedServer::rest() {
  for (int i = 0; i < 100'000; ++i) {
    worker_->turn();
    if (io().idle() && !worker_->late().calls().has_posts()) return;
  }
  RINGRPC_ASSERT(false && "the server does not come to rest");
}

void ScriptedServer::pass(std::uint64_t ns) {
  passed_ns_ += ns;
  io().advance(ns);
}

// What somebody waits for comes. Returns: whether anybody does.
bool ScriptedServer::pass_to_next() {
  const std::uint64_t due_ns = worker_->late().calls().next_ns();
  if (due_ns == 0) return false;
  if (due_ns > io().now_ns()) pass(due_ns - io().now_ns());
  return true;
}

void ScriptedServer::next_client() {
  at_ = clients_.empty() ? 0 : (at_ + 1) % clients_max;
  if (at_ < clients_.size()) return;
  io::Address address;
  address.port = static_cast<std::uint16_t>(1 + at_);
  Client client;
  client.id = io().connect(address);
  client.reset = io().client_gone(client.id);
  clients_.push_back(std::move(client));
}

void ScriptedServer::say(std::string& piece) {
  Client& client = clients_[at_];
  if (!piece.empty() && !client.fin && !client.reset) {
    io().client_write(client.id, piece);
    client.sent += piece;
  }
  piece.clear();
}

void ScriptedServer::say_frame(std::string& piece, bool last) {
  Client& client = clients_[at_];
  if (client.sent.empty()) {
    std::string handshake = testing::handshake_bytes("/rpc");
    say(handshake);
  }
  std::string key;
  for (std::size_t i = 0; i < 4; ++i) key += static_cast<char>(piece.size() * (2 * i + 3));
  const int opcode = client.in_message ? 0x00 : 0x01;
  piece = ws::test::frame(static_cast<std::uint8_t>(opcode | (last ? 0x80 : 0)), piece, key);
  client.in_message = !last;
  say(piece);
}

std::size_t ScriptedServer::hear(Client& client) {
  const std::string more = io().client_read(client.id);
  client.heard += more;
  return more.size();
}

void ScriptedServer::leave(Client& client, bool by_reset) {
  if (client.fin || client.reset) return;
  by_reset ? io().client_reset(client.id) : io().client_fin(client.id);
  (by_reset ? client.reset : client.fin) = true;
}

void ScriptedServer::command(std::uint8_t byte, std::string& piece) {
  if (byte == 0xC0 || byte == 0xC1) return say_frame(piece, byte == 0xC0);
  say(piece);
  Client& client = clients_[at_];
  switch (byte) {
    case 0xF5:
      return worker_->turn();
    case 0xF6:
      return next_client();
    case 0xF7:
      return rest();
    case 0xF8:
    case 0xF9:
      return leave(client, byte == 0xF9);
    case 0xFA:
      return io().client_stop_reading(client.id, 100);
    case 0xFB:
      return io().client_resume_reading(client.id);
    case 0xFC:
      hear(client);
      return;
    case 0xFD:
      pass(3 * ns_per_s);
      house_.late.release();
      return;
    case 0xFF:
      stopping_ = true;
      return shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
    default:
      return;
  }
}

void ScriptedServer::check_starts(std::map<std::string, std::uint64_t>& certainly,
                                  std::map<std::string, std::uint64_t>& possibly, bool exact) {
  RINGRPC_ASSERT(counted(Counter::limit_partial_pool) == 0);
  RINGRPC_ASSERT(counted(Counter::limit_reply_memory) == 0);
  for (std::uint32_t slot = 0; slot < house_.names.size(); ++slot) {
    const std::string& name = house_.names[slot];
    const std::uint64_t started = worker_->endpoints()[0].stats->started(slot);
    RINGRPC_ASSERT(started >= certainly[name], name, started, certainly[name]);
    RINGRPC_ASSERT(started <= possibly[name], name, started, possibly[name]);
    RINGRPC_ASSERT(!exact || started == possibly[name], name, started, possibly[name]);
  }
}

void ScriptedServer::complain(const Client& client, const std::string& what) {
  std::fprintf(stderr, "client %u: %s\n  sent:  %s\n  heard: %s\n", client.id, what.c_str(),
               testing::shown(client.sent).c_str(), testing::shown(client.heard).c_str());
  std::abort();
}

}  // namespace ringrpc::fuzz
