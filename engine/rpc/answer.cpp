#include "engine/rpc/answer.h"

#include <ringrpc/limits.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/json/walk.h"
#include "engine/rpc/guard.h"
#include "engine/rpc/reply_text.h"

namespace ringrpc::rpc {
namespace {

// Returns: whether a valid message gets an answer.
bool is_answered(const Envelope& envelope, const EndpointOptions& rules) {
  return envelope.kind == EnvelopeKind::call ||
         (envelope.kind == EnvelopeKind::notification && rules.idless == Idless::answered);
}

bool allowed_id(const Envelope& envelope, IdRule rule) {
  return envelope.id.empty() || id_allowed(envelope.id, rule);
}

}  // namespace

Answerer::~Answerer() {
  if (scratch_memory_ != nullptr) munmap(scratch_memory_, scratch_size_);
}

std::size_t Answerer::memory(std::uint32_t message_size_max, std::uint32_t batch_length_max) {
  return Reader::memory(message_size_max, batch_length_max) + message_size_max;
}

base::Status Answerer::reserve(const Options& options) {
  RINGRPC_ASSERT(options.counters != nullptr);
  options_ = options;
  base::Status status = reader_.reserve(options.message_size_max, options.batch_length_max);
  if (!status.ok()) return status;
  scratch_size_ = options.message_size_max;
  void* memory = mmap(nullptr, scratch_size_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return base::Status::from_errno(errno, "no memory for decoding");
  scratch_memory_ = static_cast<char*>(memory);
  scratch_ = json::Scratch(scratch_memory_, scratch_size_);
  return {};
}

// Whatever is no single message: a batch begins, and what is refused as a whole is answered.
void Answerer::begin_other(Message& message, ReadResult result, JsonWriter& out) {
  message.count = 0;
  if (result.status == ReadStatus::batch && message.rules->batches) {
    options_.counters->add(base::Counter::batches);
    message.count = result.count;
    return;
  }
  message.status = ReadStatus::single;
  message.answered = true;
  if (result.status == ReadStatus::parse_error) {
    if (json::take_too_deep()) options_.counters->add(base::Counter::limit_depth);
    refuse(message, ErrorCode::parse_error, {}, out);
  } else if (!message.rules->batches) {
    refuse(message, ErrorCode::invalid_request, {}, out);
  } else {
    options_.counters->add(base::Counter::limit_batch_length);
    refuse(message, ErrorCode::batch_too_large, {}, out);
  }
}

void Answerer::answer(Message& message, const Envelope& envelope, const Method* method,
                      const Origin& origin, JsonWriter& out) {
  if (method != nullptr && runnable(message, envelope)) [[likely]] {
    run(message, envelope, *method, origin, out);
    return;
  }
  answer_refused(message, envelope, method, out);
}

// Returns: whether the envelope is one that a handler may see.
bool Answerer::runnable(const Message& message, const Envelope& envelope) {
  return (envelope.kind == EnvelopeKind::call || envelope.kind == EnvelopeKind::notification) &&
         !message.budget->spent && envelope.params != ParamsKind::other &&
         (envelope.params != ParamsKind::array || message.rules->positional_params) &&
         (message.rules->ids == IdRule::any || allowed_id(envelope, message.rules->ids));
}

// Answers what no handler sees, in the order of the checks: envelope, room, method, params.
void Answerer::answer_refused(Message& message, const Envelope& envelope, const Method* method,
                              JsonWriter& out) {
  const EndpointOptions& rules = *message.rules;
  const bool is_call = is_answered(envelope, rules);
  if (envelope.kind == EnvelopeKind::notification && !is_call) {
    options_.counters->add(base::Counter::notifications);
    if (method == nullptr) message.stats->count_unknown();
    return;
  }
  if (envelope.kind == EnvelopeKind::response && message.endpoint->two_way) {
    options_.counters->add(base::Counter::stray_responses);
    return;
  }
  separate(message, out);
  if (!is_call) {
    if (envelope.id_kind == IdKind::too_long) options_.counters->add(base::Counter::limit_id_size);
    const bool known = envelope.kind != EnvelopeKind::response && allowed_id(envelope, rules.ids);
    refuse(message, ErrorCode::invalid_request, known ? envelope.id : std::string_view(), out);
  } else if (!allowed_id(envelope, rules.ids)) {
    refuse(message, ErrorCode::invalid_request, {}, out);
  } else if (message.budget->spent) {
    refuse(message, ErrorCode::reply_too_large, envelope.id, out);
  } else if (method == nullptr) {
    message.stats->count_unknown();
    if (envelope.method_too_long) options_.counters->add(base::Counter::limit_method_size);
    refuse(message, ErrorCode::method_not_found, envelope.id, out);
  } else {
    refuse(message, ErrorCode::invalid_params, envelope.id, out,
           rules.positional_params ? "params must be an object or an array"
                                   : "params must be an object");
  }
}

void Answerer::separate_batch(Message& message, JsonWriter& out) {
  const std::string_view mark = message.answered ? "," : "[";
  const std::size_t before = out.size();
  out.bytes(mark);
  if (out.overflowed()) [[unlikely]] {
    // Not even a comma: what follows is an error, and for those there is room.
    message.budget->spent = true;
    out.rewind(before);
    out.bytes(mark);
  }
}

void Answerer::run(Message& message, const Envelope& envelope, const Method& method,
                   const Origin& origin, JsonWriter& out) {
  const bool wanted = is_answered(envelope, *message.rules);
  if (!wanted) options_.counters->add(base::Counter::notifications);
  if (method.kind != MethodKind::direct) [[unlikely]] {
    run_late(message, envelope, method, origin, out);
    return;
  }
  const std::size_t before = out.size();
  const bool answered_before = message.answered;
  separate(message, out);
  const std::size_t begin = out.size();
  out.bytes(result_begin);
  out.begin_value();

  const JsonValue params =
      envelope.params == ParamsKind::absent
          ? JsonValue()
          : JsonValue(reader_.index().text(), reader_.params_position(envelope));
  scratch_.reset();
  Call call(envelope.method, wanted ? envelope.id : std::string_view(), params, !wanted, origin,
            scratch_);
  Reply reply(out, wanted);
  reply.start_ = begin;
  message.stats->count_start(method.slot);
  const char* const thrown = guarded_invoke(method, call, reply);
  if (thrown != nullptr) [[unlikely]] {
    options_.counters->add(base::Counter::exceptions);
    exception_notice_.say("the handler of \"%s\" threw: %s", method.name.c_str(), thrown);
  }
  if (!wanted) {
    if (reply.over_memory_) options_.counters->add(base::Counter::limit_params_memory);
    out.rewind(before);
    message.answered = answered_before;
    return;
  }
  if (thrown != nullptr) [[unlikely]] {
    out.rewind(begin);
    refuse(message, ErrorCode::internal_error, envelope.id, out);
    return;
  }
  finish_result(message, envelope, reply, begin, out);
}

// Begins a call whose answer comes later. Nothing of it is written here.
[[gnu::noinline]] void Answerer::run_late(Message& message, const Envelope& envelope,
                                          const Method& method, const Origin& origin,
                                          JsonWriter& out) {
  const bool wanted = is_answered(envelope, *message.rules);
  message.stats->count_start(method.slot);
  if (method.kind == MethodKind::cancel) return cancel(message, envelope, out);
  base::Counter hit{};
  LateCall* const late =
      options_.late->open(envelope, method, origin, reader_.index(), *message.endpoint, wanted,
                          message.status == ReadStatus::batch, hit);
  if (late == nullptr) {
    if (!wanted) return;
    separate(message, out);
    refuse(message, ErrorCode::overloaded, envelope.id, out, base::counter_name(hit));
    return;
  }
  message.late = true;
  if (wanted) ++message.late_count;
  if (method.kind == MethodKind::blocking) {
    options_.late->submit(*late);
    return;
  }
  // The thunk makes the Deferred, so what it throws is answered by that.
  const CurrentFrames frames(options_.late->frames());
  const char* const thrown = guarded_invoke(method, late->call(), late->reply());
  if (thrown != nullptr) [[unlikely]] {
    options_.counters->add(base::Counter::exceptions);
    exception_notice_.say("the handler of \"%s\" threw: %s", method.name.c_str(), thrown);
  }
}

void Answerer::add_late(Message& message, LateCall& call, JsonWriter& out) {
  if (call.end != LateEnd::text) {
    return add_error(message, error_of(call.end), call.id(), out, call.limit_name());
  }
  separate(message, out);
  const std::size_t begin = out.size();
  out.bytes(call.text());
  const std::size_t bracket = message.status == ReadStatus::batch ? 1 : 0;
  const std::size_t size = out.size() - message.start + bracket;
  if (message.budget->spent || out.overflowed() || size > message.budget->size_max) {
    if (!message.budget->spent) options_.counters->add(base::Counter::limit_reply_size);
    message.budget->spent = true;
    out.rewind(begin);
    refuse(message, ErrorCode::reply_too_large, call.id(), out);
    return;
  }
  if (call.code != 0) note_error(message, call.code, true);
}

// rpc.cancel {"id": token}: the flag of every call in flight on this connection with that id.
void Answerer::cancel(Message& message, const Envelope& envelope, JsonWriter& out) {
  const JsonValue params =
      envelope.params == ParamsKind::absent
          ? JsonValue()
          : JsonValue(reader_.index().text(), reader_.params_position(envelope));
  const JsonValue id = envelope.params == ParamsKind::array ? params.at(0) : params.find("id");
  const bool valid = id.kind() == JsonValue::Kind::string || id.kind() == JsonValue::Kind::number ||
                     id.kind() == JsonValue::Kind::null;
  if (valid && options_.late->cancel(id.raw()) == 0) {
    options_.counters->add(base::Counter::cancels_unknown);
  }
  if (!is_answered(envelope, *message.rules)) return;
  separate(message, out);
  if (!valid) {
    refuse(message, ErrorCode::invalid_params, envelope.id, out, "id must be a string or a number");
    return;
  }
  out.bytes(result_begin);
  out.bytes("null");
  write_id(envelope.id, out);
}

// Ends what the handler has written, or puts an error in its place.
void Answerer::finish_result(Message& message, const Envelope& envelope, Reply& reply,
                             std::size_t begin, JsonWriter& out) {
  if (reply.over_memory_) [[unlikely]]
    options_.counters->add(base::Counter::limit_params_memory);
  const ReplyEnd end = ReplyAccess::end(reply, envelope.id, out);
  // A batch still needs its closing bracket.
  const std::size_t size =
      out.size() - message.start + (message.status == ReadStatus::batch ? 1 : 0);
  const bool too_large = size > message.budget->size_max && !message.budget->spent;
  if (end == ReplyEnd::whole && !too_large) [[likely]] {
    if (reply.failed_) note_error(message, reply.code_, true);
    return;
  }
  out.rewind(begin);
  if (end == ReplyEnd::overflowed || too_large) {
    message.budget->spent = true;
    options_.counters->add(base::Counter::limit_reply_size);
    refuse(message, ErrorCode::reply_too_large, envelope.id, out);
  } else {
    options_.counters->add(base::Counter::bad_results);
    result_notice_.say(
        "the handler of \"%.*s\" left a result that is no JSON: NaN or infinity, an unknown enum "
        "value, none or two values, or one that is not finished",
        static_cast<int>(envelope.method.size()), envelope.method.data());
    refuse(message, ErrorCode::internal_error, envelope.id, out);
  }
}

void Answerer::note_error(Message& message, std::int32_t code, bool from_method) {
  message.stats->count_error(error_index(code));
  if (message.status == ReadStatus::batch) return;
  message.outcome.error = code;
  message.outcome.from_method = from_method;
}

// Writes one error object, for which there is always room: one that crosses the limit is the last
// reply before the errors that stand for the rest. Requires: separate() was called for it.
void Answerer::refuse(Message& message, ErrorCode code, std::string_view id, JsonWriter& out,
                      std::string_view reason) {
  const std::size_t begin = out.size();
  const bool with_id = !id.empty() || message.rules->null_id_in_errors;
  write_error(code, id, with_id, out, reason);
  if (!message.budget->spent) [[likely]] {
    const std::size_t bracket = message.status == ReadStatus::batch ? 1 : 0;
    const std::size_t size = out.size() - message.start + bracket;
    if (out.overflowed() || size > message.budget->size_max) [[unlikely]] {
      message.budget->spent = true;
      options_.counters->add(base::Counter::limit_reply_size);
      out.rewind(begin);
      write_error(code, id, with_id, out, reason);
    }
  }
  note_error(message, static_cast<std::int32_t>(code), false);
}

void Answerer::end_other(Message& message, JsonWriter& out) {
  if (message.late_count != 0) return;  // Its end comes with the last of them.
  if (message.status == ReadStatus::batch && message.count != 0 && message.answered) {
    message.budget->spent = true;  // Nothing follows: the bracket may use what errors have.
    out.bytes("]");
  }
  set_status(message.outcome, *message.rules);
}

}  // namespace ringrpc::rpc
