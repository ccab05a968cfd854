// The turn of the client's loop: what is due, what poll(2) says, and the callbacks.

#include "engine/client/loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/client/http_request.h"

namespace ringrpc::client {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

// Whatever the options say: positions in a message's index are 32 bits wide.
constexpr std::size_t reply_size_most = (std::size_t{1} << 31) - 1;

Failure timed_out(const Job& job) {
  const bool sent = job.state == Job::State::sent;
  return {.kind = FailureKind::timed_out,
          .sentence =
              sent ? "timed out while waiting for the answer" : "timed out before it could be sent",
          .may_have_run = sent || job.exchange.failure.may_have_run};
}

}  // namespace

Loop::Loop(std::string_view url, ClientOptions options) : options_(std::move(options)) {
  error_ = read_url(url, target_);
  if (error_.empty()) error_ = check_fields(options_.headers);
  options_.reply_size_max = std::min(options_.reply_size_max, reply_size_most);
  options_.connections_max = std::max(options_.connections_max, std::uint32_t{1});
  if (target_.protocol != Protocol::http) options_.connections_max = 1;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0 && error_.empty()) error_ = "no descriptor is left for the client";
}

Loop::~Loop() {
  wires_.clear();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

Job* Loop::find(CallNumber number) const {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : found->second.get();
}

void Loop::interrupt() const { eventfd_write(wake_fd_, 1); }

void Loop::turn(int timeout_ms) {
  RINGRPC_ASSERT(!in_callback_);
  std::uint64_t now_ns = base::monotonic_ns();
  fire_timers(now_ns);
  stay_connected(now_ns);
  if (!queue_.empty() && has_rests()) {
    // The rest of a response may be here already: better than another connection.
    wait(now_ns, 0);
    drain_all(now_ns);
  }
  dispatch(now_ns);
  end_unanswered();
  wait(now_ns, timeout_ms);
  now_ns = base::monotonic_ns();
  drain_all(now_ns);
  dispatch(now_ns);
  end_unanswered();
  deliver();
}

// What is drained may be closed, but wires are only added, in dispatch().
void Loop::drain_all(std::uint64_t now_ns) {
  for (const std::unique_ptr<Wire>& wire : wires_) drain(*wire, now_ns);
}

// Returns: whether the rest of a response comes somewhere whose answer was the whole of it.
bool Loop::has_rests() const {
  return std::any_of(wires_.begin(), wires_.end(), [](const std::unique_ptr<Wire>& wire) {
    return wire->ready && wire->job == nullptr && wire->deadline_ns != UINT64_MAX;
  });
}

void Loop::fire_timers(std::uint64_t now_ns) {
  while (!timers_.empty() && timers_.begin()->first <= now_ns) {
    Job* const job = find(timers_.begin()->second);
    RINGRPC_ASSERT(job != nullptr);
    on_due(*job, now_ns);
  }
  for (const std::unique_ptr<Wire>& wire : wires_) {
    if (wire->deadline_ns > now_ns) continue;
    const bool was_open = wire->ready;
    wire->close();
    if (was_open) continue;
    on_unreachable({.kind = FailureKind::unreachable,
                    .sentence = "cannot connect to " + target_.name() + ": timed out"},
                   now_ns);
  }
}

void Loop::on_due(Job& job, std::uint64_t now_ns) {
  if (job.state == Job::State::delayed && job.deadline_ns > now_ns) {
    queue(job, now_ns);
    return;
  }
  Failure failure = timed_out(job);
  detach(job, true, now_ns);
  // No further try: what it waited for took longer than the caller does.
  finish(job, std::move(failure));
}

void Loop::stay_connected(std::uint64_t now_ns) {
  if (!options_.stay_connected || target_.protocol == Protocol::http || !error_.empty()) return;
  if (now_ns >= reconnect_ns_) open_wires(1, now_ns);
}

std::uint64_t Loop::next_due_ns() const {
  std::uint64_t next_ns = timers_.empty() ? UINT64_MAX : timers_.begin()->first;
  bool connected = false;
  for (const std::unique_ptr<Wire>& wire : wires_) {
    next_ns = std::min(next_ns, wire->deadline_ns);
    connected = connected || wire->link.state() != Link::State::closed;
  }
  if (options_.stay_connected && !connected && target_.protocol != Protocol::http) {
    next_ns = std::min(next_ns, reconnect_ns_);
  }
  return next_ns;
}

void Loop::wait(std::uint64_t now_ns, int timeout_ms) {
  constexpr std::uint64_t longest_ms = 1'000'000;
  std::uint64_t wait_ms = timeout_ms < 0 ? longest_ms : static_cast<std::uint64_t>(timeout_ms);
  const std::uint64_t due_ns = next_due_ns();
  if (due_ns != UINT64_MAX) {
    const std::uint64_t left_ns = due_ns - std::min(due_ns, now_ns);
    wait_ms = std::min(wait_ms, (left_ns + ns_per_ms - 1) / ns_per_ms);
  }
  if (!deliveries_.empty() || interrupted_) wait_ms = 0;
  std::vector<pollfd> items = {{.fd = wake_fd_, .events = POLLIN, .revents = 0}};
  for (const std::unique_ptr<Wire>& wire : wires_) {
    // A negative descriptor, of a closed one, is passed over.
    items.push_back({.fd = wire->link.fd(), .events = wire->link.events(), .revents = 0});
    if (wire->link.has_news()) wait_ms = 0;
  }
  // Interrupted by a signal it has nothing to say, and that is fine.
  if (poll(items.data(), items.size(), static_cast<int>(std::min(wait_ms, longest_ms))) <= 0)
    return;
  eventfd_t woken = 0;
  if (items[0].revents != 0 && eventfd_read(wake_fd_, &woken) == 0) interrupted_ = true;
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const short events = items[i + 1].revents;
    if (events != 0) wires_[i]->link.on_ready(events);
  }
}

