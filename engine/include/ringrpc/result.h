#pragma once

// What a handler answers when it may fail: a value, or an error object of JSON-RPC.

#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace ringrpc {

// An error as it is sent. An application's codes lie outside -32768..-32000.
struct Error {
  int code = 0;
  std::string message = {};
  std::string data = {};  // JSON text; empty leaves the member out.
};

// A value or an Error.
// Cost: no allocation of its own; the strings of an Error are the user's.
template <class T>
class [[nodiscard]] Result {
 public:
  static_assert(!std::is_reference_v<T>, "ringrpc: a Result holds a value, not a reference");
  static_assert(!std::is_same_v<T, Error>,
                "ringrpc: a Result<Error> could not tell its two cases apart");

  Result(const T& value) : ok_(true), value_(value) {}             // NOLINT: meant to be implicit.
  Result(T&& value) : ok_(true), value_(std::move(value)) {}       // NOLINT: meant to be implicit.
  Result(const Error& error) : ok_(false), error_(error) {}        // NOLINT: meant to be implicit.
  Result(Error&& error) : ok_(false), error_(std::move(error)) {}  // NOLINT: meant to be implicit.

  // Anything that makes a T: `return 3;` in a function of Result<std::int64_t>.
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_convertible_v<U &&, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, Result>)
  Result(U&& value) : ok_(true), value_(std::forward<U>(value)) {}  // NOLINT

  Result(const Result& source) : ok_(source.ok_) { construct(source); }
  Result(Result&& source) noexcept : ok_(source.ok_) { construct(std::move(source)); }
  Result& operator=(const Result& source) { return *this = Result(source); }
  Result& operator=(Result&& source) noexcept {
    if (this != &source) {
      destroy();
      ok_ = source.ok_;
      construct(std::move(source));
    }
    return *this;
  }
  ~Result() { destroy(); }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }

  // Requires: ok().
  [[nodiscard]] T& value() & noexcept { return value_; }
  [[nodiscard]] const T& value() const& noexcept { return value_; }
  [[nodiscard]] T&& value() && noexcept { return std::move(value_); }
  // Requires: !ok().
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  template <class Source>
  void construct(Source&& source) {
    if (ok_) {
      new (static_cast<void*>(&value_)) T(std::forward<Source>(source).value_);
    } else {
      new (static_cast<void*>(&error_)) Error(std::forward<Source>(source).error_);
    }
  }
  void destroy() noexcept {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

// Success without a value (the result is null), or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : ok_(false), error_(std::move(error)) {}  // NOLINT: meant to be implicit.

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  // Requires: !ok().
  [[nodiscard]] const Error& error() const noexcept { return error_; }

 private:
  bool ok_ = true;
  Error error_ = {};
};

}  // namespace ringrpc
