#pragma once

// One message that waits for what becomes of it: a call, a notification, a batch, or text.

#include <ringrpc/client.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client/document.h"
#include "engine/client/link.h"
#include "engine/client/retry.h"

namespace ringrpc::client {

struct Job;

// A connection and what is on it.
struct Wire {
  Wire(const Target& target, const ClientOptions& options) : link(target, options) {}

  // Requires: no job is on it.
  void close() {
    link.close();
    deadline_ns = UINT64_MAX;
    ready = spoke = false;
  }

  Link link;
  Job* job = nullptr;  // HTTP: whose response comes; none while it is idle, or the rest unwanted
  std::uint64_t deadline_ns = UINT64_MAX;  // of connecting, or of the rest of a response
  std::uint64_t idle_since_ns = 0;
  bool ready = false;  // it was opened, and is not over
  bool spoke = false;  // streams: a message of JSON-RPC has come
};

struct Job {
  enum class State : std::uint8_t {
    queued,   // wants a connection
    delayed,  // wants the time `due_ns`
    sent,     // on `wire`
    done,     // `exchange` is final, and waits to be delivered
  };

  // What is asked for.
  CallNumber number = 0;
  std::vector<Entry> entries;  // empty for a raw message
  RawMessage raw;
  CallOptions options;
  bool batch = false;
  Callback<void(Exchange&&)> then;
  std::uint64_t deadline_ns = UINT64_MAX;  // of all tries

  // The try that is on.
  State state = State::queued;
  Wire* wire = nullptr;
  std::uint64_t sent_end = 0;  // Link::given() behind its last byte
  std::string text;
  std::vector<std::string> ids;
  std::size_t answered = 0;  // of the ids
  bool any_reply = false;
  std::uint64_t due_ns = 0;
  std::uint64_t timer_ns = UINT64_MAX;  // under which it stands among the timers
  std::uint64_t try_begin_ns = 0;
  std::uint64_t try_deadline_ns = UINT64_MAX;
  Retries retries;
  Exchange exchange;

  [[nodiscard]] bool is_raw() const { return entries.empty() && !batch; }
  [[nodiscard]] bool wants_reply() const { return !ids.empty() || any_reply; }
  [[nodiscard]] bool is_answered() const { return answered == ids.size() && !any_reply; }
  // Returns: the next time at which something is due.
  [[nodiscard]] std::uint64_t next_ns() const;

  // Makes the text of the next try, with ids counted on from `next_id`.
  void make_text(std::uint64_t& next_id);
  // Takes an answer by its id. Returns: whether a call of that id had none.
  bool take_answer(std::string_view id, JsonAnswer&& answer);
  // Every call that has no answer yet gets this error.
  void take_error(const Error& error);
  // Every call that has no answer yet gets none.
  void close_batch();
  // What has no answer yet fails with this.
  void fail_rest(const Failure& failure);
  void note_first_byte(std::uint64_t now_ns);
  // Returns: the only answer's error; null when there is none or more than one call.
  [[nodiscard]] const Error* sole_error() const;
};

}  // namespace ringrpc::client
