// The test's side of the fake kernel: clients, faults, and the end of a run.

#include <poll.h>

#include <algorithm>

#include "engine/base/assert.h"
#include "tests/support/fake_io.h"

namespace ringrpc::testing {

FakeFaults FakeFaults::swarm(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + 1);
  FakeFaults faults;
  for (std::uint32_t* weight :
       {&faults.partial_receive, &faults.short_send, &faults.send_error, &faults.receive_error,
        &faults.delay, &faults.reorder, &faults.buffers_exhausted, &faults.end_receive,
        &faults.stale_event, &faults.reset, &faults.accept_error, &faults.few_completions,
        &faults.reset_after_fin}) {
    if ((random() & 1) != 0) *weight = 1 + static_cast<std::uint32_t>(random() % 50);
  }
  // What ends a connection strikes seldom, or nothing would ever live long enough to be tested.
  for (std::uint32_t* weight :
       {&faults.send_error, &faults.receive_error, &faults.reset, &faults.reset_after_fin}) {
    *weight = (*weight + 9) / 10;
  }
  return faults;
}

void FakeIo::configure(std::uint64_t seed, const FakeFaults& faults) {
  random_.seed(seed);
  faults_ = faults;
}

std::uint32_t FakeIo::up_to(std::size_t most) {
  RINGRPC_ASSERT(most > 0);
  return 1 + static_cast<std::uint32_t>(random_() % most);
}

FakeIo::Client& FakeIo::client_of(ClientId id) {
  RINGRPC_ASSERT(id < clients_.size(), id);
  return clients_[id];
}

const FakeIo::Client& FakeIo::client_of(ClientId id) const {
  RINGRPC_ASSERT(id < clients_.size(), id);
  return clients_[id];
}

FakeIo::ClientId FakeIo::connect(const io::Address& peer, std::uint32_t listener) {
  const ClientId id = static_cast<ClientId>(clients_.size());
  clients_.emplace_back();
  Client& client = clients_.back();
  client.peer = peer;
  client.listener = listener;
  if (draining_) {
    client.server_fin = client.server_closed = client.reset = true;
  } else {
    backlog_.push_back(id);
  }
  return id;
}

void FakeIo::client_write(ClientId id, std::string_view bytes) {
  Client& client = client_of(id);
  RINGRPC_ASSERT(!client.fin && "a client that wrote its FIN writes again", id);
  if (client.server_closed) client.reset = true;
  if (!client.reset) client.to_server.append(bytes);
}

std::string FakeIo::client_read(ClientId id) {
  std::string bytes;
  bytes.swap(client_of(id).to_client);
  return bytes;
}

void FakeIo::client_fin(ClientId id) { client_of(id).fin = true; }

void FakeIo::client_reset(ClientId id) { lose_connection(client_of(id)); }

void FakeIo::client_stop_reading(ClientId id, std::size_t window) { client_of(id).window = window; }

void FakeIo::client_resume_reading(ClientId id) { client_of(id).window = ~std::size_t{0}; }

bool FakeIo::client_at_end(ClientId id) const {
  const Client& client = client_of(id);
  return client.server_fin || client.reset;
}

bool FakeIo::client_gone(ClientId id) const { return client_of(id).reset; }

// The connection is reset. What the worker has not received yet may be lost with it, or not.
void FakeIo::lose_connection(Client& client) {
  client.reset = true;
  if ((random_() & 1) != 0) client.to_server.clear();
}

bool FakeIo::has_work(const Slot& slot) const {
  if (!slot.open) return false;
  if (slot.closing) return true;
  const Client& client = client_of(slot.client);
  const bool input = !client.to_server.empty() || client.fin || client.reset || slot.shut_both;
  if (slot.armed && (slot.stopping || input)) return true;
  if (slot.watching && (slot.unwatched || client.reset || (client.fin && client.server_fin))) {
    return true;
  }
  if (!slot.in_flight) return false;
  return client.to_client.size() < client.window || client.reset || slot.shut_both ||
         client.server_fin;
}

bool FakeIo::idle() const {
  if (!events_.empty() || woken_.load(std::memory_order_acquire)) return false;
  if (!backlog_.empty() && !free_slots_.empty()) return false;
  for (const Poll& poll : polls_) {
    pollfd one{.fd = poll.fd, .events = poll.events, .revents = 0};
    if (::poll(&one, 1, 0) != 0) return false;
  }
  return std::none_of(slots_.begin(), slots_.end(),
                      [this](const Slot& slot) { return has_work(slot); });
}

void FakeIo::check_baseline() const {
  RINGRPC_ASSERT(events_.empty() && "events that nobody took", events_.size());
  RINGRPC_ASSERT(polls_.empty() && "a descriptor is still waited for", polls_.size());
  RINGRPC_ASSERT(lent_count_ == 0 && "receive buffers still lent", lent_count_);
  RINGRPC_ASSERT(open_count_ == 0 && "sockets still open", open_count_);
  RINGRPC_ASSERT(backlog_.empty() && "peers that nobody accepted", backlog_.size());
  RINGRPC_ASSERT(free_buffers_.size() + given_.size() == buffers_.size());
  RINGRPC_ASSERT(free_slots_.size() == slots_.size());
  for (const Slot& slot : slots_) {
    RINGRPC_ASSERT(!slot.armed && !slot.in_flight && !slot.receiving && !slot.sending);
    RINGRPC_ASSERT(!slot.watching && !slot.watched);
  }
}

}  // namespace ringrpc::testing
