#pragma once

// What a server keeps of a handler, whatever its type.

#include <ringrpc/call.h>
#include <ringrpc/fields.h>
#include <ringrpc/server_handlers.h>

#include <type_traits>
#include <utility>

namespace ringrpc::handlers {

// Owns: the state, through destroy.
struct Handler {
  void (*invoke)(void* state, bool strict, Call& call, Reply& reply);
  void* state;
  void (*destroy)(void* state);
  const fields::TypeInfo* params;
  const fields::TypeInfo* result;
  bool deferred;
  bool streams;
  bool coroutine;
  bool blocking;
};

template <typename F>
Handler handler_of(F handler, bool blocking) {
  using Callable = std::decay_t<F>;
  return {.invoke = &invoke<Callable>,
          .state = new Callable(std::move(handler)),
          .destroy = [](void* state) { delete static_cast<Callable*>(state); },
          .params = params_type<Callable>(),
          .result = result_type<Callable>(),
          .deferred = Shape<Callable>::deferred,
          .streams = Shape<Callable>::streams,
          .coroutine = Shape<Callable>::coroutine,
          .blocking = blocking};
}

}  // namespace ringrpc::handlers
