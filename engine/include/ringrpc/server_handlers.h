#pragma once

// Turns a handler's signature into one function pointer, in the user's translation unit: decoding,
// the call and encoding around what the user wrote. What signatures there are is told in server.h.

#include <ringrpc/call.h>
#include <ringrpc/fields.h>
#include <ringrpc/result.h>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ringrpc::handlers {

template <typename T>
struct Signature : Signature<decltype(&T::operator())> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using Return = R;
  using Arguments = std::tuple<A...>;
};
template <typename R, typename... A>
struct Signature<R(A...)> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

template <typename T>
struct Unwrapped {
  using type = T;
  static constexpr bool is_result = false;
};
template <typename T>
struct Unwrapped<Result<T>> {
  using type = T;
  static constexpr bool is_result = true;
};

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
    reply.encode(fields::type_of<T>(), &value);
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

template <typename F>
void invoke(void* state, bool strict, Call& call, Reply& reply) {
  F& handler = *static_cast<F*>(state);
  using Arguments = typename Signature<F>::Arguments;
  constexpr std::size_t count = std::tuple_size_v<Arguments>;
  if constexpr (count == 0) {
    run(handler, reply);
  } else {
    using First = std::remove_cvref_t<std::tuple_element_t<0, Arguments>>;
    using Last = std::remove_cvref_t<std::tuple_element_t<count - 1, Arguments>>;
    static_assert(count <= 2,
                  "a handler takes (P), (Call&, P), (Call&), (Call&, Reply&) or nothing");
    if constexpr (count == 2) {
      static_assert(std::is_same_v<First, Call>,
                    "the first of a handler's two arguments is ringrpc::Call&");
    }
    if constexpr (std::is_same_v<Last, Reply>) {
      handler(call, reply);
    } else if constexpr (count == 1 && std::is_same_v<First, Call>) {
      run(handler, reply, call);
    } else {
      Last params{};
      if (!reply.decode(call, fields::type_of<Last>(), &params, strict)) return;
      if constexpr (count == 1) {
        run(handler, reply, params);
      } else {
        run(handler, reply, call, params);
      }
    }
  }
}

}  // namespace ringrpc::handlers
