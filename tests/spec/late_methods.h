#pragma once

// Methods that are answered later, and when a conversation says so.

#include <ringrpc/server.h>

namespace ringrpc::testing {

// hold, release, drop, and what else tests/spec/late.md calls. What is held when the server goes is
// dropped with its methods.
void add_late(Server& server);

}  // namespace ringrpc::testing
