#include "engine/io/epoll_io.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/io/address.h"

namespace ringrpc::io {

namespace {

using base::Counter;

constexpr int events_max = 256;
// Connections accepted in one turn: a flood of them leaves time for those that are served.
constexpr std::uint32_t accepts_per_turn = 64;

}  // namespace

EpollIo::~EpollIo() { tear_down(); }

void EpollIo::set(Slot& slot, unsigned flags) {
  slot.flags = static_cast<std::uint16_t>(slot.flags | flags);
}

void EpollIo::clear(Slot& slot, unsigned flags) {
  slot.flags = static_cast<std::uint16_t>(slot.flags & ~flags);
}

EpollIo::Slot& EpollIo::slot_of(Handle handle) {
  RINGRPC_ASSERT(handle.slot < connections_max_, handle.slot);
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT(slot.generation == handle.generation, slot.generation, handle.generation);
  RINGRPC_ASSERT((slot.flags & flag_open) != 0, slot.flags);
  return slot;
}

void EpollIo::enqueue(std::uint32_t index) {
  Slot& slot = slots_[index];
  if ((slot.flags & flag_queued) != 0) return;
  RINGRPC_ASSERT(queue_tail_ - queue_head_ <= queue_mask_, queue_head_, queue_tail_);
  set(slot, flag_queued);
  queue_[queue_tail_++ & queue_mask_] = index;
}

// --- Down: what the worker asks for --------------------------------------------------------------

void EpollIo::give(std::uint16_t index) {
  RINGRPC_ASSERT(index < buffers_.count(), index);
  RINGRPC_ASSERT(free_buffer_count_ < buffers_.count(), index);
  free_buffers_[free_buffer_count_++] = index;
}

void EpollIo::receive(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & (flag_receiving | flag_closing)) == 0, slot.flags);
  set(slot, flag_receiving);
  if ((slot.flags & flag_readable) != 0) enqueue(handle.slot);
}

void EpollIo::stop_receiving(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_receiving) != 0, slot.flags);
  set(slot, flag_stopping);
  enqueue(handle.slot);
}

void EpollIo::send(Handle handle, const char* data, std::uint32_t size) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & (flag_sending | flag_closing)) == 0, slot.flags);
  RINGRPC_ASSERT(data != nullptr && size > 0, size);
  set(slot, flag_sending);
  slot.data = data;
  slot.size = std::min(size, send_size_max);
  RINGRPC_ASSERT(outgoing_count_ < connections_max_, outgoing_count_);
  outgoing_[outgoing_count_++] = handle.slot;
}

// The sends of a turn, all at once. PERF: a system call between the requests of two connections
// takes the branch predictor's history away, which made the same instructions a third slower
// (bench/wire/run 11b).
void EpollIo::serve_outgoing() {
  for (std::uint32_t i = 0; i < outgoing_count_; ++i) {
    Slot& slot = slots_[outgoing_[i]];
    serve_blocked(slot);
    if ((slot.flags & flag_sent) != 0) [[likely]] {
      enqueue(outgoing_[i]);
    } else {
      wait_for_room(outgoing_[i], slot);
    }
  }
  outgoing_count_ = 0;
}

// Tries the send of a socket. Afterwards its result is there, or it is blocked.
void EpollIo::serve_blocked(Slot& slot) {
  ssize_t sent = 0;
  do {
    sent = ::send(slot.fd, slot.data, slot.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  clear(slot, flag_blocked | flag_writable);
  if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    set(slot, flag_blocked);
    return;
  }
  slot.sent = sent < 0 ? -errno : static_cast<std::int32_t>(sent);
  set(slot, flag_sent);
}

// Once asked for, EPOLLOUT stays: edge-triggered, it is told only after a send that found no room.
[[gnu::cold]] void EpollIo::wait_for_room(std::uint32_t index, Slot& slot) {
  if ((slot.flags & flag_watched) != 0) return;
  set(slot, flag_watched);
  const bool watched =
      watch(slot.fd, EPOLLIN | EPOLLRDHUP | EPOLLOUT | EPOLLET, index, EPOLL_CTL_MOD);
  RINGRPC_ASSERT(watched, errno);
}

void EpollIo::shut(Handle handle, bool both) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_closing) == 0, slot.flags);
  // ENOTCONN: the peer was faster with a reset.
  shutdown(slot.fd, both ? SHUT_RDWR : SHUT_WR);
}

void EpollIo::close(Handle handle) {
  Slot& slot = slot_of(handle);
  constexpr unsigned busy = flag_receiving | flag_sending | flag_guarded | flag_closing;
  RINGRPC_ASSERT((slot.flags & busy) == 0, slot.flags);
  set(slot, flag_closing);
  ::close(slot.fd);
  slot.fd = -1;
  enqueue(handle.slot);
}

void EpollIo::wake() {
  // seq_cst, both: pairs with wait(), which stores sleeping_ and then loads woken_. One of the two
  // sees the other's store, so that either the loop does not sleep or we write. Whoever finds
  // woken_ set already leaves the writing to whoever set it.
  if (woken_.exchange(true, std::memory_order_seq_cst)) return;
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  // EAGAIN: nobody ever reads this counter (each write is an edge), so it may be full in 2^64
  // calls.
  const ssize_t written = write(wake_fd_, &one, sizeof(one));
  RINGRPC_ASSERT(written == sizeof(one), written);
}

