#pragma once

// Turns a handler's signature into one function pointer, in the user's translation unit: decoding,
// the call and encoding around what the user wrote. What signatures there are is told in server.h.

#include <ringrpc/call.h>
#include <ringrpc/fields.h>
#include <ringrpc/result.h>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ringrpc::handlers {

template <typename T>
concept HasOneCall = requires { &T::operator(); };

struct NoSignature {
  using Return = void;
  using First = void;
  using Second = void;
  static constexpr std::size_t count = 0;
};
template <typename T>
struct SignatureOfObject : NoSignature {
  static_assert(HasOneCall<T>,
                "ringrpc: a handler is a function or has one operator(); name its arguments' types "
                "when it is generic");
};

template <typename T>
struct Signature : SignatureOfObject<T> {};
template <HasOneCall T>
struct Signature<T> : Signature<decltype(&T::operator())> {};
template <typename R, typename... A>
struct Signature<R (*)(A...)> {
  using Return = R;
  using First = std::tuple_element_t<0, std::tuple<A..., void>>;
  using Second = std::tuple_element_t<1, std::tuple<A..., void, void>>;
  static constexpr std::size_t count = sizeof...(A);
};
template <typename R, typename... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
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

// How a handler is called, and with what.
template <typename F>
struct Shape {
  using Signed = Signature<F>;
  using First = std::remove_cvref_t<typename Signed::First>;
  using Second = std::remove_cvref_t<typename Signed::Second>;
  static constexpr bool takes_call = std::is_same_v<First, Call>;
  static constexpr bool raw = std::is_same_v<Second, Reply>;
  // The argument that params are decoded into, as it is written; void for none.
  using Argument = std::conditional_t<
      raw, void, std::conditional_t<takes_call, typename Signed::Second, typename Signed::First>>;
  using Params = std::remove_cvref_t<Argument>;
  using Outcome = std::remove_cvref_t<typename Signed::Return>;
  using Value = typename Unwrapped<Outcome>::type;

  static_assert(Signed::count <= 2 && !std::is_same_v<First, Reply>,
                "ringrpc: a handler takes (P), (Call&, P), (Call&), (Call&, Reply&) or nothing");
  static_assert(Signed::count != 2 || takes_call,
                "ringrpc: the first of a handler's two arguments is ringrpc::Call&");
  static_assert(!raw || std::is_void_v<Outcome>,
                "ringrpc: a handler that writes a Reply returns nothing beside it");
};

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
  if constexpr (Shape<F>::raw) {
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

template <typename F>
void invoke(void* state, bool strict, Call& call, Reply& reply) {
  F& handler = *static_cast<F*>(state);
  using Params = typename Shape<F>::Params;
  if constexpr (Shape<F>::raw) {
    handler(call, reply);
  } else if constexpr (!std::is_void_v<Params>) {
    constexpr bool fits = fields::can_be_params<Params>();
    static_assert(fits,
                  "ringrpc: params are an object or an array; take a struct, a map, a vector or a "
                  "tuple, and not a bare value");
    if constexpr (fits) {
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
