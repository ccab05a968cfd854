#pragma once

// One call that is answered later: what it owns until then.

#include <ringrpc/call.h>
#include <ringrpc/json.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/rpc/endpoint.h"
#include "engine/rpc/errors.h"
#include "engine/rpc/reply_text.h"
#include "engine/rpc/table.h"

namespace ringrpc::rpc {

class LateCalls;

inline constexpr std::uint32_t no_exchange = 0;

// How a late call ended, as far as its owner can tell.
enum class LateEnd : std::uint8_t {
  text,       // text() is the whole reply
  dropped,    // nobody will answer: -32603
  threw,      // the handler left by an exception: -32603
  no_json,    // what was left is no JSON: -32603
  too_large,  // over reply_size_max, or over what late calls may hold: -31004
  overloaded  // the blocking pool had no room: -31001
};

// Returns: the error that stands for an answer without a text.
constexpr ErrorCode error_of(LateEnd end) {
  if (end == LateEnd::too_large) return ErrorCode::reply_too_large;
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
struct LateCall {
  LateCall(LateCalls& owner, std::uint32_t place) : home(owner), index(place) {}
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

  // Shared. Release by whoever pushes or raises; acquire by whoever takes or looks.
  std::atomic<LateCall*> next_answer{nullptr};
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
  std::int32_t code = 0;  // of the error that the handler answered
  bool over_memory = false;
  LateWait wait;

  // The reply's memory. Thread: the owner's.
  bool replying = false;
  char* reply_memory = nullptr;  // beyond what is inline
  std::size_t reply_capacity = 0;
  alignas(JsonWriter) char writer_storage[sizeof(JsonWriter)];
  alignas(Reply) char reply_storage[sizeof(Reply)];

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
};
static_assert(sizeof(LateCall) <= 1280, "limits.h says what a call in flight takes");

}  // namespace ringrpc::rpc
