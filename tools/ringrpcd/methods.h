#pragma once

// The demo server's methods.

#include <ringrpc/server.h>

#include <cstdint>

namespace ringrpcd {

// Adds echo, sum, orders.get, blob, fail, crash, jobs.progress and stats.calls.
// Requires: server outlives its handlers, which is so when it is their own.
void add_methods(ringrpc::Server& server, std::uint32_t reply_size_max);

}  // namespace ringrpcd
