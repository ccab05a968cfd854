#pragma once

// The doors from the engine into user code that may throw.

#include "engine/rpc/table.h"

namespace ringrpc::rpc {

// Calls the method's thunk.
// Returns: null, or the text of the exception that left it (a fixed text when it has none); valid
// until the next call on this thread.
const char* guarded_invoke(const Method& method, Call& call, Reply& reply);

// Runs what has waited in a call that is answered later. Returns: likewise.
const char* guarded_wait(void (*run)(void* state, Call& call), void* state, Call& call);

}  // namespace ringrpc::rpc
