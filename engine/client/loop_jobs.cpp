// Jobs on their way: queued, sent, tried again, done.

#include <algorithm>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/client/loop.h"
#include "engine/client/message.h"

namespace ringrpc::client {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

bool is_line_end(char c) { return c == '\r' || c == '\n'; }

double ms_between(std::uint64_t begin_ns, std::uint64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) / static_cast<double>(ns_per_ms);
}

std::uint64_t deadline(std::uint64_t now_ns, std::uint32_t timeout_ms) {
  return timeout_ms == 0 ? UINT64_MAX : now_ns + timeout_ms * ns_per_ms;
}

// The code and the wait that the only reply of a raw message names.
void read_raw_reply(Document& document, std::string_view body, TryEnd& end) {
  if (body.empty() || !document.read(body)) return;
  const ServerMessage message = Document::message(document.root());
  if (message.kind != ServerMessage::Kind::response || !message.error) return;
  const Error error = read_error(message.error);
  end.code = error.code;
  end.data_wait_ms = retry_after_ms(error);
}

}  // namespace

CallNumber Loop::start(std::unique_ptr<Job> job) {
  const CallNumber number = next_number_++;
  const std::uint64_t now_ns = base::monotonic_ns();
  Job& added = *job;
  added.number = number;
  if (added.options.timeout_ms == inherited) added.options.timeout_ms = options_.timeout_ms;
  if (added.options.retries == inherited) added.options.retries = options_.retries;
  added.retries.start(added.options.retries, added.options.idempotent);
  added.deadline_ns = deadline(now_ns, added.options.timeout_ms);
  Failure failure;
  if (jobs_.size() >= options_.calls_max) {
    failure = {.kind = FailureKind::too_large, .sentence = "calls_max calls are in flight"};
  } else if (!error_.empty()) {
    failure = {.kind = FailureKind::not_sent, .sentence = error_};
  } else if (!added.is_raw()) {
    std::string reason = check_entries(added.entries);
    if (!reason.empty()) {
      failure = {.kind = FailureKind::not_sent, .sentence = std::move(reason)};
    }
  }
  jobs_.emplace(number, std::move(job));
  if (failure) {
    const auto calls = std::count_if(added.entries.begin(), added.entries.end(),
                                     [](const Entry& entry) { return !entry.notification; });
    added.exchange.answers.resize(static_cast<std::size_t>(calls));
    finish(added, std::move(failure));
  } else {
    queue(added, now_ns);
  }
  return number;
}

void Loop::queue(Job& job, std::uint64_t now_ns) {
  job.state = Job::State::queued;
  job.try_begin_ns = now_ns;
  job.try_deadline_ns = deadline(now_ns, options_.try_timeout_ms);
  const unsigned tries = job.exchange.tries;
  job.exchange = Exchange{.tries = tries + 1};
  job.make_text(next_id_);
  set_timer(job);
  if (job.text.size() > options_.message_size_max) {
    return finish(job, {.kind = FailureKind::too_large,
                        .sentence = "the message is larger than message_size_max"});
  }
  queue_.push_back(job.number);
}

void Loop::set_timer(Job& job) {
  if (job.timer_ns != UINT64_MAX) timers_.erase({job.timer_ns, job.number});
  job.timer_ns = job.next_ns();
  if (job.timer_ns != UINT64_MAX) timers_.emplace(job.timer_ns, job.number);
}

Wire* Loop::idle_wire(std::uint64_t now_ns) {
  Wire* found = nullptr;
  for (const std::unique_ptr<Wire>& wire : wires_) {
    if (target_.protocol != Protocol::http) {
      return wire->link.state() == Link::State::open && wire->ready ? wire.get() : nullptr;
    }
    if (!wire->ready || !wire->link.is_idle()) continue;
    if (wire->link.is_stale() || now_ns - wire->idle_since_ns > options_.idle_max_ms * ns_per_ms) {
      wire->close();
    } else if (found == nullptr || wire->idle_since_ns > found->idle_since_ns) {
      found = wire.get();  // The one used last is the one that the server closes last.
    }
  }
  return found;
}

void Loop::dispatch(std::uint64_t now_ns) {
  std::size_t waiting = 0;
  while (!queue_.empty()) {
    Job* const job = find(queue_.front());
    if (job == nullptr || job->state != Job::State::queued) {
      queue_.pop_front();
      continue;
    }
    Wire* const wire = idle_wire(now_ns);
    if (wire == nullptr) {
      waiting = queue_.size();
      break;
    }
    queue_.pop_front();
    send(*job, *wire, now_ns);
  }
  if (waiting > 0) open_wires(waiting, now_ns);
}

void Loop::open_wires(std::size_t wanted, std::uint64_t now_ns) {
  std::size_t working = 0;
  for (const std::unique_ptr<Wire>& wire : wires_) {
    if (wire->link.state() == Link::State::closed) continue;
    if (wire->link.state() == Link::State::connecting || !wire->ready) {
      if (--wanted == 0) return;
    } else {
      ++working;
    }
  }
  // While others work, a server that takes no more connections is not asked all the time.
  if (working > 0 && now_ns < reconnect_ns_) return;
  for (const std::unique_ptr<Wire>& wire : wires_) {
    if (wire->link.state() != Link::State::closed) continue;
    open(*wire, now_ns);
    if (--wanted == 0) return;
  }
  while (wanted > 0 && wires_.size() < options_.connections_max) {
    open(*wires_.emplace_back(std::make_unique<Wire>(target_, options_)), now_ns);
    --wanted;
  }
}

void Loop::open(Wire& wire, std::uint64_t now_ns) {
  wire.deadline_ns = deadline(now_ns, options_.connect_timeout_ms);
  wire.link.open();
}

