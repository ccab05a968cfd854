#pragma once

// Methods that are coroutines.

#include <ringrpc/server.h>

namespace ringrpc::testing {

// What tests/spec/coroutines.md calls: co.wait goes on when co.wake with the same key says so, by a
// pipe that it reads from.
void add_coroutines(Server& server);

}  // namespace ringrpc::testing
