// The phases of a run: warm-up, measured time, and what comes after it.

#include "engine/base/clock.h"
#include "tools/ringload/runner.h"

namespace ringload {

// Called when the time of a phase has passed.
void Runner::advance() {
  if (phase_ == Phase::warming) {
    begin_window();
    if (plan_.options.timed) next_edge_ = window_begin_ + nanoseconds(plan_.options.seconds);
    if (plan_.options.open_loop) next_edge_ = schedule_end_;
  } else if (phase_ == Phase::measuring) {
    end_window();
    phase_ = Phase::draining;
    if (!plan_.options.open_loop) refill_ = Refill::none;
    next_edge_ = now_ + nanoseconds(plan_.options.timeout);
  } else {
    finish();
  }
}

// Returns: how many connections and requests came to a bad end.
std::uint64_t Runner::ended_badly() const {
  return outcome_.unconnected + outcome_.closed + outcome_.reset + outcome_.timeouts +
         outcome_.malformed + outcome_.lost;
}

void Runner::take_outside() {
  outcome_.outside.replies += reader_.counts().replies;
  outcome_.outside.errors += reader_.counts().errors();
  reader_.restart();
}

// The warm-up is over: what it came to stands apart from here on.
void Runner::begin_window() {
  phase_ = Phase::measuring;
  next_edge_ = never;
  if (plan_.options.warmup != 0) {  // Else the window has just been opened.
    take_outside();
    outcome_.outside.errors += ended_badly();
    outcome_.unconnected = outcome_.closed = outcome_.reset = outcome_.timeouts = 0;
    outcome_.malformed = outcome_.lost = 0;
    open_window();
  }
  if (!plan_.options.open_loop || plan_.options.requests != 0) return;
  record_begin_ = origin_ + nanoseconds(plan_.options.warmup);
  record_span_ = nanoseconds(plan_.options.seconds);
}

void Runner::open_window() {
  outcome_.latency.clear();
  running_ = Window{};
  running_.enters = ring_.enters();
  if (index_ == 0 && plan_.options.server_pid != 0) {
    running_.server = process_cpu_time(plan_.options.server_pid);
  }
  running_.own = thread_cpu_time();
  window_begin_ = now_ = ringrpc::base::monotonic_ns();
  record_begin_ = 0;
  record_span_ = never;
}

void Runner::end_window() {
  if (phase_ != Phase::warming && phase_ != Phase::measuring) return;
  outcome_.window = running_;
  outcome_.replies = reader_.counts();
  outcome_.kinds = reader_.kinds();
  reader_.restart();
  // What an open loop has made counts until it is answered, so that nothing slow gets lost.
  if (!plan_.options.open_loop) record_span_ = 0;
  outcome_.window.ns = now_ - window_begin_;
  outcome_.window.enters = ring_.enters() - running_.enters;
  outcome_.window.own = thread_cpu_time() - running_.own;
  if (running_.server.known) {
    outcome_.window.server = process_cpu_time(plan_.options.server_pid) - running_.server;
  }
}

void Runner::finish() {
  if (phase_ == Phase::over) return;
  end_window();
  take_outside();
  outcome_.unsent += overdue();
  outcome_.window.late = running_.late;  // also what left after the window's end
  outcome_.window.late_blocked = running_.late_blocked;
  outcome_.window.late_max_ns = running_.late_max_ns;
  outcome_.lost += unanswered_;
  unanswered_ = 0;
  phase_ = Phase::over;
}

}  // namespace ringload
