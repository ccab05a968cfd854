#pragma once

// A part of worker.cpp: what holds between two turns. Included by worker.cpp only.

#include "engine/base/assert.h"
#include "engine/serve/worker.h"

namespace ringrpc::serve {

template <class Io>
void Worker<Io>::check_invariants() const {
  // Between two turns: every receive buffer has gone back, and no other connection holds memory.
  RINGRPC_ASSERT(ready_first_ == no_connection && lent_ == 0, lent_);
  std::uint32_t live = 0;
  std::uint32_t refused = 0;
  std::size_t partials = 0;
  std::uint32_t waiting = 0;  // exchanges
  Outbox::Held held;
  for (std::uint32_t slot = 0; slot < places(); ++slot) {
    const Connection& connection = connections_[slot];
    if (connection.state == ConnectionState::free) continue;
    ++live;
    if (connection.refused) ++refused;
    outbox_.add(held, connection.out);
    waiting += late_.add(held, slot);
    RINGRPC_ASSERT(!connection.sending || !connection.out.empty(), slot);
    RINGRPC_ASSERT(connection.input_first == no_input && !connection.is_ready, slot);
    if (connection.partial != nullptr) ++partials;
    RINGRPC_ASSERT(connection.state != ConnectionState::closing || connection.partial == nullptr,
                   slot);
  }
  RINGRPC_ASSERT(waiting == late_.exchanges(), waiting, late_.exchanges());
  RINGRPC_ASSERT(live == connection_count_, live, connection_count_);
  RINGRPC_ASSERT(refused == refused_count_, refused, refused_count_);
  RINGRPC_ASSERT(partials == partials_.blocks_taken(), partials, partials_.blocks_taken());
  outbox_.check_invariants(held);
  // The walk over every segment, of which there may be many, comes now and then.
  if (counters_.get(base::Counter::turns) % 64 == 0) outbox_.check_invariants();
}

}  // namespace ringrpc::serve