void Loop::deliver() {
  in_callback_ = true;
  // What callbacks add is for the next turn, so that they cannot keep this one for ever.
  for (std::size_t left = deliveries_.size(); left > 0; --left) {
    Delivery delivery = std::move(deliveries_.front());
    deliveries_.pop_front();
    deliver(delivery);
  }
  in_callback_ = false;
}

void Loop::deliver(Delivery& delivery) {
  if (delivery.kind == Delivery::Kind::event) return deliver_event(delivery);
  if (delivery.kind == Delivery::Kind::connected) {
    if (connected_) connected_(delivery.flag);
    return;
  }
  Job* const job = find(delivery.number);
  if (job == nullptr) return;
  if (delivery.kind == Delivery::Kind::retry) {
    if (!job->options.on_retry) return;
    Retry retry{.exchange = job->exchange,
                .code = delivery.code,
                .number = job->retries.done(),
                .most = job->retries.most(),
                .wait_s = delivery.wait_ms / 1000,
                .given_up = delivery.flag,
                .message = job->is_raw() ? &job->raw : nullptr};
    job->options.on_retry(retry);
    return;
  }
  // It is gone before its callback runs: a callback may start the next one in its place.
  const std::unique_ptr<Job> finished = std::move(jobs_.find(delivery.number)->second);
  jobs_.erase(delivery.number);
  listeners_.erase(delivery.number);
  if (finished->then) finished->then(std::move(finished->exchange));
}

void Loop::deliver_event(const Delivery& delivery) {
  const Notification notification{
      .method = delivery.method,
      .params = std::string_view(delivery.text).substr(delivery.params_at, delivery.params_size),
      .text = delivery.text};
  if (delivery.number != 0) {
    const Job* const job = find(delivery.number);
    if (job != nullptr && job->options.on_event && job->options.on_event(notification)) return;
  } else {
    // Callbacks may start and end jobs: each step looks for the next one anew.
    for (auto at = listeners_.begin(); at != listeners_.end();) {
      const CallNumber number = *at;
      const Job* const job = find(number);
      if (job != nullptr && job->options.on_event && job->options.on_event(notification)) return;
      at = listeners_.upper_bound(number);
    }
  }
  if (notification_) return notification_(notification);
  ++stats_.unclaimed;
}

}  // namespace ringrpc::client
