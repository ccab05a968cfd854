#include "tools/ringload/runner.h"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "engine/base/assert.h"
#include "engine/base/clock.h"

namespace ringload {

namespace {

// Returns: the part of `total` that thread `index` of `threads` takes; the parts add up.
std::uint64_t share(std::uint64_t total, std::uint32_t index, std::uint32_t threads) {
  return total * (index + 1) / threads - total * index / threads;
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(cpu), &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
}

}  // namespace

Runner::Runner(Plan& plan, std::uint32_t index) : plan_(plan), index_(index) {}

void Runner::run() {
  if (!prepare()) plan_.failed = true;
  plan_.ready.arrive_and_wait();
  if (!plan_.failed) {
    start_load();
    while (phase_ != Phase::over) turn();
    outcome_.kinds.first = reader_.kinds().first;
  }
  ring_.stop();
}

bool Runner::prepare() {
  const Options& options = plan_.options;
  if (options.pin >= 0) pin(options.pin + static_cast<int>(index_));
  const auto count =
      static_cast<std::uint32_t>(share(options.connections, index_, options.threads));
  first_ =
      static_cast<std::uint32_t>(std::uint64_t{options.connections} * index_ / options.threads);
  batches_each_ = std::bit_ceil(options.depth);
  connections_.resize(count);
  batches_.resize(std::size_t{count} * batches_each_);
  due_.reserve(count);
  live_ = count;
  outcome_.connects = count;
  tracked_ = options.tracked();
  if (options.url.lines) reader_.expect_lines();
  if (options.url.websocket) reader_.expect_frames();
  if (tracked_) reader_.follow(plan_.tape, options.check_every);
  matched_ = tracked_ && options.url.two_way();
  if (matched_) in_flight_.resize(count);
  if (options.open_loop || options.churn != 0) refill_ = Refill::slow;
  return ring_.start(outcome_.error) &&
         open_connections(ring_, plan_.target, first_, count, options.connections,
                          nanoseconds(options.timeout), nanoseconds(options.spread),
                          outcome_.error);
}

void Runner::start_load() {
  const Options& options = plan_.options;
  now_ = last_reply_ = ringrpc::base::monotonic_ns();
  requests_left_ = never;
  if (options.requests != 0) requests_left_ = share(options.requests, index_, options.threads);
  open_window();
  if (options.open_loop) start_open();
  next_edge_ = now_ + nanoseconds(options.warmup);
  if (options.warmup == 0) advance();
  for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) {
    Connection& connection = connections_[slot];
    connection.life_left = options.churn;
    connection.special = tracked_;
    connection.next_sent = connection.next_reply = static_cast<std::uint32_t>(
        tracked_ ? std::uint64_t{plan_.tape.size()} * (first_ + slot) / options.connections : 0);
    ring_.receive(slot);
    if (refill_ == Refill::slow) {
      refill(slot, connection);
    } else {
      make_requests(slot, connection, options.depth, now_);
    }
  }
  if (options.open_loop) pump();
  flush();
}

void Runner::turn() {
  if (plan_.options.open_loop) [[unlikely]] {
    sleep();
  } else if (plan_.options.spin) {
    ring_.spin();
  } else {
    ring_.wait();
  }
  now_ = ringrpc::base::monotonic_ns();
  ring_.drain([this](const Completion& completion) { take(completion); });
  if (now_ >= next_edge_) [[unlikely]]
    advance();
  if (plan_.options.open_loop) [[unlikely]]
    pump();
  flush();
}

void Runner::take(const Completion& completion) {
  switch (completion.kind) {
    case Kind::receive:
      return received(completion.slot, completion);
    case Kind::send:
      return sent(completion.slot, completion.result);
    case Kind::tick:
      return tick();
    case Kind::connect:
      return connected(completion.slot, completion.result);
    case Kind::shut:
      return;
  }
}

void Runner::received(std::uint32_t slot, const Completion& completion) {
  Connection& connection = connections_[slot];
  if (completion.result > 0) [[likely]] {
    const auto size = static_cast<std::size_t>(completion.result);
    running_.bytes_in += size;
    ++running_.receives;
    const char* const data = ring_.buffer(completion.buffer);
    ReplyReader::Fed fed;
    if (!connection.special) [[likely]] {
      fed = reader_.feed(connection.partial, data, size);
    } else if (matched_ && !connection.over) {
      fed = reader_.feed_matched(connection.partial, in_flight_[slot], data, size, times_);
    } else if (!connection.over) {
      fed = reader_.feed_tracked(connection.partial, connection.next_reply, data, size);
    }
    ring_.give(completion.buffer);
    if (fed.replies > connection.unanswered) {  // More than was asked for.
      fed.replies = connection.unanswered;
      fed.bad = true;
    }
    if (fed.replies != 0) settle(slot, connection, fed.replies);
    if (fed.pinged && !connection.over) [[unlikely]]
      answer_ping(slot, connection);
    if (fed.closed && !connection.over) end(slot, connection, outcome_.closed);
    if (fed.bad && !connection.over) end(slot, connection, outcome_.malformed);
  }
  if (completion.more) [[likely]]
    return;
  if (connection.over) {
    connection.receiving = false;
    return reopen(slot, connection);
  }
  if (completion.result > 0 || completion.result == -ENOBUFS) return ring_.receive(slot);
  end(slot, connection, completion.result == 0 ? outcome_.closed : outcome_.reset);
}

