// The steps of Worker::turn() that touch connections: receive, and the bookkeeping around it. Frame
// is in worker_frame.h, what ends a connection in worker_ends.h and worker_limits.h.

#include "engine/serve/worker.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/serve/readiness.h"

namespace ringrpc::serve {
namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint64_t slow_turn_ns = 10 * ns_per_ms;
constexpr std::uint64_t wall_interval_ms = 50;  // how late a Date may be

}  // namespace

template <class Io>
Worker<Io>::Worker(const WorkerOptions& options, WorkerShared& shared)
    : options_(options),
      shared_(shared),
      endpoints_(shared.mounts),
      reader_(shared.registry->epochs().join()),
      partials_(options.partial_pool_size, options.message_size_max + limits::head_size_max),
      outbox_({.slab_size = options.reply_slab_size,
               .slab_count = options.reply_slabs,
               .segment_count = options.segments,
               .reply_size_max = options.reply_size_max,
               .mapped_max = options.large_replies_size_max}),
      responder_({.outbox = &outbox_,
                  .counters = &counters_,
                  .oracle = shared.oracle,
                  .reply_size_max = options.reply_size_max}),
      framer_({.pool = &partials_,
               .counters = &counters_,
               .hosts = shared.hosts,
               .mounts = shared.mounts,
               .message_size_max = options.message_size_max,
               .drain_size_max = options.peer.drain_size_max,
               .head = options.head}),
      lines_({.pool = &partials_,
              .counters = &counters_,
              .mount = static_cast<std::uint8_t>(endpoints_.count()),
              .message_size_max = options.message_size_max}),
      websockets_({.pool = &partials_,
                   .counters = &counters_,
                   .mount_first = static_cast<std::uint8_t>(endpoints_.count()),
                   .message_size_max = options.message_size_max}),
      connections_(std::make_unique<Connection[]>(places())),
      input_next_(std::make_unique<std::uint16_t[]>(options.receive_buffers)),
      input_size_(std::make_unique<std::uint32_t[]>(options.receive_buffers)),
      late_({.connections = connections_.get(),
             .outbox = &outbox_,
             .responder = &responder_,
             .counters = &counters_,
             .reply_size_max = options.reply_size_max,
             .hub = shared.hub}) {}

// What was answered later goes to its connection, which is looked at again.
template <class Io>
[[gnu::noinline]] void Worker<Io>::deliver() {
  late_.begin_delivery(stopping_, now_ns_);
  for (;;) {
    const std::uint32_t slot = late_.next(now_ns_);
    if (slot == no_connection) return;
    Connection& connection = connections_[slot];
    if (connection.too_slow) [[unlikely]]
      end_slow(connection);
    if (connection.upgrading && !connection.late) become_websocket(connection);
    if (connection.paused && late_.may_resume(connection)) connection.paused = false;
    make_ready(connection);
  }
}

template <class Io>
Worker<Io>::Leftovers::~Leftovers() {
  for (std::uint32_t slot = 0; slot < worker.places(); ++slot) {
    worker.framer_.forget(worker.connections_[slot]);
    worker.outbox_.clear(worker.connections_[slot].out);
  }
  base::Epochs::rest(worker.reader_);
}

template <class Io>
base::Status Worker<Io>::start(std::span<const int> listeners, int adopted) {
  base::Status status = late_.start(late_options());
  if (!status.ok()) return status;
  status = answerer_.reserve({.message_size_max = options_.message_size_max,
                              .batch_length_max = options_.batch_length_max,
                              .counters = &counters_,
                              .late = &late_.calls()});
  if (!status.ok()) return status;
  now_ns_ = io_.now_ns();
  now_ms_ = now_ns_ / ns_per_ms;
  status = wheel_.start(places(), now_ms_);
  if (!status.ok()) return status;
  return io_.start({.listeners = listeners,
                    .adopted = adopted,
                    .connections_max = places(),
                    .receive_buffers = options_.receive_buffers,
                    .receive_buffer_size = options_.receive_buffer_size,
                    .polls_max = options_.in_flight_max,
                    .spin_us = options_.spin_us,
                    .counters = &counters_});
}

template <class Io>
bool Worker<Io>::run() {
  while (!finished()) {
    turn();
    if (shared_.phase.load(std::memory_order_acquire) == Phase::forced) return finished();
  }
  return true;
}

template <class Io>
std::int64_t Worker<Io>::wait_ns() const {
  if (ready_first_ != no_connection) return 0;
  const std::int64_t next_ms = wheel_.next_ms(now_ms_);
  const std::int64_t next_ns = next_ms < 0 ? -1 : next_ms * static_cast<std::int64_t>(ns_per_ms);
  if (!late_.busy()) [[likely]]
    return next_ns;
  if (late_.has_more()) return 0;
  const std::uint64_t due_ns = late_.next_ns();
  if (due_ns == 0) return next_ns;
  const std::int64_t wait = due_ns > now_ns_ ? static_cast<std::int64_t>(due_ns - now_ns_) : 0;
  return next_ns < 0 ? wait : std::min(wait, next_ns);
}

