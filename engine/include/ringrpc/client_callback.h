#pragma once

// A callback as the client keeps it: any callable of that signature. For client.h.
//
// The engine is built without exceptions, so none may cross it. What leaves a callback is caught in
// the file that made it, kept, and thrown again by the function of Client that ran the callback,
// once the client is in order again; of several the first one.

#include <concepts>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace ringrpc {

namespace client {
// Keeps an exception of this thread, unless there is one already.
void keep_exception(std::exception_ptr exception);
// Returns: the one that was kept, which is forgotten.
[[nodiscard]] std::exception_ptr take_exception();

// Throws what a callback has thrown.
inline void rethrow() {
#ifdef __cpp_exceptions
  if (std::exception_ptr exception = take_exception(); exception != nullptr) {
    std::rethrow_exception(std::move(exception));
  }
#endif
}
}  // namespace client

template <class Signature>
class Callback;

// Owns: a copy of the callable.
// Where the signature answers bool, a callable that answers nothing counts as true.
template <class R, class... Arguments>
class Callback<R(Arguments...)> {
 public:
  Callback() = default;

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, Callback> && std::invocable<F&, Arguments...>)
  Callback(F callable)  // NOLINT: meant to be implicit.
      : function_([callable = std::move(callable)](Arguments... arguments) mutable -> R {
#ifdef __cpp_exceptions
          try {
            return invoke(callable, static_cast<Arguments&&>(arguments)...);
          } catch (...) {
            client::keep_exception(std::current_exception());
            return R();
          }
#else
          return invoke(callable, static_cast<Arguments&&>(arguments)...);
#endif
        }) {
  }

  explicit operator bool() const { return static_cast<bool>(function_); }
  R operator()(Arguments... arguments) const {
    return function_(static_cast<Arguments&&>(arguments)...);
  }

 private:
  template <class F>
  static R invoke(F& callable, Arguments... arguments) {
    if constexpr (std::is_same_v<R, bool> &&
                  std::is_void_v<std::invoke_result_t<F&, Arguments...>>) {
      callable(static_cast<Arguments&&>(arguments)...);
      return true;
    } else {
      return static_cast<R>(callable(static_cast<Arguments&&>(arguments)...));
    }
  }

  std::function<R(Arguments...)> function_;
};

}  // namespace ringrpc
