// The open loop: requests are made when they are due, whatever the server does.

#include <sys/prctl.h>

#include <algorithm>
#include <bit>

#include "engine/base/clock.h"
#include "tools/ringload/runner.h"

namespace ringload {

void Runner::start_open() {
  const Options& options = plan_.options;
  prctl(PR_SET_TIMERSLACK, 1UL);  // Sleep no longer than was asked for; 50 us more are usual.
  free_.resize(std::bit_ceil(connections_.size()));
  origin_ = now_;
  schedule_end_ = never;
  if (options.timed) schedule_end_ = origin_ + nanoseconds(options.warmup + options.seconds);
  if (options.requests != 0) {  // Request i of all belongs to thread i % threads.
    requests_left_ = (options.requests - index_ + options.threads - 1) / options.threads;
  }
  schedule_next();
}

void Runner::schedule_next() {
  const Options& options = plan_.options;
  const std::uint64_t ns = due_ns(options.rate, scheduled_ * options.threads + index_);
  next_due_ = never;
  if (requests_left_ == 0 || ns >= schedule_end_ - origin_) return;
  next_due_ = origin_ + ns;
}

void Runner::sleep() {
  const bool can_send = free_first_ != free_end_;
  if (!can_send && !plan_.options.spin) return ring_.wait();
  const std::uint64_t until = can_send ? next_due_ : never;
  if (!plan_.options.spin) {
    const std::uint64_t now = ringrpc::base::monotonic_ns();
    return ring_.wait_for(until > now ? std::min(until - now, std::uint64_t{1'000'000'000}) : 0);
  }
  do {
    ring_.wait_for(0);
  } while (!ring_.has_completions() && ringrpc::base::monotonic_ns() < until);
}

// Makes what is due, as far as connections are free.
void Runner::pump() {
  if (phase_ == Phase::over) return;
  while (next_due_ <= now_ && free_first_ != free_end_) {
    const std::uint32_t slot = free_[free_first_++ & (free_.size() - 1)];
    Connection& connection = connections_[slot];
    connection.free = false;
    if (connection.over) continue;
    if (unanswered_ == 0) last_reply_ = now_;  // The silence begins here.
    const std::uint64_t lateness = now_ - next_due_;
    if (next_due_ - record_begin_ < record_span_) {
      running_.late_max_ns = std::max(running_.late_max_ns, lateness);
      if (lateness > late_after_ns) {
        ++running_.late;
        if (blocked_) ++running_.late_blocked;
      }
    }
    if (connection.life_left != 0) --connection.life_left;
    make_requests(slot, connection, 1, next_due_);
    mark_free(slot, connection);
    ++scheduled_;
    schedule_next();
  }
  blocked_ = next_due_ <= now_;
  if (unanswered_ == 0) settled_all();
}

// Returns: how many requests are due and were not made.
std::uint64_t Runner::overdue() const {
  if (!plan_.options.open_loop || next_due_ > now_) return 0;
  const Options& options = plan_.options;
  std::uint64_t count = 0;
  const std::uint64_t end = std::min(now_, schedule_end_) - origin_;
  while (count < requests_left_ &&
         due_ns(options.rate, (scheduled_ + count) * options.threads + index_) < end) {
    ++count;
  }
  return count;
}

void Runner::mark_free(std::uint32_t slot, Connection& connection) {
  const bool dying = plan_.options.churn != 0 && connection.life_left == 0;
  if (connection.free || connection.over || dying) return;
  if (connection.unanswered >= plan_.options.depth) return;
  connection.free = true;
  free_[free_end_++ & (free_.size() - 1)] = slot;
}

}  // namespace ringload