template <class Io>
rpc::LateCalls::Options Worker<Io>::late_options() {
  return {
      .calls_max = options_.in_flight_max,
      .calls_per_connection_max = options_.in_flight_per_connection_max,
      .connections_max = places(),
      .memory_max = options_.late_memory_size_max,
      .frame_memory_max = options_.frame_memory_size_max,
      .reply_size_max = options_.reply_size_max,
      .timeout_ms = options_.call_timeout_ms,
      .blocking = shared_.blocking,
      .readiness = {
          .state = this,
          .begin =
              [](void* worker, std::uint32_t place, std::uint32_t ticket, int fd, Ready events) {
                static_cast<Worker*>(worker)->io_.poll({place, ticket}, fd, poll_events(events));
              },
          .end =
              [](void* worker, std::uint32_t place, std::uint32_t ticket) {
                static_cast<Worker*>(worker)->io_.stop_polling({place, ticket});
              }},
      .wake = [](void* worker) { static_cast<Worker*>(worker)->io_.wake(); },
      .waker = this,
      .counters = &counters_,
      .head_text = &head_text,
      .accepts_events = &accepts_events,
      .find_in_text = &find_in_head_text};
}

template <class Io>
void Worker<Io>::begin_turn() {
  now_ns_ = io_.now_ns();
  now_ms_ = now_ns_ / ns_per_ms;
  calls_ = 0;
  delivered_again_ = false;
  late_.calls().set_time(now_ns_);
  counters_.add(base::Counter::turns);
  if (now_ms_ >= wall_read_ms_) {
    wall_read_ms_ = now_ms_ + wall_interval_ms;
    responder_.set_time(base::wall_seconds());
  }
  shared_.registry->epochs().announce(reader_);
  table_ = shared_.registry->current();
  if (!stopping_ && shared_.phase.load(std::memory_order_acquire) >= Phase::stopping) [[unlikely]] {
    begin_stop();
  }
}

template <class Io>
void Worker<Io>::end_turn() {
  for (std::uint32_t slot = 0; wheel_.advance(now_ms_, slot);) on_deadline(connections_[slot]);
#ifdef RINGRPC_DEBUG_CHECKS
  check_invariants();
#endif
  if (calls_ != 0) {
    const std::uint64_t spent = io_.now_ns() - now_ns_;
    gauges_.call_ns.record(spent, calls_);
    if (spent > gauges_.turn_ns_max.load(std::memory_order_relaxed)) {
      gauges_.turn_ns_max.store(spent, std::memory_order_relaxed);
    }
    if (spent > slow_turn_ns) counters_.add(base::Counter::turns_slow);
  }
  gauges_.subscriptions.store(late_.subscriptions(), std::memory_order_relaxed);
  gauges_.streams.store(late_.streams(), std::memory_order_relaxed);
  gauges_.in_flight.store(late_.calls().in_flight(), std::memory_order_relaxed);
  gauges_.late_bytes.store(late_.calls().memory(), std::memory_order_relaxed);
  gauges_.frame_bytes.store(late_.calls().frames().memory(), std::memory_order_relaxed);
  gauges_.connections.store(connection_count_, std::memory_order_relaxed);
  gauges_.buffers_lent.store(lent_, std::memory_order_relaxed);
  gauges_.segments.store(outbox_.segments_taken(), std::memory_order_relaxed);
  gauges_.partial_messages.store(partials_.blocks_taken(), std::memory_order_relaxed);
  gauges_.partial_bytes.store(partials_.bytes_mapped(), std::memory_order_relaxed);
  counters_.add(base::Counter::bytes_copied, outbox_.take_bytes_copied());
  gauges_.large_reply_bytes.store(outbox_.bytes_mapped(), std::memory_order_relaxed);
  base::Epochs::rest(reader_);
}

template <class Io>
[[gnu::always_inline]] inline Connection* Worker<Io>::connection_of(io::Handle handle) {
  RINGRPC_ASSERT(handle.slot < places(), handle.slot);
  Connection& connection = connections_[handle.slot];
  const bool live = connection.state != ConnectionState::free;
  if (live && connection.generation == handle.generation) [[likely]]
    return &connection;
  counters_.add(base::Counter::stale_completions);
  return nullptr;
}

template <class Io>
void Worker<Io>::receive(const io::Event& event) {
  if (event.kind == io::EventKind::accepted) {
    on_accepted(event);
    return;
  }
  if (event.kind >= io::EventKind::woken) [[unlikely]] {
    if (event.kind == io::EventKind::polled) {
      late_.calls().is_ready(event.socket.slot, event.socket.generation, ready_bits(event.result));
    }
    return;
  }
  if (event.buffer != io::no_buffer) ++lent_;
  Connection* connection = connection_of(event.socket);
  if (connection == nullptr) [[unlikely]] {
    if (event.buffer != io::no_buffer) give(event.buffer);
    return;
  }
  switch (event.kind) {
    case io::EventKind::received:
      on_received(*connection, event);
      return;
    case io::EventKind::sent:
      on_sent(*connection, event);
      return;
    case io::EventKind::gone:
      on_gone(*connection, event.result);
      return;
    default:
      RINGRPC_ASSERT(event.kind == io::EventKind::closed, event.kind);
      release(*connection);
      return;
  }
}