// --- Waiting -------------------------------------------------------------------------------------

void EpollIo::wait(std::int64_t timeout_ns) {
  RINGRPC_ASSERT(current_ == none, current_);
  serve_outgoing();
  const bool pending = queue_head_ != queue_tail_ || polled_count_ != 0;
  // Results of sends are here already: a system call only to learn of others would double the calls
  // of a lightly loaded server. Every second wait() asks the kernel, so that nobody starves.
  if (pending && !skipped_) {
    skipped_ = true;
  } else {
    skipped_ = false;
    const bool accepts = listeners_ready_ != 0 && open_count_ < connections_max_;
    timeout_ns = backoff_.shorten(timeout_ns);
    if (pending || (accepts && !backoff_.pausing())) timeout_ns = 0;
    constexpr std::int64_t ms = 1'000'000;
    const std::int64_t rounded = timeout_ns < 0 ? -1 : (timeout_ns + ms - 1) / ms;
    collect(static_cast<int>(std::min<std::int64_t>(rounded, 1 << 30)));
  }
  queue_end_ = queue_tail_;
  polled_left_ = polled_count_;
  accepts_left_ = accepts_per_turn;
  // A plain load first: the exchange is a locked instruction.
  // acquire: pairs with the exchange in wake(), so that we see what was queued before it.
  if (woken_.load(std::memory_order_relaxed)) {
    woken_pending_ = woken_.exchange(false, std::memory_order_acquire);
  }
}

void EpollIo::collect(int timeout_ms) {
  epoll_event ready[events_max];
  int count = 0;
  if (spin_us_ != 0 && timeout_ms != 0) {
    const std::uint64_t end = base::monotonic_ns() + std::uint64_t{spin_us_} * 1000;
    do {
      count = epoll_wait(set_fd_, ready, events_max, 0);
      counters_->add(Counter::enters);
      if (count != 0 || woken_.load(std::memory_order_relaxed)) timeout_ms = 0;
    } while (timeout_ms != 0 && base::monotonic_ns() < end);
  }
  if (count == 0) {
    if (timeout_ms != 0) {
      // seq_cst, both: pairs with wake().
      sleeping_.store(true, std::memory_order_seq_cst);
      if (woken_.load(std::memory_order_seq_cst)) timeout_ms = 0;
    }
    count = epoll_wait(set_fd_, ready, events_max, timeout_ms);
    sleeping_.store(false, std::memory_order_relaxed);
    counters_->add(Counter::enters);
  }
  RINGRPC_ASSERT(count >= 0 || errno == EINTR, errno);
  for (int i = 0; i < count; ++i) on_ready(ready[i]);
}