void Runner::settle(std::uint32_t slot, Connection& connection, std::uint32_t replies) {
  last_reply_ = now_;
  running_.answered += replies;
  connection.unanswered -= replies;
  unanswered_ -= replies;
  if (matched_) [[unlikely]] {
    settle_matched(connection);
  } else if (Batch& oldest = batch(slot, connection.batch_first); oldest.count == replies)
      [[likely]] {
    record(oldest.time, replies);
    ++connection.batch_first;
  } else {
    settle_batches(slot, connection, replies);
  }
  if (refill_ == Refill::closed) {
    make_requests(slot, connection, replies, now_);
  } else if (refill_ == Refill::slow) {
    refill(slot, connection);
  }
  if (unanswered_ == 0) [[unlikely]]
    settled_all();
}

// Replies to a part of a batch, or to more than one.
void Runner::settle_batches(std::uint32_t slot, Connection& connection, std::uint32_t replies) {
  for (std::uint32_t left = replies; left != 0;) {
    RINGRPC_ASSERT(connection.batch_first != connection.batch_end, slot, left);
    Batch& oldest = batch(slot, connection.batch_first);
    const std::uint32_t count = std::min(left, oldest.count);
    record(oldest.time, count);
    oldest.count -= count;
    left -= count;
    if (oldest.count == 0) ++connection.batch_first;
  }
}

void Runner::settle_matched(Connection& connection) {
  for (const std::uint64_t time : times_) record(time, 1);
  connection.batch_first += static_cast<std::uint32_t>(times_.size());
  times_.clear();
}

// A request's time begins here, even when it must wait for an earlier send.
void Runner::make_requests(std::uint32_t slot, Connection& connection, std::uint32_t count,
                           std::uint64_t time) {
  count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, requests_left_));
  if (count == 0) return;
  if (requests_left_ != never) requests_left_ -= count;
  if (matched_) [[unlikely]] {
    for (std::uint32_t i = 0; i != count; ++i) {
      in_flight_[slot].push(time, connection.next_reply);
      connection.next_reply = plan_.tape.next(connection.next_reply);
    }
  } else {
    batch(slot, connection.batch_end++) = Batch{time, count};
  }
  connection.unanswered += count;
  connection.owed += count;
  unanswered_ += count;
  if (connection.listed) return;
  connection.listed = true;
  due_.push_back(slot);
}

void Runner::flush() {
  for (const std::uint32_t slot : due_) {
    Connection& connection = connections_[slot];
    connection.listed = false;
    if (connection.send_size != 0 || connection.over) continue;
    if (connection.pong_due) [[unlikely]] {
      send_pong(slot, connection);
      continue;
    }
    if (connection.owed == 0) continue;
    if (tracked_) [[unlikely]] {
      send_tape(slot, connection);
      continue;
    }
    const std::uint32_t count = std::min(connection.owed, plan_.requests_per_send);
    connection.owed -= count;
    connection.send_offset = 0;
    connection.send_size = count * plan_.request_size;
    ring_.send(slot, plan_.requests.data(), connection.send_size);
  }
  due_.clear();
}

void Runner::send_tape(std::uint32_t slot, Connection& connection) {
  const Tape& tape = plan_.tape;
  const std::uint32_t first = connection.next_sent;
  const std::uint32_t count =
      std::min({connection.owed, plan_.requests_per_send, tape.size() - first});
  connection.owed -= count;
  connection.next_sent = first + count == tape.size() ? 0 : first + count;
  connection.send_begin = tape.begin(first);
  connection.send_offset = 0;
  connection.send_size = static_cast<std::uint32_t>(tape.begin(first + count) - tape.begin(first));
  ring_.send(slot, tape.bytes().data() + connection.send_begin, connection.send_size);
}

void Runner::sent(std::uint32_t slot, std::int32_t result) {
  Connection& connection = connections_[slot];
  ++running_.sends;
  if (connection.over) [[unlikely]] {
    connection.send_size = 0;
    return reopen(slot, connection);
  }
  if (result < 0) return end(slot, connection, outcome_.reset);
  running_.bytes_out += static_cast<std::uint64_t>(result);
  connection.send_offset += static_cast<std::uint32_t>(result);
  if (connection.send_offset != connection.send_size) {
    return ring_.send(slot, send_data(slot, connection) + connection.send_offset,
                      connection.send_size - connection.send_offset);
  }
  connection.send_size = 0;
  connection.pong_leaves = false;
  if ((connection.owed == 0 && !connection.pong_due) || connection.listed) return;
  connection.listed = true;
  due_.push_back(slot);
}

void Runner::end(std::uint32_t slot, Connection& connection, std::uint64_t& reason) {
  ++reason;
  connection.over = connection.special = true;
  connection.stage = Stage::down;
  outcome_.lost += connection.unanswered;
  unanswered_ -= connection.unanswered;
  connection.unanswered = 0;
  if (matched_) in_flight_[slot].clear();
  connection.owed = 0;
  --live_;
  ring_.shut(slot);
}

void Runner::tick() {
  ring_.tick();
  publish();
  if (live_ == 0 || (unanswered_ == 0 && !may_make_more())) return finish();
  if (unanswered_ != 0 && now_ - last_reply_ > nanoseconds(plan_.options.timeout)) {
    outcome_.stalled = true;
    return finish();
  }
  if (now_ >= next_scan_) scan();
}

void Runner::publish() {
  constexpr auto order = std::memory_order_relaxed;  // Each figure stands alone.
  const ReplyCounts& now = reader_.counts();
  const ReplyCounts& measured = outcome_.replies;
  const Outside& outside = outcome_.outside;
  live_now_.answered.store(now.replies + measured.replies + outside.replies, order);
  live_now_.errors.store(now.errors() + measured.errors() + outside.errors + ended_badly(), order);
  live_now_.late.store(running_.late, order);
  live_now_.connections.store(live_, order);
  live_now_.measuring.store(phase_ != Phase::warming, order);
}

}  // namespace ringload
