#pragma once

// From a message's text to its reply's text: read, find, answer. Transports own the loop over the
// calls of a message, so that it can be read in one place (serve/worker.h).

#include <ringrpc/call.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/base/notice.h"
#include "engine/base/status.h"
#include "engine/json/index.h"
#include "engine/rpc/endpoint.h"
#include "engine/rpc/envelope.h"
#include "engine/rpc/errors.h"
#include "engine/rpc/late_calls.h"
#include "engine/rpc/outcome.h"
#include "engine/rpc/table.h"

namespace ringrpc::rpc {

// One message while it is answered.
struct Message {
  // Each member gets a store of its own: as an aggregate of this size, all of it would be cleared
  // first, with `rep stos`, which is slow to begin.
  Message(const ReadResult& result, std::size_t begin, Budget& room, const Endpoint& target)
      : status(result.status),
        count(result.count),
        start(begin),
        budget(&room),
        endpoint(&target),
        rules(target.options),
        stats(target.stats) {}

  ReadStatus status;
  std::uint32_t count;    // envelopes to answer; 0 when the message as a whole is refused
  std::size_t start;      // bytes of the writer before this message's reply
  bool answered = false;  // something has been written behind start (and the bracket)
  bool late = false;      // calls of it have begun that are answered later
  // Those of them that want an answer: the latest first, through
  // LateCall::next as far as late_count goes.
  std::uint32_t late_count = 0;
  Outcome outcome;
  Budget* budget;
  const Endpoint* endpoint;
  const EndpointOptions* rules;
  CallStats* stats;
};

// Owns:   the reader, the scratch memory of decoding, the checker of users' error data.
// Thread: one message at a time.  Cost: no allocation after reserve(), the user's handler aside.
class Answerer {
 public:
  struct Options {
    std::uint32_t message_size_max = 0;
    std::uint32_t batch_length_max = 0;
    base::Counters* counters = nullptr;  // outlives this object
    LateCalls* late = nullptr;           // likewise
  };

  Answerer() = default;
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;
  ~Answerer();

  // Cold; once. Fails: out of memory.
  base::Status reserve(const Options& options);

  // Reads and checks the whole text, and begins the reply. What is refused as a whole is answered
  // here; else each of `count` envelopes wants one answer(), then end().
  // Requires: size <= message_size_max; limits::padding readable bytes behind the text.
  Message read(std::string_view text, const Endpoint& endpoint, JsonWriter& out, Budget& budget) {
    const ReadResult result = reader_.read(text.data(), static_cast<std::uint32_t>(text.size()));
    Message message(result, out.size(), budget, endpoint);
    if (result.status != ReadStatus::single) [[unlikely]]
      begin_other(message, result, out);
    return message;
  }

  [[nodiscard]] const Envelope& envelope(std::uint32_t i) const { return reader_.envelope(i); }

  // Runs one call and writes its reply, or what stands for it. Nothing for a notification.
  void answer(Message& message, const Envelope& envelope, const Method* method,
              const Origin& origin, JsonWriter& out);

  // Writes the reply of one of the message's calls that were answered later.
  void add_late(Message& message, LateCall& call, JsonWriter& out);
  // Writes an error in its place.
  void add_error(Message& message, ErrorCode code, std::string_view id, JsonWriter& out,
                 std::string_view reason = {}) {
    separate(message, out);
    refuse(message, code, id, out, reason);
  }

  // Ends the reply. Returns: what the transport has to know. Lifetime: that of the message.
  const Outcome& end(Message& message, JsonWriter& out) {
    const bool usual =
        message.status == ReadStatus::single && message.answered && message.outcome.error == 0;
    message.outcome.has_body = message.answered;
    if (!usual) [[unlikely]]
      end_other(message, out);
    return message.outcome;
  }

  // Returns: bytes of address space of an Answerer, for the memory plan.
  static std::size_t memory(std::uint32_t message_size_max, std::uint32_t batch_length_max);

 private:
  [[gnu::noinline]] void end_other(Message& message, JsonWriter& out);
  [[gnu::noinline]] void begin_other(Message& message, ReadResult result, JsonWriter& out);
  [[nodiscard]] static bool runnable(const Message& message, const Envelope& envelope);
  void answer_refused(Message& message, const Envelope& envelope, const Method* method,
                      JsonWriter& out);
  void run(Message& message, const Envelope& envelope, const Method& method, const Origin& origin,
           JsonWriter& out);
  void run_late(Message& message, const Envelope& envelope, const Method& method,
                const Origin& origin, JsonWriter& out);
  void cancel(Message& message, const Envelope& envelope, JsonWriter& out);
  void finish_result(Message& message, const Envelope& envelope, Reply& reply, std::size_t begin,
                     JsonWriter& out);
  void refuse(Message& message, ErrorCode code, std::string_view id, JsonWriter& out,
              std::string_view reason = {});
  void note_error(Message& message, std::int32_t code, bool from_method);
  static void separate(Message& message, JsonWriter& out) {
    if (message.status == ReadStatus::batch) [[unlikely]]
      separate_batch(message, out);
    message.answered = true;
  }
  static void separate_batch(Message& message, JsonWriter& out);

  Reader reader_;
  json::Scratch scratch_;
  char* scratch_memory_ = nullptr;
  std::size_t scratch_size_ = 0;
  Options options_;
  base::Notice exception_notice_;
  base::Notice result_notice_;
};

}  // namespace ringrpc::rpc
