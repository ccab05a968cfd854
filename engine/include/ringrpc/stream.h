#pragma once

// Calls that send notifications before their result.
//
//   server.method("ticks", [](const Ticks& in, ringrpc::Stream stream) { ... });
//
// A peer on WebSocket, TCP, a Unix socket or stdio gets them as messages. Over HTTP it gets an
// event stream (text/event-stream) when its Accept lists one and the call is in no batch: it begins
// with the first notification, or with the first comment after 15 s of silence, so that an early
// error is still a plain JSON reply. To any other peer only the answer is sent.

#include <ringrpc/async.h>
#include <ringrpc/call.h>
#include <ringrpc/fields.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc {

class CoStream;
namespace co {
class Send;
}

// What became of a notification.
enum class Sent : std::uint8_t {
  yes,       // it leaves behind those before it
  no_room,   // not sent: the peer reads too slowly, or nobody has read what was sent before
  unwanted,  // not sent: this peer takes no notifications for this call
  invalid,   // not sent, now or later: it cannot be encoded, or is over reply_size_max; counted
  stopped    // not sent: the call is to stop
};

// What happens to a notification when limits::stream_queue_size_max bytes wait for the peer.
enum class WhenFull : std::uint8_t {
  wait,      // Sent::no_room: the handler waits for room, or gives up
  drop,      // Sent::no_room, counted: for what the next one makes obsolete
  coalesce,  // it is kept, and the next one replaces it while it waits, counted
  close      // the peer's connection ends, counted; WebSockets and lines say why (-31001, 1013)
};

// A Deferred that may send notifications first.
// Thread: as Deferred: any, one at a time. Notifications and the answer leave in the order in which
//         they were made.
// Cost:   a notification is written into memory of its own and copied once, when there is room.
class Stream : public Deferred {
 public:
  Stream() = default;
  explicit Stream(Call& call) noexcept : Deferred(call) {}
  explicit Stream(Deferred&& source) noexcept : Deferred(std::move(source)) {}

  // Requires: an answer to be due, for all of these.

  void when_full(WhenFull policy) { set_policy(late(), policy); }
  // Returns: whether the peer takes notifications at all.
  [[nodiscard]] bool open() const { return is_open(late()); }

  // Sends a notification with params of a reflected type, or with params that are JSON already,
  // which is checked byte by byte. Params are one object or array, as JSON-RPC has them: whatever
  // else the value or the text is, NaN inside it, or a notification over reply_size_max, is
  // Sent::invalid, counted (ringrpc_bad_events_total, limit="reply_size"), and said on stderr.
  template <class P>
  Sent notify(std::string_view method, const P& params) {
    return send_event(late(), method, fields::type_of<P>(), &params);
  }
  Sent notify_json(std::string_view method, std::string_view params_json) {
    return send_event(late(), method, params_json);
  }

  // Blocks until half of the queue is free, and what found no room last fits, or the call is to
  // stop. Returns: whether there is room. Thread: any but a worker's: on the blocking pool, for
  // example.
  bool wait_for_room() { return block(late()); }

  // The same without a thread: `then` is called on the worker with the Stream.
  // Requires: as after().
  template <class F>
  void when_room(F then) && {
    const std::uint32_t ms = for_room(late());
    std::move(*this).after(ms, std::move(then));
  }
  // Keeps the stream open until its call is to stop; then `then` is called with it.
  // Requires: as after().
  template <class F>
  void when_stopped(F then) && {
    std::move(*this).after(waits_for_ever, std::move(then));
  }
  template <class F>
  void after(std::uint32_t ms, F then) && {
    static_cast<Deferred&&>(*this).after(
        ms, [run = std::move(then)](Deferred woken) mutable { run(Stream(std::move(woken))); });
  }

 private:
  friend class CoStream;
  friend class Feed;
  friend class co::Send;
  static constexpr std::uint32_t waits_for_ever = 0xFFFFFFFF;

  static rpc::LateCall& late_of(Call& call);
  static void set_policy(rpc::LateCall& late, WhenFull policy);
  static bool is_open(const rpc::LateCall& late);
  static Sent send_event(rpc::LateCall& late, std::string_view method, const fields::TypeInfo& type,
                         const void* params);
  static Sent send_event(rpc::LateCall& late, std::string_view method,
                         std::string_view params_json);
  static bool block(rpc::LateCall& late);
  // Returns: how long to wait at the most.
  static std::uint32_t for_room(rpc::LateCall& late);
};

}  // namespace ringrpc
