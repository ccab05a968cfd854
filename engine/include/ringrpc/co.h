#pragma once

// Handlers that wait: coroutines.
//
//   ringrpc::Co<ringrpc::Result<Report>> report(ringrpc::Call& call, Query in) {
//     for (;;) {
//       Rows rows = co_await call.offload([&in] { return ask_database(in); });
//       if (rows.complete()) co_return make_report(rows);
//       if (!co_await call.after(100)) co_return ringrpc::stop_error(call.stop_reason());
//     }
//   }
//   server.method("report", report);
//
// Handlers: Co<R>(Call&, P), Co<R>(Call&), Co<R>(P) and Co<R>(), with R and P as in server.h. P is
// taken by value: the call and its params belong to the coroutine until it ends, views and all.
//
// A coroutine runs on its connection's worker, always; while it waits the worker does other things.
// When its call is to stop (Call::stop_reason), the wait that is under way, or the next one, ends
// at once and says so. Whoever waits a second time after that is not asked again: the coroutine
// ends there, its locals are destroyed, and what is answered is the reason (stop_error). So no loop
// outlives its peer by more than one turn. What is offloaded is finished in any case.
//
// g++ 12 destroys a temporary twice that is made in the expression of a co_await from braces or
// captures and owns something: give it a name first.
//
// Frames come from a pool of the worker (limits.h); one that finds no room there answers -31001. An
// exception that leaves a coroutine answers -32603; where the unit was built without exceptions,
// the locals of the coroutine that it left are not destroyed.

#include <ringrpc/async.h>
#include <ringrpc/call.h>
#include <ringrpc/co_promise.h>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace ringrpc::co {

// The waits. Returns: whether the coroutine stands still; if not, it goes on at once.
bool wait_for_time(Call& call, Promise& waiter, std::uint32_t ms);
// Returns: how the wait ended that ended last: 0 for a reason to stop, or that time.
std::uint32_t outcome_of(Call& call);

// What is done elsewhere, and what became of it.
struct Job {
  void (*run)(Job& job) = nullptr;
  std::exception_ptr thrown = nullptr;
};
bool wait_for_job(Call& call, Promise& waiter, Job& job);

// Runs the handler's coroutine until it waits or ends.
void begin(Deferred deferred, Promise* root);

// Until the time has passed: true. False: the call is to stop. 0 ms lets others go first.
class [[nodiscard]] After {
 public:
  After(Call& call, std::uint32_t ms) noexcept : call_(call), ms_(ms) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) const {
    return wait_for_time(call_, waiter.promise(), ms_);
  }
  bool await_resume() const { return outcome_of(call_) != 0; }

 private:
  Call& call_;
  std::uint32_t ms_;
};

// Until `work` has run on one of blocking_threads: what it returns, or throws. While
// blocking_queue_max others wait the call is answered -31001. F is a reference when it has a name.
template <class F>
class [[nodiscard]] Offload : private Job {
 public:
  using R = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<R>,
                "ringrpc: what is offloaded returns a value, or nothing, and no reference");

  static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_copyable_v<F>,
                "ringrpc: what is offloaded and owns something needs a name (auto work = [...]...; "
                "call.offload(work)): g++ destroys such a temporary twice");

  Offload(Call& call, F&& work) : call_(call), work_(std::forward<F>(work)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) {
    run = [](Job& job) { static_cast<Offload&>(job).work(); };
    return wait_for_job(call_, waiter.promise(), *this);
  }
  R await_resume() {
    if (thrown != nullptr) throw_kept(thrown);
    if constexpr (!std::is_void_v<R>) return std::move(*result_);
  }

 private:
  struct Nothing {};
  void work() {
    if constexpr (std::is_void_v<R>) {
      work_();
    } else {
      result_.emplace(work_());
    }
  }

  Call& call_;
  F work_;
  std::optional<std::conditional_t<std::is_void_v<R>, Nothing, R>> result_;
};

// A descriptor, and what it is to be ready for.
struct Wanted {
  int fd = -1;
  Ready events = Ready::none;
  std::uint32_t timeout_ms = 0;  // 0: none
};
bool wait_for_readiness(Call& call, Promise& waiter, const Wanted& wanted);

// Until a descriptor can be read from, written to, or either: what it is ready for. None: the
// timeout has passed, or the call is to stop. One that has failed or was closed by its other end is
// ready, and so is what cannot be waited for, as a regular file: the next read or write tells.
// Several calls may wait for one descriptor. Where the kernel has no memory for it: -31001.
class [[nodiscard]] WhichReady {
 public:
  WhichReady(Call& call, const Wanted& wanted) noexcept : call_(call), wanted_(wanted) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) const {
    return wait_for_readiness(call_, waiter.promise(), wanted_);
  }
  [[nodiscard]] Ready await_resume() const { return static_cast<Ready>(outcome_of(call_)); }

 private:
  Call& call_;
  Wanted wanted_;
};

// The same for one of the two: whether it is ready.
class [[nodiscard]] IsReady : public WhichReady {
 public:
  using WhichReady::WhichReady;
  [[nodiscard]] bool await_resume() const { return WhichReady::await_resume() != Ready::none; }
};

template <>
inline constexpr bool is_wait<After> = true;
template <>
inline constexpr bool is_wait<WhichReady> = true;
template <>
inline constexpr bool is_wait<IsReady> = true;
template <class F>
inline constexpr bool is_wait<Offload<F>> = true;

}  // namespace ringrpc::co

namespace ringrpc {

inline co::After Call::after(std::uint32_t ms) { return {*this, ms}; }
inline co::IsReady Call::readable(int fd, std::uint32_t timeout_ms) {
  return {*this, {fd, Ready::read, timeout_ms}};
}
inline co::IsReady Call::writable(int fd, std::uint32_t timeout_ms) {
  return {*this, {fd, Ready::write, timeout_ms}};
}
inline co::WhichReady Call::ready(int fd, Ready events, std::uint32_t timeout_ms) {
  return {*this, {fd, events, timeout_ms}};
}

template <class F>
co::Offload<F> Call::offload(F&& work) {
  return {*this, std::forward<F>(work)};
}

}  // namespace ringrpc
