#pragma once

// What the compiler makes of a coroutine: its frame, its promise, its place among those that await
// each other. A part of co.h, which tells how to use it.

#include <ringrpc/call.h>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace ringrpc {

template <class T>
class Co;

namespace co {

struct Promise;

// The coroutines of one call. One of them runs, or waits, and those that await it stand still.
struct Run {
  Promise* root = nullptr;     // the handler's
  Promise* next = nullptr;     // goes on next; null: it waits, or the root has ended
  Promise* running = nullptr;  // went on last
  Call* call = nullptr;
  bool refused = false;  // what was to go on next found no memory
};

// Memory for frames, of the worker that this thread is. Returns: null when there is none left.
void* take_frame(std::size_t size) noexcept;
void give_frame(void* frame) noexcept;
// Lets `child` go on in place of `parent`. One that found no memory ends the call.
void join(Promise& parent, Promise* child);
// Throws what was kept, and keeps it no more. Not inline: of a unit that is built without
// exceptions it would leak.
[[noreturn]] void throw_kept(std::exception_ptr& thrown);
// Returns: the reply of the call that is answered by what the root returns.
Reply& reply_of(Run& run);

template <class T>
inline constexpr bool is_wait = false;

template <class T>
struct Join {
  Co<T>& child;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> parent) const {
    join(parent.promise(), child.promise());
  }
  T await_resume() const;
};

struct Ended {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> ended) const noexcept {
    ended.promise().end();
  }
  void await_resume() const noexcept {}
};

// The part of a promise that does not depend on what it gives.
struct Promise {
  static void* operator new(std::size_t size) noexcept { return take_frame(size); }
  static void operator delete(void* frame) noexcept { give_frame(frame); }

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] Ended final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
  void end() noexcept { run->next = parent; }
  void throw_again() {
    if (thrown != nullptr) throw_kept(thrown);
  }

  template <class T>
  Join<T> await_transform(Co<T>&& child) const noexcept {
    return {child};
  }
  template <class W>
  W&& await_transform(W&& wait) const noexcept {
    static_assert(is_wait<std::remove_cvref_t<W>>,
                  "ringrpc: a coroutine awaits what a Call offers, or a Co that is handed over "
                  "(std::move)");
    return static_cast<W&&>(wait);
  }

  std::coroutine_handle<> self;
  Run* run = nullptr;         // from its beginning on
  Promise* parent = nullptr;  // who awaits it; null: nobody, it is the root
  std::exception_ptr thrown;  // what has left it
  // An exception went through it in a unit that is built without them: its locals are lost.
  bool broken = false;
  // Of the root: writes what it gives into the reply, while its locals still live.
  void (*answer)(Reply& reply, const void* value) = nullptr;
};

template <class T>
class PromiseOf final : public Promise {
 public:
  Co<T> get_return_object() noexcept {
    self = std::coroutine_handle<PromiseOf>::from_promise(*this);
    return Co<T>(this);
  }
  static Co<T> get_return_object_on_allocation_failure() noexcept { return Co<T>(); }
  void return_value(T value) {
    if (answer != nullptr) return answer(reply_of(*run), &value);
    value_.emplace(std::move(value));
  }
  T take() {
    throw_again();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class PromiseOf<void> final : public Promise {
 public:
  inline Co<void> get_return_object() noexcept;
  static inline Co<void> get_return_object_on_allocation_failure() noexcept;
  void return_void() const noexcept {}
  void take() { throw_again(); }
};

}  // namespace co

// A coroutine that gives a T, or nothing. It does nothing until it is awaited, once.
// Owns:   its frame, which is destroyed with it, wherever it stands.
// Thread: that of the call on whose behalf it was made.
template <class T = void>
class [[nodiscard]] Co {
 public:
  static_assert(!std::is_reference_v<T>, "ringrpc: a Co gives a value, not a reference");
  using promise_type = co::PromiseOf<T>;

  Co() = default;  // One that found no memory: awaiting it ends the call with -31001.
  Co(Co&& source) noexcept : promise_(std::exchange(source.promise_, nullptr)) {}
  Co& operator=(Co&& source) noexcept {
    std::swap(promise_, source.promise_);
    return *this;
  }
  ~Co() {
    if (promise_ == nullptr) return;
    const std::coroutine_handle<> self = promise_->self;
    promise_->broken ? co::give_frame(self.address()) : self.destroy();
  }

  // For promises and thunks.
  [[nodiscard]] promise_type* promise() const noexcept { return promise_; }
  promise_type* release() noexcept { return std::exchange(promise_, nullptr); }

 private:
  friend promise_type;
  explicit Co(promise_type* promise) noexcept : promise_(promise) {}

  promise_type* promise_ = nullptr;
};

namespace co {

template <class T>
T Join<T>::await_resume() const {
  return child.promise()->take();
}
Co<void> PromiseOf<void>::get_return_object() noexcept {
  self = std::coroutine_handle<PromiseOf>::from_promise(*this);
  return Co<void>(this);
}
Co<void> PromiseOf<void>::get_return_object_on_allocation_failure() noexcept { return {}; }

}  // namespace co
}  // namespace ringrpc
