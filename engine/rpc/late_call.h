#pragma once

// One call that is answered later: what it owns until then.

#include <ringrpc/call.h>
#include <ringrpc/json.h>
#include <ringrpc/stream.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/rpc/endpoint.h"
#include "engine/rpc/errors.h"
#include "engine/rpc/late_coroutine.h"
#include "engine/rpc/reply_text.h"
#include "engine/rpc/table.h"

namespace ringrpc::rpc {

class LateCalls;

inline constexpr std::uint32_t no_exchange = 0;

// What comes to a worker by its queue.
enum class PostKind : std::uint8_t { answer, event, publication };

// One entry of a worker's queue, in whatever is posted.
struct Post {
  explicit Post(PostKind what) : kind(what) {}
  // Release by whoever pushes; acquire by whoever takes.
  std::atomic<Post*> next_post{nullptr};
  const PostKind kind;
};

struct LateCall;

// A notification of a call, in memory of its own, which is charged.
struct LateEvent : Post {
  LateEvent(LateCall& owner, std::size_t text_capacity)
      : Post(PostKind::event), call(owner), capacity(text_capacity) {}

  [[nodiscard]] char* text() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] std::string_view view() { return {text(), size}; }

  LateCall& call;
  LateEvent* next = nullptr;  // of those that wait for room
  std::size_t capacity;
  std::size_t size = 0;  // 0: it only makes the worker look at the call
  bool closes = false;   // the peer's connection is to end: it reads too slowly
};

// How a late call ended, as far as its owner can tell.
enum class LateEnd : std::uint8_t {
  text,       // text() is the whole reply
  dropped,    // nobody will answer: -32603
  threw,      // the handler left by an exception: -32603
  no_json,    // what was left is no JSON: -32603
  too_large,  // over reply_size_max: -31004
  no_memory,  // over what late calls may hold: -31004, it has run and is not to be tried again
  overloaded  // no room where `limit` says: -31001
};

// Returns: the error that stands for an answer without a text.
constexpr ErrorCode error_of(LateEnd end) {
  if (end == LateEnd::too_large || end == LateEnd::no_memory) return ErrorCode::reply_too_large;
  return end == LateEnd::overloaded ? ErrorCode::overloaded : ErrorCode::internal_error;
}

// What waits for a timer or for the reason to stop.
struct LateWait {
  void (*run)(void* state, Call& call) = nullptr;  // null: nothing waits
  void (*destroy)(void* state) = nullptr;
  static constexpr std::size_t state_size = 48;
  alignas(std::max_align_t) char state[state_size];
};

// Owns:     a copy of the params with their index, of the request's head, of the names; the reply
//           while it is written.
// Thread:   the worker, but for what the owner of the Deferred uses: call(), reply(), end. The push
//           to the queue of answers hands those to the worker.
// Lifetime: a place of LateCalls, from open() to release().
struct LateCall : Post {
  LateCall(LateCalls& owner, std::uint32_t place)
      : Post(PostKind::answer), home(owner), index(place) {}
  LateCall(const LateCall&) = delete;
  LateCall& operator=(const LateCall&) = delete;

  // Returns: the reply to write in, begun by the first call. Thread: the owner's.
  Reply& reply();
  // Ends what was written. Thread: the owner's.
  void seal();
  // Returns: the whole reply. Requires: end == text, and somebody wants it.
  [[nodiscard]] std::string_view text() const { return writer().view(); }
  [[nodiscard]] Call& call() { return *reinterpret_cast<Call*>(call_storage); }
  [[nodiscard]] std::string_view id() { return call().id(); }

  // Counts a limit that ends the call as overloaded. Thread: the worker's.
  void hits(base::Counter of);
  // Returns: its name, which is the reason in the error; empty for one that ended otherwise.
  [[nodiscard]] std::string_view limit_name() const {
    if (end == LateEnd::no_memory) return base::counter_name(base::Counter::limit_late_memory);
    return end == LateEnd::overloaded ? base::counter_name(limit) : std::string_view();
  }

