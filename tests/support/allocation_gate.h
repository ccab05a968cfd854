#pragma once

// Counts heap allocations, of the whole program and of each thread. Linking it replaces operator
// new and malloc's family; what it counts is every call, whoever makes it.

#include <cstdint>

namespace ringrpc::testing {

// Thread: any. Returns: allocations of all threads since the program started.
std::uint64_t heap_allocations();

// Prints a stack to stderr at each allocation of any thread while it is on: for finding who breaks
// the gate. Off by default.
void print_allocations(bool on);

}  // namespace ringrpc::testing
