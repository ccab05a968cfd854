#pragma once

// The doors from the engine into user code that may throw.

#include <ringrpc/co.h>

#include <exception>

#include "engine/rpc/table.h"

namespace ringrpc::rpc {

// Calls the method's thunk.
// Returns: null, or the text of the exception that left it (a fixed text when it has none); valid
// until the next call on this thread.
const char* guarded_invoke(const Method& method, Call& call, Reply& reply);

// Runs what has waited in a call that is answered later. Returns: likewise.
const char* guarded_wait(void (*run)(void* state, Call& call), void* state, Call& call);

// Runs coroutines until they wait or end. Returns: likewise, for what has gone through them; what
// they have kept is in their promises.
const char* guarded_run(co::Run& run);
// Returns: likewise, for what a promise has kept; null for nothing.
const char* text_of(const std::exception_ptr& thrown);
// Runs what is offloaded, which keeps what it throws.
void guarded_job(co::Job& job);

}  // namespace ringrpc::rpc
