#pragma once

// What a handler sees of one call: the call itself, and for raw handlers the reply.
//
// Lifetime: a Call, its params and every view taken from it live until the handler returns, and
//           until it is answered where that happens later (async.h).
// Thread:   a handler runs on its connection's worker and must not block.

#include <ringrpc/call_origin.h>
#include <ringrpc/json.h>

#include <cstdint>
#include <string_view>

namespace ringrpc {

namespace rpc {
class Answerer;
class LateCalls;
class ReplyAccess;
struct LateCall;
}  // namespace rpc
namespace json {
class DecodeError;
class Scratch;
}  // namespace json
namespace fields {
struct TypeInfo;
}
namespace co {
class After;
class IsReady;
class WhichReady;
template <class F>
class Offload;
}  // namespace co

// Why a call is to stop.
enum class StopReason : std::uint8_t {
  none,
  cancelled,     // the peer asked for it (rpc.cancel)
  timed_out,     // its deadline has passed, and the peer has been told so
  disconnected,  // the peer is gone
  shutdown,      // the server stops
};

// What a descriptor is ready for.
enum class Ready : std::uint8_t { none = 0, read = 1, write = 2, both = 3 };

// One request or notification.
class Call {
 public:
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  [[nodiscard]] std::string_view method() const { return method_; }

  // Returns: the id's token as it is on the wire (`7`, `"a"`, `null`); empty for a notification.
  [[nodiscard]] std::string_view id() const { return id_; }
  [[nodiscard]] bool is_notification() const { return notification_; }

  // Returns: the params; of kind absent when the call has none.
  [[nodiscard]] JsonValue params() const { return params_; }

  [[nodiscard]] const Peer& peer() const { return origin_->peer; }
  [[nodiscard]] std::string_view principal() const { return origin_->principal; }
  [[nodiscard]] const Head& head() const { return origin_->head; }
  [[nodiscard]] std::uint64_t deadline_ms() const { return origin_->deadline_ms; }

  // Whether the call is to stop, and why. It only ever is while it is answered later: by a
  // Deferred, on the blocking pool, in a coroutine. A handler that stops early answers by
  // stop_error() (async.h); one that does not look is left alone. Thread: any, until the call is
  // answered.
  [[nodiscard]] StopReason stop_reason() const;
  [[nodiscard]] bool stop_requested() const { return stop_reason() != StopReason::none; }

  // What a coroutine (co.h) can wait for.
  [[nodiscard]] co::After after(std::uint32_t ms);
  template <class F>
  [[nodiscard]] co::Offload<F> offload(F&& work);
  // Until a descriptor of the user's is ready. It is to stay open meanwhile; 0 ms: no timeout.
  [[nodiscard]] co::IsReady readable(int fd, std::uint32_t timeout_ms = 0);
  [[nodiscard]] co::IsReady writable(int fd, std::uint32_t timeout_ms = 0);
  [[nodiscard]] co::WhichReady ready(int fd, Ready events, std::uint32_t timeout_ms = 0);

  // Memory for unescaped strings of the params, valid as long as the call.
  [[nodiscard]] json::Scratch& scratch() const { return *scratch_; }

 private:
  friend class rpc::Answerer;
  friend class rpc::LateCalls;
  friend class Deferred;
  friend class Reply;
  Call(std::string_view method, std::string_view id, JsonValue params, bool notification,
       const Origin& origin, json::Scratch& scratch)
      : method_(method),
        id_(id),
        params_(params),
        notification_(notification),
        origin_(&origin),
        scratch_(&scratch) {}

  std::string_view method_;
  std::string_view id_;
  JsonValue params_;
  bool notification_;
  const Origin* origin_;
  json::Scratch* scratch_;
  rpc::LateCall* late_ = nullptr;  // what a call that is answered later owns
};

// The answer to one call, written into the memory that it is sent from. Exactly one of result() and
// error() is expected; the last error() wins over everything. Neither means the result null.
// A reply to a notification is written and thrown away.
class Reply {
 public:
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // Returns: the writer of the result's value; write exactly one JSON value.
  JsonWriter& result() {
    touched_ = true;
    return *writer_;
  }

  // Answers an error in place of a result; what was written so far is dropped.
  // Requires: data_json is empty or one valid JSON value; it is checked and dropped if it is not.
  // Codes of applications lie outside -32768..-32000 (JSON-RPC 2.0, section 5.1).
  void error(int code, std::string_view message, std::string_view data_json = {});

  // Returns: false for a notification, whose result nobody will see.
  [[nodiscard]] bool wanted() const { return wanted_; }

  // Decodes params into a reflected type, or answers: -32602 with `data {field, reason}`, -31008
  // when they need more memory than a call may use, -32603 when the machine has none.
  // Returns: false when it has answered.
  bool decode(const Call& call, const fields::TypeInfo& type, void* target, bool strict);

  // Encodes a value of a reflected type as the result.
  void encode(const fields::TypeInfo& type, const void* value);

 private:
  friend class rpc::Answerer;
  friend class rpc::LateCalls;
  friend class rpc::ReplyAccess;
  friend struct rpc::LateCall;
  Reply(JsonWriter& writer, bool wanted) : writer_(&writer), wanted_(wanted) {}

  [[gnu::cold, gnu::noinline]] void refuse_params(const json::DecodeError& error);

  JsonWriter* writer_;
  std::size_t start_ = 0;  // bytes of the writer before this reply's object
  std::size_t end_ = 0;    // behind the error object, when one stands there
  bool wanted_;
  bool touched_ = false;
  bool failed_ = false;       // an error object stands where the result was to be
  bool fits_ = true;          // and all of it is there
  bool over_memory_ = false;  // it says that the params need too much memory
  int code_ = 0;
};

}  // namespace ringrpc
