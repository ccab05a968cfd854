// What connections say: replies to their jobs, notifications to whom they concern.

#include <ringrpc/limits_client.h>

#include <algorithm>

#include "engine/client/loop.h"

namespace ringrpc::client {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

constexpr int ok_status = 200;

bool is_success(int status) { return status / 100 == 2; }

// An answer to one that is no call: nothing more of it matters.
bool is_acceptance(int status) { return status == 202 || status == 204; }

// Whether a call that was answered so may have run: these two say that it did not.
bool may_have_run(int status) { return status != 429 && status != 503; }

}  // namespace

void Loop::drain(Wire& wire, std::uint64_t now_ns) {
  while (true) {
    std::string_view text;
    switch (wire.link.take(text)) {
      case Link::Item::nothing:
        return;
      case Link::Item::opened:
        on_opened(wire, now_ns);
        break;
      case Link::Item::head:
        on_head(wire, now_ns);
        break;
      case Link::Item::message:
        if (target_.protocol == Protocol::http) {
          on_event(wire, text);
        } else {
          on_stream(wire, text, now_ns);
        }
        break;
      case Link::Item::body:
        on_body(wire, text);
        break;
      case Link::Item::reply_end:
        on_reply_end(wire, now_ns);
        break;
      case Link::Item::failed:
        on_failed(wire, now_ns);
        return;
    }
    if (wire.link.state() == Link::State::closed) return;
  }
}

void Loop::on_opened(Wire& wire, std::uint64_t now_ns) {
  wire.ready = true;
  wire.deadline_ns = UINT64_MAX;
  wire.idle_since_ns = now_ns;
  // A stream proves itself by its first message: a program that ends at once was connected, too.
  if (target_.protocol == Protocol::http) connect_failures_ = 0;
  reconnect_ns_ = 0;
  const bool again = stats_.connects++ > 0;
  if (target_.protocol == Protocol::http) return;
  deliveries_.push_back({.kind = Delivery::Kind::connected, .flag = again});
}

void Loop::on_failed(Wire& wire, std::uint64_t now_ns) {
  const bool was_open = wire.ready;
  Failure failure{.kind = wire.link.failure(), .sentence = wire.link.sentence()};
  if (target_.way == Target::Way::process && was_open && !wire.spoke) {
    failure.sentence += " and wrote no JSON-RPC";
  }
  const std::uint64_t taken = wire.link.taken();
  Job* const job = wire.job;
  if (!was_open) {
    wire.close();
    return on_unreachable(failure, now_ns);
  }
  std::vector<Job*> jobs;
  if (job != nullptr) jobs.push_back(job);
  if (target_.protocol != Protocol::http) {
    for (const CallNumber number : on_stream_) jobs.push_back(find(number));
    put_off_reconnect(now_ns);
  }
  if (!jobs.empty()) ++stats_.disconnects;
  wire.link.close();  // before the jobs leave it: there is nobody to tell that they stop
  for (Job* const lost : jobs) {
    failure.may_have_run = taken >= lost->sent_end;
    end_try(*lost, failure);
  }
  wire.close();
}

bool Loop::connected() const {
  return std::any_of(wires_.begin(), wires_.end(),
                     [](const std::unique_ptr<Wire>& wire) { return wire->ready; });
}

void Loop::put_off_reconnect(std::uint64_t now_ns) {
  ++connect_failures_;
  const double wait_ms = backoff_.wait_ms(options_, connect_failures_);
  reconnect_ns_ = now_ns + static_cast<std::uint64_t>(wait_ms * ns_per_ms);
}

void Loop::on_unreachable(const Failure& failure, std::uint64_t now_ns) {
  put_off_reconnect(now_ns);
  // As long as another connection works, what is queued waits for it.
  if (connected()) return;
  const std::deque<CallNumber> waiting = std::exchange(queue_, {});
  for (const CallNumber number : waiting) {
    Job* const job = find(number);
    if (job != nullptr && job->state == Job::State::queued) end_try(*job, failure);
  }
}

void Loop::leave(Wire& wire, std::uint64_t now_ns) {
  wire.deadline_ns = now_ns + limits::response_rest_timeout_ms * ns_per_ms;
}

void Loop::on_head(Wire& wire, std::uint64_t now_ns) {
  if (wire.job == nullptr) return;
  Job& job = *wire.job;
  const ResponseHead& head = wire.link.response().head();
  job.exchange.http_status = head.status;
  job.exchange.head = head.text;
  job.note_first_byte(now_ns);
  if (!job.wants_reply() && is_acceptance(head.status)) end_try(job, {});
}

void Loop::on_event(Wire& wire, std::string_view text) {
  if (wire.job == nullptr) return;
  Job& job = *wire.job;
  if (!document_.read(text)) {
    ++stats_.bad_messages;
    return;
  }
  const JsonValue root = document_.root();
  if (!document_.is_batch()) return on_event_message(job, Document::message(root), text);
  for (JsonValue::Entry entry = root.first(); entry; entry = entry.next()) {
    on_event_message(job, Document::message(entry.value()), text);
    if (wire.job == nullptr) return;
  }
}

void Loop::on_event_message(Job& job, const ServerMessage& message, std::string_view text) {
  switch (message.kind) {
    case ServerMessage::Kind::notification:
      return notify(job.number, message);
    case ServerMessage::Kind::response:
      if (!take_reply(job, message)) {
        ++stats_.unknown_replies;
        return;
      }
      job.exchange.body = text;
      if (job.is_answered()) end_try(job, {});
      return;
    case ServerMessage::Kind::request:
    case ServerMessage::Kind::invalid:
      ++stats_.bad_messages;
      return;
  }
}

