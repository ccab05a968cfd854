#pragma once

// Coroutines that send notifications before their result.
//
//   ringrpc::Co<std::uint32_t> count(ringrpc::Call& call, Count in, ringrpc::CoStream stream) {
//     for (std::uint32_t n = 1; n <= in.to; ++n) {
//       if (co_await stream.send("counted", Number{n}) == ringrpc::Sent::stopped) break;
//       co_await call.after(in.ms);
//     }
//     co_return in.to;
//   }
//   server.method("count", count);
//
// Handlers: those of co.h, with a CoStream by value behind their other arguments. Which peers take
// notifications, and when an event stream begins, is told in stream.h; what a reason to stop does
// to a wait, in co.h. Whoever sends without an end, or to nobody, lets others go first now and
// then (limits::stream_sends_max).

#include <ringrpc/call.h>
#include <ringrpc/co.h>
#include <ringrpc/stream.h>

#include <coroutine>
#include <string_view>
#include <type_traits>

namespace ringrpc {
namespace co {

bool wait_for_room(Call& call, Promise& waiter);

// Until there is room: true. False: the call is to stop.
class [[nodiscard]] Room {
 public:
  explicit Room(Call& call) noexcept : call_(call) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) const {
    return wait_for_room(call_, waiter.promise());
  }
  bool await_resume() const { return outcome_of(call_) != 0; }

 private:
  Call& call_;
};

// One notification, which waits for room where the policy is to wait. Gives what became of it:
// Sent::no_room where another policy has decided, or there was no memory for it (10 ms later);
// Sent::invalid, at once, where it cannot be sent at all (stream.h).
class [[nodiscard]] Send {
 public:
  // Null for params that are JSON already.
  Send(rpc::LateCall& late, std::string_view method, const fields::TypeInfo* type,
       const void* params, std::string_view json) noexcept
      : late_(late), method_(method), type_(type), params_(params), json_(json) {}
  [[nodiscard]] bool await_ready() { return goes_on(); }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) {
    return wait(waiter.promise());
  }
  Sent await_resume() { return end(); }

 private:
  // Sends it. Returns: whether there is nothing to wait for.
  bool goes_on();
  bool wait(Promise& waiter);
  Sent end();
  Sent try_to();

  rpc::LateCall& late_;
  std::string_view method_;
  const fields::TypeInfo* type_;
  const void* params_;
  std::string_view json_;
  Sent sent_ = Sent::no_room;
  bool stood_ = false;
};

template <>
inline constexpr bool is_wait<Room> = true;
template <>
inline constexpr bool is_wait<Send> = true;

}  // namespace co

// What a coroutine sends notifications by, before the result that it returns.
// Lifetime: that of its call; copies are the same stream.
// Thread:   its coroutine's; notify() also in what that offloads.
class CoStream {
 public:
  // For handlers' thunks. Requires: a call that is answered by a coroutine.
  explicit CoStream(Call& call) noexcept : call_(&call) {}

  void when_full(WhenFull policy) const { Stream::set_policy(late(), policy); }
  // Returns: whether the peer takes notifications at all.
  [[nodiscard]] bool open() const { return Stream::is_open(late()); }

  // Sends a notification, without waiting, with params of a reflected type or that are JSON, which
  // is checked: what is no object or array is Sent::invalid, as stream.h tells.
  template <class P>
  Sent notify(std::string_view method, const P& params) const {
    return Stream::send_event(late(), method, fields::type_of<P>(), &params);
  }
  Sent notify_json(std::string_view method, std::string_view params_json) const {
    return Stream::send_event(late(), method, params_json);
  }

  // The same, but awaited: it waits for room. The coroutine is told so when its call is to stop.
  template <class P>
  [[nodiscard]] co::Send send(std::string_view method, P&& params) const {
    using Plain = std::remove_reference_t<P>;
    static_assert(std::is_lvalue_reference_v<P> || std::is_trivially_copyable_v<Plain>,
                  "ringrpc: what is sent and owns something needs a name (const auto params = ...; "
                  "co_await stream.send(method, params)): g++ destroys such a temporary twice");
    return {late(), method, &fields::type_of<std::remove_const_t<Plain>>(), &params, {}};
  }
  [[nodiscard]] co::Send send_json(std::string_view method, std::string_view params_json) const {
    return {late(), method, nullptr, nullptr, params_json};
  }

  // Until half of the queue is free, and what found no room last fits: true, at once where there is
  // room. False: the call is to stop.
  [[nodiscard]] co::Room room() const { return co::Room(*call_); }

 private:
  [[nodiscard]] rpc::LateCall& late() const { return Stream::late_of(*call_); }

  Call* call_;
};

}  // namespace ringrpc