  // Begins a notification. Returns: what its params are written to; null when it is not to be made.
  // Thread: the owner's.
  Reply* begin_event(std::string_view method);
  // Ends and sends it. Thread: the owner's.
  Sent end_event(std::string_view name);
  // Returns: whether half of the queue is free, and the notification fits that did not last time.
  // Thread: the owner's, or the worker's while the owner waits.
  [[nodiscard]] bool has_room() const;
  // Gives an event's memory back.
  void free_event(LateEvent* event);

  // Shared. Release by whoever raises, acquire by whoever looks.
  std::atomic<StopReason> stop{StopReason::none};

  LateCalls& home;
  const std::uint32_t index;
  const Method* method = nullptr;
  const Endpoint* endpoint = nullptr;
  LateCall* next = nullptr;  // of the same connection
  LateCall* previous = nullptr;
  std::uint32_t exchange = no_exchange;  // whose answer it is a part of
  std::uint32_t holder = 0;              // the connection's slot
  bool wanted = false;                   // no notification
  bool told = false;    // somebody else has answered, or nobody is there to be answered
  bool linked = false;  // in its connection's list
  LateEnd end = LateEnd::dropped;
  base::Counter limit = base::Counter::limit_in_flight;  // see hits()
  std::int32_t code = 0;                                 // of the error that the handler answered
  bool over_memory = false;
  bool found_no_memory = false;  // for more of its reply
  LateWait wait;
  LateCoroutine coroutine;

  // Notifications.
  bool streams = false;  // its peer takes them
  bool opens = false;    // its event stream begins before the first of them
  WhenFull when_full = WhenFull::wait;
  std::atomic<std::uint32_t> queued{
      0};  // bytes that wait; release by the worker, acquire by owners
  // One that found no room, and is the next one when there is some. See coalesce().
  std::atomic<LateEvent*> latest{nullptr};
  LateEvent* event = nullptr;          // being written; the owner's
  std::size_t params_begin = 0;        // where those of the one being written are; the owner's
  std::uint32_t refused_size = 0;      // of the last one, if it found no room; the owner's
  bool no_memory = false;              // there was none for the last one; the owner's
  LateEvent* waiting_first = nullptr;  // the worker's: they wait for room in the connection
  LateEvent* waiting_last = nullptr;
  bool answered = false;    // the answer waits behind them
  bool wants_room = false;  // what waits does so for room

  // The reply's memory. Thread: the owner's.
  bool replying = false;
  char* reply_memory = nullptr;  // beyond what is inline
  std::size_t reply_capacity = 0;
  alignas(JsonWriter) char writer_storage[sizeof(JsonWriter)];
  alignas(Reply) char reply_storage[sizeof(Reply)];
  alignas(JsonWriter) char event_writer_storage[sizeof(JsonWriter)];
  alignas(Reply) char event_storage[sizeof(Reply)];

  // The copy of the request.
  Origin origin;
  json::Scratch scratch;
  std::string_view head_text;
  char* block = nullptr;  // beyond what is inline
  std::size_t block_size = 0;
  alignas(Call) char call_storage[sizeof(Call)];

  static constexpr std::size_t reply_inline_size = 128;
  static constexpr std::size_t block_inline_size = 448;
  char reply_inline[reply_inline_size];
  alignas(8) char block_inline[block_inline_size];

 private:
  [[nodiscard]] JsonWriter& writer() { return *reinterpret_cast<JsonWriter*>(writer_storage); }
  [[nodiscard]] const JsonWriter& writer() const {
    return *reinterpret_cast<const JsonWriter*>(writer_storage);
  }
  static bool grow(void* owner, JsonWriter& writer, std::size_t need);
  static bool grow_event(void* owner, JsonWriter& writer, std::size_t need);
  Sent refuse(LateEvent* made, std::string_view name, bool too_large);
  Sent coalesce(LateEvent* made);
  Sent lose(LateEvent* made);
};
static_assert(sizeof(LateCall) <= 1536, "limits.h says what a call in flight takes");

}  // namespace ringrpc::rpc
