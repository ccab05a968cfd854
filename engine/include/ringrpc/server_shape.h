#pragma once

// What a handler's signature says: what it takes, how it answers.

#include <ringrpc/async.h>
#include <ringrpc/call.h>
#include <ringrpc/co.h>
#include <ringrpc/co_stream.h>
#include <ringrpc/result.h>
#include <ringrpc/stream.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

namespace ringrpc::handlers {

template <typename T>
concept HasOneCall = requires { &T::operator(); };

struct NoSignature {
  using Return = void;
  using First = void;
  using Second = void;
  using Third = void;
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
  using Third = std::tuple_element_t<2, std::tuple<A..., void, void, void>>;
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

template <typename T>
struct Awaited {
  using type = T;
  static constexpr bool is_coroutine = false;
};
template <typename T>
struct Awaited<Co<T>> {
  using type = T;
  static constexpr bool is_coroutine = true;
};

// How a handler is called, and with what.
template <typename F>
struct Shape {
  using Signed = Signature<F>;
  using First = std::remove_cvref_t<typename Signed::First>;
  using Second = std::remove_cvref_t<typename Signed::Second>;
  static constexpr bool takes_call = std::is_same_v<First, Call>;
  static constexpr bool raw = std::is_same_v<Second, Reply>;
  // Answers later: its last argument is a Deferred, or a Stream.
  template <typename T>
  static constexpr bool is_duty = std::is_same_v<T, Deferred> || std::is_same_v<T, Stream>;
  static constexpr bool deferred = is_duty<typename Signed::First> ||
                                   is_duty<typename Signed::Second> ||
                                   (takes_call && is_duty<typename Signed::Third>);
  // Answers by what it returns, and sends notifications before: its last argument is a CoStream.
  static constexpr bool sends = std::is_same_v<typename Signed::First, CoStream> ||
                                std::is_same_v<typename Signed::Second, CoStream> ||
                                std::is_same_v<typename Signed::Third, CoStream>;
  static constexpr bool streams = std::is_same_v<typename Signed::First, Stream> ||
                                  std::is_same_v<typename Signed::Second, Stream> ||
                                  std::is_same_v<typename Signed::Third, Stream> || sends;
  using Duty = std::conditional_t<streams, Stream, Deferred>;
  // The argument that params are decoded into, as it is written; void for none.
  using Candidate = std::conditional_t<takes_call, typename Signed::Second, typename Signed::First>;
  static constexpr bool takes_none =
      raw || is_duty<Candidate> || std::is_same_v<Candidate, CoStream>;
  using Argument = std::conditional_t<takes_none, void, Candidate>;
  using Params = std::remove_cvref_t<Argument>;
  using Returned = std::remove_cvref_t<typename Signed::Return>;
  // Waits for what it answers with.
  static constexpr bool coroutine = Awaited<Returned>::is_coroutine;
  using Outcome = typename Awaited<Returned>::type;
  using Value = typename Unwrapped<Outcome>::type;

  static_assert(
      (Signed::count <= 2 || (Signed::count == 3 && (deferred || sends))) &&
          !std::is_same_v<First, Reply>,
      "ringrpc: a handler takes (P), (Call&, P), (Call&), (Call&, Reply&) or nothing, "
      "and a Deferred or Stream behind (P), (Call&, P), (Call&) or nothing if it answers later, "
      "a CoStream if it is a coroutine");
  static_assert(Signed::count != 2 || takes_call || deferred || sends,
                "ringrpc: the first of a handler's two arguments is ringrpc::Call&");
  static_assert(!sends || coroutine,
                "ringrpc: a CoStream is for coroutines; other handlers send by a Stream");
  static_assert(!coroutine || (!deferred && !raw),
                "ringrpc: a coroutine answers by what it returns, and takes no Reply and no "
                "Deferred; it sends by a CoStream");
  static_assert(!coroutine || !std::is_reference_v<Argument>,
                "ringrpc: a coroutine takes its params by value: it outlives what a reference "
                "stands for");
  static_assert(
      !deferred || std::is_void_v<Outcome>,
      "ringrpc: a handler that takes a Deferred or a Stream answers by it and returns nothing");
  static_assert(!raw || std::is_void_v<Outcome>,
                "ringrpc: a handler that writes a Reply returns nothing beside it");
};

}  // namespace ringrpc::handlers