void Loop::send(Job& job, Wire& wire, std::uint64_t now_ns) {
  const bool http = target_.protocol == Protocol::http;
  if (!http) {
    for (const std::string& id : job.ids) {
      if (by_id_.contains(id)) {
        return finish(job, {.kind = FailureKind::not_sent,
                            .sentence = "a call with the id " + id + " is in flight"});
      }
    }
    for (const std::string& id : job.ids) by_id_.emplace(id, &job);
    // A line end would end the message.
    if (job.is_raw()) std::replace_if(job.text.begin(), job.text.end(), is_line_end, ' ');
  }
  job.exchange.timing.connected = ms_between(job.try_begin_ns, now_ns);
  const bool events = static_cast<bool>(job.options.on_event) || static_cast<bool>(notification_);
  wire.link.send(job.text, events);
  ++stats_.sent;
  job.state = Job::State::sent;
  job.wire = &wire;
  job.sent_end = wire.link.given();
  set_timer(job);
  if (http) {
    wire.job = &job;
    return;
  }
  on_stream_.insert(job.number);
  if (job.options.on_event) listeners_.insert(job.number);
  if (!job.wants_reply()) unanswered_.push_back(job.number);
}

// Nothing answers notifications: they are done when the kernel has them.
void Loop::end_unanswered() {
  const std::vector<CallNumber> numbers = std::exchange(unanswered_, {});
  for (const CallNumber number : numbers) {
    Job* const job = find(number);
    if (job == nullptr || job->state != Job::State::sent) continue;
    if (job->wire->link.taken() < job->sent_end) {
      unanswered_.push_back(number);
    } else {
      end_try(*job, {});
    }
  }
}

void Loop::detach(Job& job, bool stop, std::uint64_t now_ns) {
  Wire* const wire = std::exchange(job.wire, nullptr);
  if (wire == nullptr) return;
  if (target_.protocol == Protocol::http) {
    RINGRPC_ASSERT(wire->job == &job);
    wire->job = nullptr;
    if (stop) {
      wire->link.reset();
      wire->close();
    } else if (!wire->link.is_idle()) {
      leave(*wire, now_ns);
    }
    return;
  }
  for (const std::string& id : job.ids) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end() || found->second != &job) continue;
    by_id_.erase(found);
    if (stop && wire->link.state() == Link::State::open) {
      wire->link.send(cancel_text(id), false);
    }
  }
  on_stream_.erase(job.number);
}

bool Loop::cancel(CallNumber number) {
  Job* const job = find(number);
  if (job == nullptr || job->state == Job::State::done) return false;
  const bool sent = job->state == Job::State::sent;
  detach(*job, true, base::monotonic_ns());
  finish(
      *job,
      {.kind = FailureKind::cancelled, .sentence = "the call was cancelled", .may_have_run = sent});
  return true;
}

void Loop::abandon(CallNumber number) {
  Job* const job = find(number);
  if (job == nullptr) return;
  job->then = {};
  job->options.on_event = {};
  job->options.on_retry = {};
  (void)cancel(number);
}

void Loop::end_try(Job& job, Failure failure) {
  RINGRPC_ASSERT(job.state == Job::State::sent || job.state == Job::State::queued);
  const std::uint64_t now_ns = base::monotonic_ns();
  detach(job, false, now_ns);
  Exchange& exchange = job.exchange;
  exchange.timing.total = ms_between(job.try_begin_ns, now_ns);
  TryEnd end{.failure = failure.kind,
             .may_have_run = failure.may_have_run,
             .http_status = exchange.http_status};
  const ResponseHead head{.text = exchange.head};
  end.retry_after = head.field("Retry-After");
  if (const Error* const error = job.sole_error(); error != nullptr) {
    end.code = error->code;
    end.data_wait_ms = retry_after_ms(*error);
  } else if (job.is_raw()) {
    read_raw_reply(document_, exchange.body, end);
  }
  // Of a batch in which something has run, nothing is sent again.
  const bool ran = std::any_of(exchange.answers.begin(), exchange.answers.end(),
                               [](const JsonAnswer& answer) { return answer.ok(); });
  if (ran) return finish(job, std::move(failure));
  const Retries::Verdict verdict = job.retries.judge(end, options_, backoff_);
  const std::uint64_t due_ns =
      now_ns + static_cast<std::uint64_t>(job.retries.wait_ms() * ns_per_ms);
  if (verdict == Retries::Verdict::again && due_ns >= job.deadline_ns) {
    // There is no time for it: better this answer than none.
    return finish(job, std::move(failure));
  }
  if (verdict != Retries::Verdict::stands) {
    deliveries_.push_back({.kind = Delivery::Kind::retry,
                           .number = job.number,
                           .wait_ms = job.retries.wait_ms(),
                           .code = end.code,
                           .flag = verdict == Retries::Verdict::given_up});
  }
  if (verdict != Retries::Verdict::again) return finish(job, std::move(failure));
  exchange.failure = std::move(failure);
  ++stats_.retries;
  job.state = Job::State::delayed;
  job.due_ns = due_ns;
  set_timer(job);
}

void Loop::finish(Job& job, Failure failure) {
  RINGRPC_ASSERT(job.state != Job::State::done && job.wire == nullptr);
  job.state = Job::State::done;
  set_timer(job);
  if (failure) job.fail_rest(failure);
  for (const JsonAnswer& answer : job.exchange.answers) {
    ++(answer.failed() ? stats_.failed : stats_.answered);
  }
  job.exchange.failure = std::move(failure);
  deliveries_.push_back({.kind = Delivery::Kind::finished, .number = job.number});
}

}  // namespace ringrpc::client
