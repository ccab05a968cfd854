#include "tests/fault/house.h"

#include <ringrpc/server.h>

#include <cstdlib>

#include "engine/base/assert.h"
#include "tests/support/add_method.h"

namespace ringrpc::testing {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
struct Blob {
  std::int64_t bytes;
};

serve::WorkerShared& fill(serve::WorkerShared& shared, rpc::Registry& registry,
                          const http::HostPolicy& hosts, const serve::Oracle& oracle) {
  shared.registry = &registry;
  shared.hosts = &hosts;
  shared.oracle = &oracle;
  return shared;
}

}  // namespace

serve::WorkerOptions House::small() {
  serve::WorkerOptions options;
  options.connections_max = 8;
  options.receive_buffers = 16;
  options.segments = 1024;
  options.doors = {{},
                   {.protocol = serve::Protocol::lines},
                   {.protocol = serve::Protocol::lines, .patient = true}};
  return options;
}

House::House(const serve::WorkerOptions& options)
    : worker_(options, fill(shared_, registry_, hosts_, *this)) {
  add_methods();
  RINGRPC_ASSERT(worker_.start({}).ok());
  io().configure(1, {});
}

House::~House() {
  stop();
  io().check_baseline();
}

void House::add_methods() {
  add_method(registry_, "sum", [](const Sum& in) { return in.a + in.b; });
  add_method(registry_, "echo",
             [](Call& call, Reply& reply) { reply.result().raw(call.params().raw()); });
  add_method(registry_, "size", [](Call& call, Reply& reply) {
    reply.result().unsigned_integer(call.params().raw().size());
  });
  add_method(registry_, "blob", [](Call&, const Blob& in) {
    return std::string(static_cast<std::size_t>(in.bytes), 'x');
  });
}

House::ClientId House::connect(std::uint32_t listener) {
  io::Address peer;
  peer.bytes[10] = peer.bytes[11] = 0xFF;
  peer.bytes[12] = 127;
  peer.bytes[15] = 1;
  const ClientId client = io().connect(peer, listener);
  turn_until_idle();
  return client;
}

void House::turn_until_idle() {
  // A fake kernel without faults comes to rest; the number only ends a test that would hang.
  std::uint32_t turns = 0;
  do {
    worker_.turn();
    RINGRPC_ASSERT(++turns < 1'000'000);
  } while (!io().idle());
  worker_.check_invariants();
}

std::string House::say(ClientId client, std::string_view bytes) {
  io().client_write(client, bytes);
  turn_until_idle();
  std::string answer = io().client_read(client);
  for (;;) {
    turn_until_idle();
    const std::string more = io().client_read(client);
    if (more.empty()) return answer;
    answer += more;
  }
}

std::string House::ask(std::string_view bytes) {
  const ClientId client = connect();
  std::string answer = say(client, bytes);
  io().client_fin(client);
  turn_until_idle();
  return answer;
}

void House::wait_ms(std::uint64_t ms) {
  io().advance(ms * 1'000'000);
  turn_until_idle();
}

void House::begin_stop() { shared_.phase.store(serve::Phase::stopping, std::memory_order_release); }

void House::stop() {
  begin_stop();
  for (int i = 0; i < 1000 && !worker_.finished(); ++i) wait_ms(100);
  RINGRPC_ASSERT(worker_.finished(), worker_.connections());
}

std::uint64_t House::count(base::Counter counter) const { return worker_.counters().get(counter); }

std::uint64_t House::started(std::string_view method) const {
  const std::vector<std::string> names = registry_.slot_names();
  for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
    if (names[slot] == method) return worker_.endpoints()[0].stats->started(slot);
  }
  return 0;
}

std::string post_with(std::string_view fields, std::string_view body) {
  std::string bytes = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  bytes.append(fields).append("Content-Length: ").append(std::to_string(body.size()));
  return bytes.append("\r\n\r\n").append(body);
}

std::string call_sum() {
  return post_with("", R"({"jsonrpc":"2.0","method":"sum","params":[2,3],"id":1})");
}

int status_of(std::string_view bytes) {
  constexpr std::string_view version = "HTTP/1.1 ";
  if (!bytes.starts_with(version)) return 0;
  return std::atoi(std::string(bytes.substr(version.size(), 3)).c_str());
}

}  // namespace ringrpc::testing