void EpollIo::on_ready(const epoll_event& ready) {
  const std::uint32_t index = static_cast<std::uint32_t>(ready.data.u64);
  const std::uint32_t kind = static_cast<std::uint32_t>(ready.data.u64 >> 32);
  if (kind == 1) {
    listeners_ready_ |= 1u << index;
    return;
  }
  if (kind == 2) return;  // only to wake us; woken_ tells the rest
  if (kind == 3) return end_poll(index, static_cast<std::int32_t>(ready.events));
  RINGRPC_ASSERT(index < slots_used_, index);
  Slot& slot = slots_[index];
  constexpr std::uint32_t hang_up = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((ready.events & (EPOLLIN | hang_up)) != 0) set(slot, flag_readable);
  if ((ready.events & hang_up) != 0) {
    set(slot, flag_hung_up);
    if ((ready.events & (EPOLLHUP | EPOLLERR)) != 0) set(slot, flag_gone);
    if ((ready.events & EPOLLERR) != 0) set(slot, flag_reset);
    if ((slot.flags & flag_guarded) != 0 && (slot.flags & flag_gone) != 0) enqueue(index);
  }
  if ((ready.events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) set(slot, flag_writable);
  constexpr unsigned can_send = flag_blocked | flag_writable;
  constexpr unsigned can_receive = flag_receiving | flag_readable;
  if ((slot.flags & can_receive) == can_receive || (slot.flags & can_send) == can_send) {
    enqueue(index);
  }
}

// --- Up: what the kernel tells -------------------------------------------------------------------

bool EpollIo::next(Event& event) {
  for (;;) {
    if (current_ != none) {
      if (serve(current_, event)) return true;
      current_ = none;
    }
    if (queue_head_ == queue_end_) break;
    current_ = queue_[queue_head_++ & queue_mask_];
    Slot& slot = slots_[current_];
    clear(slot, flag_queued);
    slot.taken = 0;
  }
  if (listeners_ready_ != 0 && accept_one(event)) return true;
  if (polled_left_ != 0 && tell_polled(event)) return true;
  if (!woken_pending_) return false;
  woken_pending_ = false;
  event = std::exchange(adopted_, Event{});
  return true;
}

// The next event of one socket. Returns: false when it has none any more in this turn.
bool EpollIo::serve(std::uint32_t index, Event& event) {
  Slot& slot = slots_[index];
  if ((slot.flags & flag_receiving) != 0 && (slot.flags & (flag_readable | flag_stopping)) != 0) {
    if (slot.taken == limits::receives_per_turn_max) {
      enqueue(index);
    } else if (serve_receive(index, slot, event)) {
      return true;
    }
  }
  constexpr unsigned can_send = flag_blocked | flag_writable;
  if ((slot.flags & can_send) == can_send) serve_blocked(slot);
  if ((slot.flags & flag_sent) != 0) {
    clear(slot, flag_sent | flag_sending);
    event.kind = EventKind::sent;
    event.more = false;
    event.buffer = no_buffer;
    event.result = slot.sent;
    event.socket = {index, slot.generation};
    return true;
  }
  if ((slot.flags & flag_guarded) != 0 && tell_gone(index, slot, event)) return true;
  if ((slot.flags & flag_closing) == 0) return false;
  event = Event{.kind = EventKind::closed, .socket = {index, slot.generation}, .peer = {}};
  slot.flags = 0;
  slot.next_free = free_head_;
  free_head_ = index + 1;
  --open_count_;
  current_ = none;
  return true;
}

// Receives into one buffer. Returns: false when there was nothing to receive.
bool EpollIo::serve_receive(std::uint32_t index, Slot& slot, Event& event) {
  event.kind = EventKind::received;
  event.more = false;
  event.buffer = no_buffer;
  event.socket = {index, slot.generation};
  if ((slot.flags & flag_stopping) != 0) {
    clear(slot, flag_receiving | flag_stopping);
    event.result = -ECANCELED;
    return true;
  }
  if (free_buffer_count_ == 0) [[unlikely]] {
    counters_->add(Counter::buffers_exhausted);
    clear(slot, flag_receiving);
    event.result = -ENOBUFS;
    return true;
  }
  const std::uint16_t buffer = free_buffers_[free_buffer_count_ - 1];
  ssize_t size = 0;
  do {
    size = recv(slot.fd, buffers_.at(buffer), buffers_.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size > 0) [[likely]] {
    --free_buffer_count_;
    ++slot.taken;
    // A short receive has emptied the socket; more bytes, or a FIN, would be another edge.
    if (size < static_cast<ssize_t>(buffers_.size()) && (slot.flags & flag_hung_up) == 0) {
      clear(slot, flag_readable);
    }
    event.more = true;
    event.buffer = buffer;
    event.result = static_cast<std::int32_t>(size);
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    clear(slot, flag_readable);
    return false;
  }
  clear(slot, flag_receiving);
  event.result = size < 0 ? -errno : 0;
  return true;
}

// --- Accepting -----------------------------------------------------------------------------------

bool EpollIo::accept_one(Event& event) {
  while (listeners_ready_ != 0 && accepts_left_ > 0 && open_count_ < connections_max_) {
    if (backoff_.pausing()) return false;
    --accepts_left_;
    // The highest and the lowest take turns, so that one listener's flood does not shut others out.
    const std::uint32_t listener = static_cast<std::uint32_t>(
        (accepts_left_ & 1) != 0 ? 31 - std::countl_zero(listeners_ready_)
                                 : std::countr_zero(listeners_ready_));
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    const int fd = accept4(listeners_[listener], reinterpret_cast<sockaddr*>(&peer), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      accept_failed(listener, errno);
      continue;
    }
    event = Event{.kind = EventKind::accepted,
                  .result = static_cast<std::int32_t>(listener),
                  .socket = {},
                  .peer = to_address(peer)};
    if (open_slot(fd, event)) return true;
    ::close(fd);
  }
  return false;
}

bool EpollIo::open_slot(int fd, Event& event) {
  const bool reuse = free_head_ != 0;
  const std::uint32_t index = reuse ? free_head_ - 1 : slots_used_;
  RINGRPC_ASSERT(index < connections_max_, index);
  if (!watch(fd, EPOLLIN | EPOLLRDHUP | EPOLLET, index, EPOLL_CTL_ADD)) {
    counters_->add(Counter::accept_errors);
    backoff_.failed(errno);
    return false;
  }
  Slot& slot = slots_[index];
  RINGRPC_ASSERT(slot.flags == 0, slot.flags);
  if (reuse) {
    free_head_ = slot.next_free;
  } else {
    ++slots_used_;
  }
  ++slot.generation;
  slot.fd = fd;
  set(slot, flag_open);
  ++open_count_;
  backoff_.succeeded();
  event.socket = {index, slot.generation};
  return true;
}

void EpollIo::accept_failed(std::uint32_t listener, int error) {
  const bool empty = error == EAGAIN || error == EWOULDBLOCK;
  if (empty) listeners_ready_ &= ~(1u << listener);
  if (!empty) {
    counters_->add(Counter::accept_errors);
    backoff_.failed(error);
  }
  if (draining_ && (empty || backoff_.pausing())) close_listener(listener);
}

}  // namespace ringrpc::io
