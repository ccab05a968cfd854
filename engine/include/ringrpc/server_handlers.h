#pragma once

// Turns a handler's signature into one function pointer, in the user's translation unit: decoding,
// the call and encoding around what the user wrote. What signatures there are is told in server.h.

#include <ringrpc/async.h>
#include <ringrpc/call.h>
#include <ringrpc/co.h>
#include <ringrpc/co_stream.h>
#include <ringrpc/fields.h>
#include <ringrpc/result.h>
#include <ringrpc/server_shape.h>

#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc::handlers {

// Texts by pointer are results too: `return "hello";`.
template <typename T>
using Reflectable = std::conditional_t<std::is_same_v<T, const char*>, std::string_view, T>;

// The types of a method, for descriptions of it; null where a handler reads or writes by hand, and
// for params that nobody reads.
template <typename F>
const fields::TypeInfo* params_type() {
  using P = typename Shape<F>::Params;
  if constexpr (std::is_void_v<P>) {
    return nullptr;
  } else {
    return &fields::type_of<P>();
  }
}
template <typename F>
const fields::TypeInfo* result_type() {
  using Value = typename Shape<F>::Value;
  if constexpr (Shape<F>::raw || Shape<F>::deferred) {
    return nullptr;
  } else if constexpr (std::is_void_v<Value>) {
    return &fields::type_of<std::nullptr_t>();
  } else {
    return &fields::type_of<Reflectable<Value>>();
  }
}

template <typename T>
void encode(Reply& reply, const T& value) {
  // Numbers need no table.
  if constexpr (std::is_same_v<T, bool>) {
    reply.result().boolean(value);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    reply.result().integer(value);
  } else if constexpr (std::is_integral_v<T>) {
    reply.result().unsigned_integer(value);
  } else {
    const Reflectable<T>& reflected = value;
    reply.encode(fields::type_of<Reflectable<T>>(), &reflected);
  }
}

template <typename T>
void answer(Reply& reply, T&& outcome) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (Unwrapped<Plain>::is_result) {
    using Value = typename Unwrapped<Plain>::type;
    if (!outcome.ok()) {
      reply.error(outcome.error().code, outcome.error().message, outcome.error().data);
    } else if constexpr (!std::is_void_v<Value>) {
      encode(reply, outcome.value());
    }
  } else {
    encode(reply, outcome);
  }
}

template <typename F, typename... A>
void run(F& handler, Reply& reply, A&&... arguments) {
  if constexpr (std::is_void_v<decltype(handler(std::forward<A>(arguments)...))>) {
    handler(std::forward<A>(arguments)...);
  } else {
    answer(reply, handler(std::forward<A>(arguments)...));
  }
}

template <typename Params>
constexpr bool decodable() {
  constexpr bool fits = fields::can_be_params<Params>();
  static_assert(fits,
                "ringrpc: params are an object or an array; take a struct, a map, a vector or a "
                "tuple, and not a bare value");
  return fits;
}

// A handler that answers later, by the Deferred that is made here.
template <typename F>
void invoke_deferred(F& handler, bool strict, Call& call) {
  typename Shape<F>::Duty deferred(call);
  using Params = typename Shape<F>::Params;
  if constexpr (!std::is_void_v<Params>) {
    Params params{};
    if (!deferred.decode(params, strict)) return;
    using Argument = typename Shape<F>::Argument;
    if constexpr (Shape<F>::takes_call) {
      handler(call, static_cast<Argument&&>(params), std::move(deferred));
    } else {
      handler(static_cast<Argument&&>(params), std::move(deferred));
    }
  } else if constexpr (Shape<F>::takes_call) {
    handler(call, std::move(deferred));
  } else {
    handler(std::move(deferred));
  }
}

// Calls the handler with what it takes.
template <typename F, typename... P>
auto make_coroutine(F& handler, Call& call, P&&... params) {
  if constexpr (Shape<F>::takes_call && Shape<F>::sends) {
    return handler(call, std::forward<P>(params)..., CoStream(call));
  } else if constexpr (Shape<F>::takes_call) {
    return handler(call, std::forward<P>(params)...);
  } else if constexpr (Shape<F>::sends) {
    return handler(std::forward<P>(params)..., CoStream(call));
  } else {
    return handler(std::forward<P>(params)...);
  }
}

// A handler that waits: its coroutine owns the params and the duty to answer.
template <typename F>
void invoke_coroutine(F& handler, bool strict, Call& call) {
  Deferred deferred(call);
  using Params = typename Shape<F>::Params;
  using Outcome = typename Shape<F>::Outcome;
  Co<Outcome> made;
  if constexpr (!std::is_void_v<Params>) {
    if constexpr (decodable<Params>()) {
      Params params{};
      if (!deferred.decode(params, strict)) return;
      made = make_coroutine(handler, call, std::move(params));
    }
  } else {
    made = make_coroutine(handler, call);
  }
  auto* const root = made.release();
  if constexpr (!std::is_void_v<Outcome>) {
    if (root != nullptr) {
      root->answer = [](Reply& reply, const void* value) {
        handlers::answer(reply, *static_cast<const Outcome*>(value));
      };
    }
  }
  co::begin(std::move(deferred), root);
}

template <typename F>
void invoke(void* state, bool strict, Call& call, Reply& reply) {
  F& handler = *static_cast<F*>(state);
  using Params = typename Shape<F>::Params;
  if constexpr (Shape<F>::raw) {
    handler(call, reply);
  } else if constexpr (Shape<F>::deferred) {
    invoke_deferred<F>(handler, strict, call);
  } else if constexpr (Shape<F>::coroutine) {
    invoke_coroutine<F>(handler, strict, call);
  } else if constexpr (!std::is_void_v<Params>) {
    if constexpr (decodable<Params>()) {
      Params params{};
      if (!reply.decode(call, fields::type_of<Params>(), &params, strict)) return;
      using Argument = typename Shape<F>::Argument;
      if constexpr (Shape<F>::takes_call) {
        run(handler, reply, call, static_cast<Argument&&>(params));
      } else {
        run(handler, reply, static_cast<Argument&&>(params));
      }
    }
  } else if constexpr (Shape<F>::takes_call) {
    run(handler, reply, call);
  } else {
    run(handler, reply);
  }
}

}  // namespace ringrpc::handlers
