#pragma once

// Calls that are answered later: from another thread, after a while, or when something else is
// done.
//
//   server.method("report", [&queue](ringrpc::Call& call, const Report& in, ringrpc::Deferred
//   reply)
//   {
//     queue.push([id = in.id, reply = std::move(reply)]() mutable { reply.answer(make(id)); });
//   });
//
// The call, its params, their views and its head are copied once when the handler is entered and
// live until the answer; a struct that params were decoded into lives until the handler returns.
// A call is told to stop (StopReason) at once when it is cancelled or out of time, when the server
// stops, its peer resets the connection, closes a Unix socket, or ends its input while an event
// stream is open. A TCP peer that closes without a reset is known to be gone when something is sent
// to it or TCP keepalive finds out, a minute or two later; give what must end sooner a timeout.
//
// How many calls may be in flight, and what they may hold, is in limits.h; one too many answers
// -31001 and never reaches the handler.

#include <ringrpc/call.h>
#include <ringrpc/fields.h>
#include <ringrpc/result.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc {

class Deferred;
namespace co {
struct Promise;
void begin(Deferred deferred, Promise* root);
}  // namespace co

// The error that stands for a call which stopped because it was asked to: -31006, -31003 or -31007.
Error stop_error(StopReason reason);

// The duty to answer one call, exactly once. Whoever drops it unanswered answers -32603.
// Owns:   the call. An empty one owns nothing, and may only be assigned to and destroyed.
// Thread: any, one at a time; it may move from one to the other. It may outlive the server, but not
//         the process; what is answered then is dropped.
// Cost:   an answer is one push to its worker's queue; a system call only if that worker sleeps.
class Deferred {
 public:
  Deferred() = default;
  // For handlers' thunks. Requires: a call that is answered later, and the only Deferred of it.
  explicit Deferred(Call& call) noexcept : late_(call.late_) {}
  Deferred(Deferred&& source) noexcept : late_(std::exchange(source.late_, nullptr)) {}
  Deferred& operator=(Deferred&& source) noexcept {
    if (this != &source) {
      if (late_ != nullptr) drop(*late_);
      late_ = std::exchange(source.late_, nullptr);
    }
    return *this;
  }
  ~Deferred() {
    if (late_ != nullptr) drop(*late_);
  }

  // Returns: whether an answer is still due.
  explicit operator bool() const noexcept { return late_ != nullptr; }

  // All below require an answer to be due; those that answer leave none.

  // Lifetime: until the answer.
  [[nodiscard]] Call& call() const { return call_of(*late_); }
  [[nodiscard]] StopReason stop_reason() const { return call().stop_reason(); }
  [[nodiscard]] bool stop_requested() const { return call().stop_requested(); }

  // Decodes the params into a reflected type. Returns: false when they do not fit, which has been
  // answered.
  template <class P>
  bool decode(P& params, bool strict = false) {
    if (reply().decode(call(), fields::type_of<P>(), &params, strict)) return true;
    send();
    return false;
  }

  // Answers what a handler of level 1 would return: a value, or a Result.
  template <class T>
  void answer(const T& value);
  // Answers null.
  void answer() { send(); }
  void error(int code, std::string_view message, std::string_view data_json = {}) {
    reply().error(code, message, data_json);
    send();
  }
  // Answers by the reason to stop. Requires: stop_requested().
  void stop() {
    const Error error = stop_error(stop_reason());
    this->error(error.code, error.message, error.data);
  }

  // The answer as a handler of level 2 writes it; send() ends it.
  [[nodiscard]] Reply& reply() { return reply_of(*late_); }
  void send() { send_of(*std::exchange(late_, nullptr)); }

  // Hands the duty on, without holding a thread: `then` is called on the worker with the Deferred
  // when the time has passed, or earlier when the call is to stop, which it looks at. It may hold
  // 48 bytes. Requires: the worker's thread, which runs handlers and `then`.
  template <class F>
  void after(std::uint32_t ms, F then) &&;

 protected:
  [[nodiscard]] rpc::LateCall& late() const { return *late_; }

 private:
  friend void co::begin(Deferred deferred, co::Promise* root);
  using Run = void (*)(void* state, Call& call);
  using Destroy = void (*)(void* state);
  static constexpr std::size_t wait_state_size = 48;

  static Call& call_of(rpc::LateCall& late);
  static Reply& reply_of(rpc::LateCall& late);
  static void send_of(rpc::LateCall& late);
  static void drop(rpc::LateCall& late);
  // Returns: where the state of what waits is to be made: wait_state_size bytes.
  static void* wait(rpc::LateCall& late, std::uint32_t ms, Run run, Destroy destroy);

  rpc::LateCall* late_ = nullptr;
};

namespace handlers {

template <typename T>
void answer(Reply& reply, T&& outcome);

}  // namespace handlers

template <class T>
void Deferred::answer(const T& value) {
  if constexpr (std::is_array_v<T>) {
    handlers::answer(reply(), std::string_view(value));  // a literal
  } else {
    handlers::answer(reply(), value);
  }
  send();
}

template <class F>
void Deferred::after(std::uint32_t ms, F then) && {
  static_assert(sizeof(F) <= wait_state_size && alignof(F) <= alignof(std::max_align_t),
                "ringrpc: what waits for a timer holds 48 bytes; keep the rest behind a pointer");
  void* const state = wait(
      *std::exchange(late_, nullptr), ms,
      [](void* waiting, Call& call) {
        F run = std::move(*static_cast<F*>(waiting));
        static_cast<F*>(waiting)->~F();
        run(Deferred(call));
      },
      [](void* waiting) { static_cast<F*>(waiting)->~F(); });
  new (state) F(std::move(then));
}

}  // namespace ringrpc