template <class Io>
void Worker<Io>::on_accepted(const io::Event& event) {
  Connection& connection = connections_[event.socket.slot];
  RINGRPC_ASSERT(connection.state == ConnectionState::free, event.socket.slot);
  connection = Connection{};
  connection.state = ConnectionState::open;
  connection.generation = event.socket.generation;
  connection.peer = event.peer;
  connection.receiving = true;
  const std::size_t listener = static_cast<std::size_t>(event.result);
  const Door door = listener < options_.doors.size() ? options_.doors[listener] : Door{};
  connection.protocol = door.protocol;
  connection.patient = door.patient;
  ++connection_count_;
  counters_.add(base::Counter::accepts);
  io_.receive(event.socket);
  set_first_deadline(connection);
  if (connection_count_ - refused_count_ > options_.connections_max) [[unlikely]]
    refuse(connection);
}

template <class Io>
void Worker<Io>::on_received(Connection& connection, const io::Event& event) {
  connection.receiving = event.more;
  if (!event.more) connection.stopping_receive = false;
  if (event.result > 0) {
    const std::uint32_t size = static_cast<std::uint32_t>(event.result);
    connection.fresh = false;
    // PERF: by the time that the turn reads it, it is in the first-level cache.
    for (int at = 0; at < 192; at += 64) __builtin_prefetch(io_.buffer(event.buffer) + at);
    counters_.add(base::Counter::receives);
    counters_.add(base::Counter::bytes_in, size);
    input_size_[event.buffer] = size;
    input_next_[event.buffer] = no_input;
    if (connection.input_first == no_input) {
      connection.input_first = event.buffer;
    } else {
      input_next_[connection.input_last] = event.buffer;
    }
    connection.input_last = event.buffer;
  } else {
    if (event.buffer != io::no_buffer) give(event.buffer);
    const bool harmless = event.result == -ENOBUFS || event.result == -ECANCELED;
    if (event.result == 0) connection.peer_finished = true;
    if (event.result < 0 && !harmless) lose(connection, event.result);
  }
  make_ready(connection);
}

template <class Io>
void Worker<Io>::on_sent(Connection& connection, const io::Event& event) {
  RINGRPC_ASSERT(connection.sending);
  connection.sending = false;
  if (event.result < 0) {
    lose(connection, event.result);
    make_ready(connection);
    return;
  }
  counters_.add(base::Counter::sends);
  counters_.add(base::Counter::bytes_out, static_cast<std::uint64_t>(event.result));
  outbox_.taken(connection.out, static_cast<std::uint32_t>(event.result));
  connection.deadline = DeadlineKind::none;  // It moves: the stall is counted anew.
  const bool quiet = connection.out.empty() && connection.state == ConnectionState::open &&
                     !connection.paused && !connection.wants_room && !connection.peer_finished &&
                     connection.receiving;
  if (quiet) [[likely]] {
    set_deadline(connection);
    return;
  }
  if (connection.wants_room) late_.pump(connection);
  if (connection.paused && late_.may_resume(connection)) connection.paused = false;
  make_ready(connection);
}

template <class Io>
void Worker<Io>::make_ready(Connection& connection) {
  if (connection.is_ready) return;
  connection.is_ready = true;
  connection.ready_next = no_connection;
  const std::uint32_t slot = slot_of(connection);
  if (ready_first_ == no_connection) {
    ready_first_ = slot;
  } else {
    connections_[ready_last_].ready_next = slot;
  }
  ready_last_ = slot;
}

template <class Io>
Connection* Worker<Io>::take_ready() {
  if (ready_first_ == no_connection) [[unlikely]] {
    // Handlers of this turn may have answered what is answered later.
    if (!late_.busy() || delivered_again_ || !late_.calls().has_posts()) return nullptr;
    delivered_again_ = true;
    deliver();
    if (ready_first_ == no_connection) return nullptr;
  }
  late_.calls().set_holder(ready_first_);
  Connection& connection = connections_[ready_first_];
  ready_first_ = connection.ready_next;
  if (ready_first_ == no_connection) ready_last_ = no_connection;
  connection.is_ready = false;
  input_ = {};
  input_buffer_ = no_input;
  return &connection;
}

}  // namespace ringrpc::serve

#include "engine/serve/worker_check.h"
#include "engine/serve/worker_deadlines.h"
#include "engine/serve/worker_ends.h"
#include "engine/serve/worker_frame.h"
#include "engine/serve/worker_limits.h"
#include "engine/serve/worker_websocket.h"

#ifndef RINGRPC_WORKER_BODIES_ONLY
#include "engine/io/epoll_io.h"
#include "engine/io/uring_io.h"

namespace ringrpc::serve {

template class Worker<io::UringIo>;
template class Worker<io::EpollIo>;

}  // namespace ringrpc::serve
#endif