void Loop::on_body(Wire& wire, std::string_view text) {
  if (wire.job == nullptr) return;
  Job& job = *wire.job;
  const int status = job.exchange.http_status;
  const std::string line(wire.link.response().head().status_line());
  job.exchange.body = text;
  if (job.is_raw()) return end_try(job, {});
  if (!job.wants_reply() && is_success(status)) return end_try(job, {});
  Failure failure{.kind = FailureKind::bad_reply,
                  .sentence = "the response holds no JSON-RPC reply: " + line,
                  .may_have_run = may_have_run(status)};
  if (status != ok_status) failure.kind = FailureKind::http_status;
  if (!text.empty() && document_.read(text)) take_body(job, failure);
  end_try(job, job.is_answered() && job.wants_reply() ? Failure() : failure);
}

// Requires: document_ holds the body. A sentence that says more replaces that of `failure`.
void Loop::take_body(Job& job, Failure& failure) {
  const JsonValue root = document_.root();
  const auto take = [&](JsonValue value) {
    const ServerMessage message = Document::message(value);
    if (message.kind != ServerMessage::Kind::response) {
      ++stats_.bad_messages;
    } else if (!take_reply(job, message)) {
      ++stats_.unknown_replies;
      if (message.error && message.idless()) {
        failure.sentence = message.answer().sentence();
      } else {
        failure.sentence = "the reply's id is " + std::string(message.id) + ", which is another's";
      }
    }
  };
  if (!document_.is_batch()) return take(root);
  for (JsonValue::Entry entry = root.first(); entry; entry = entry.next()) take(entry.value());
  if (job.batch && job.answered > 0 && !job.is_answered()) job.close_batch();
}

// Returns: whether the reply belongs to the job. An error without an id is meant for all of it.
bool Loop::take_reply(Job& job, const ServerMessage& message) {
  if (job.any_reply) {
    job.any_reply = false;
    return true;
  }
  if (job.take_answer(message.id, message.answer())) return true;
  if (!message.error || !message.idless() || job.ids.empty()) return false;
  job.take_error(read_error(message.error));
  return true;
}

void Loop::on_reply_end(Wire& wire, std::uint64_t now_ns) {
  const bool kept = wire.link.response().head().keep_alive;
  if (Job* const job = wire.job; job != nullptr) {
    end_try(*job, {.kind = FailureKind::disconnected,
                   .sentence = "the event stream ended without the answer",
                   .may_have_run = true});
  }
  wire.deadline_ns = UINT64_MAX;
  wire.idle_since_ns = now_ns;
  if (!kept) wire.close();
}

void Loop::on_stream(Wire& wire, std::string_view text, std::uint64_t now_ns) {
  if (!document_.read(text)) {
    ++stats_.bad_messages;
    return;
  }
  connect_failures_ = 0;
  const JsonValue root = document_.root();
  const bool batch = document_.is_batch();
  std::set<CallNumber> answered;
  const auto take = [&](JsonValue value) {
    const ServerMessage message = Document::message(value);
    if (message.kind != ServerMessage::Kind::invalid) wire.spoke = true;
    switch (message.kind) {
      case ServerMessage::Kind::notification:
        return notify(0, message);
      case ServerMessage::Kind::response:
        if (Job* const job = job_of(message); job != nullptr && take_reply(*job, message)) {
          job->note_first_byte(now_ns);
          job->exchange.body = text;
          answered.insert(job->number);
        } else {
          ++stats_.unknown_replies;
        }
        return;
      case ServerMessage::Kind::request:
        // A client has no methods, and says so, or the server would wait.
        wire.link.send(R"({"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},)"
                       R"("id":)" +
                           std::string(message.id) + "}",
                       false);
        return;
      case ServerMessage::Kind::invalid:
        ++stats_.bad_messages;
        return;
    }
  };
  if (batch) {
    for (JsonValue::Entry entry = root.first(); entry; entry = entry.next()) take(entry.value());
  } else {
    take(root);
  }
  for (const CallNumber number : answered) {
    Job* const job = find(number);
    // An array is the whole answer to a batch; a server may also answer its calls one by one.
    if (batch && job->batch && !job->is_answered()) job->close_batch();
    if (job->is_answered()) end_try(*job, {});
  }
}

// Returns: the job that a reply is meant for; null when nobody can tell.
Job* Loop::job_of(const ServerMessage& reply) const {
  if (const auto found = by_id_.find(std::string(reply.id)); found != by_id_.end()) {
    return found->second;
  }
  Job* sole = nullptr;
  Job* batch = nullptr;
  bool many_batches = false;
  for (const CallNumber number : on_stream_) {
    Job* const job = find(number);
    if (job->any_reply) return job;
    if (job->batch) {
      many_batches = batch != nullptr;
      batch = job;
    }
    sole = job;
  }
  if (!reply.error || !reply.idless()) return nullptr;
  // The only one it can be; else the only batch: well-formed calls get their id back.
  if (on_stream_.size() == 1) return sole;
  return many_batches ? nullptr : batch;
}

void Loop::notify(CallNumber number, const ServerMessage& message) {
  ++stats_.notifications;
  const std::string_view params = message.params.raw();
  Delivery& added = deliveries_.emplace_back();
  added.kind = Delivery::Kind::event;
  added.number = number;
  added.method = message.method;
  added.text = message.text;
  added.params_size = params.size();
  if (!params.empty()) {
    added.params_at = static_cast<std::size_t>(params.data() - message.text.data());
  }
}

}  // namespace ringrpc::client
