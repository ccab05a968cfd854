#include "engine/io/uring_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/assert.h"
#include "engine/base/clock.h"

namespace ringrpc::io {

namespace {

using base::Counter;

static_assert(sizeof(UringCompletion) == sizeof(io_uring_cqe));

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

UringIo::~UringIo() { tear_down(); }

std::uint64_t UringIo::pack(Op op, std::uint32_t slot, std::uint32_t generation) {
  static_assert(limits::connections_max_max + limits::refusals_max <= 1u << 24,
                "a slot has 24 bits of the user data");
  return std::uint64_t{static_cast<std::uint8_t>(op)} << 56 | std::uint64_t{slot} << 32 |
         generation;
}

[[gnu::always_inline]] inline UringIo::Slot& UringIo::slot_of(Handle handle) {
  RINGRPC_ASSERT(handle.slot < connections_max_, handle.slot);
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT(slot.generation == handle.generation, slot.generation, handle.generation);
  RINGRPC_ASSERT((slot.flags & flag_open) != 0, slot.flags);
  return slot;
}

// --- Down: what the worker asks for --------------------------------------------------------------

io_uring_sqe* UringIo::sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) [[unlikely]]
    return sqe_slow();
  return sqe;
}

// The submission queue is full: submit it and go on.
[[gnu::cold, gnu::noinline]] io_uring_sqe* UringIo::sqe_slow() {
  // Out of request memory (EAGAIN) or of completion space (EBUSY, before 5.19), the kernel takes
  // fewer entries; each try frees some or waits for memory. A loop without an end would hide a bug.
  for (int tries = 0; tries < 1000; ++tries) {
    io_uring_submit(&ring_);
    counters_->add(Counter::enters);
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe != nullptr) return sqe;
  }
  RINGRPC_ASSERT(false && "the kernel takes no submissions");
  return nullptr;
}

void UringIo::give(std::uint16_t index) {
  RINGRPC_ASSERT(index < buffers_.count(), index);
  // Not the whole entry: the last field of the first one is the ring's tail.
  io_uring_buf& entry = buffer_ring_[buffer_tail_ & (buffers_.count() - 1)];
  entry.addr = reinterpret_cast<std::uintptr_t>(buffers_.at(index));
  entry.len = buffers_.size();
  entry.bid = index;
  ++buffer_tail_;
  buffers_given_ = true;
}

void UringIo::publish_buffers() {
  if (!buffers_given_) return;
  buffers_given_ = false;
  // release: pairs with the kernel's acquire of the tail, so that it sees the entries before it.
  __atomic_store_n(&buffer_ring_[0].resv, buffer_tail_, __ATOMIC_RELEASE);
}

void UringIo::arm_receive(Handle handle) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_recv_multishot(sqe, static_cast<int>(handle.slot), nullptr, receive_length_, 0);
  sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
  sqe->buf_group = 0;
  sqe->user_data = pack(Op::receive, handle);
}

void UringIo::receive(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & (flag_receiving | flag_closing)) == 0, slot.flags);
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_receiving);
  arm_receive(handle);
}

void UringIo::cancel(std::uint64_t user_data, std::uint64_t target) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_cancel64(sqe, target, 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  sqe->user_data = user_data;
}

void UringIo::stop_receiving(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_receiving) != 0, slot.flags);
  if ((slot.flags & flag_stopping) != 0) return;
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_stopping);
  cancel(pack(Op::cancel, handle), pack(Op::receive, handle));
}

void UringIo::send(Handle handle, const char* data, std::uint32_t size) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & (flag_sending | flag_closing)) == 0, slot.flags);
  RINGRPC_ASSERT(data != nullptr && size > 0, size);
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_sending);
  io_uring_sqe* sqe = this->sqe();
  // With MSG_WAITALL the kernel goes on by itself after a short send: one completion as a rule.
  io_uring_prep_send(sqe, static_cast<int>(handle.slot), data, std::min(size, send_size_max),
                     MSG_NOSIGNAL | MSG_WAITALL);
  sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = pack(Op::send, handle);
}

void UringIo::shut(Handle handle, bool both) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_closing) == 0, slot.flags);
  ++slot.shuts;
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_shutdown(sqe, static_cast<int>(handle.slot), both ? SHUT_RDWR : SHUT_WR);
  sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = pack(Op::shut, handle);
}

void UringIo::close(Handle handle) {
  Slot& slot = slot_of(handle);
  constexpr unsigned busy = flag_receiving | flag_sending | flag_watched | flag_closing;
  RINGRPC_ASSERT((slot.flags & busy) == 0, slot.flags);
  RINGRPC_ASSERT(slot.held == 0, slot.held);
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_closing);
  // The kernel runs shutdowns on a thread of its own; the slot must not be another socket by then.
  if (slot.shuts == 0) submit_close(handle);
}

void UringIo::submit_close(Handle handle) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_close_direct(sqe, handle.slot);
  sqe->user_data = pack(Op::close, handle);
}

void UringIo::arm_wake() {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_read(sqe, wake_fd_, &wake_value_, sizeof(wake_value_), 0);
  sqe->user_data = pack(Op::wake, 0, 0);
  wake_armed_ = true;
}

void UringIo::wake() {
  // seq_cst, both: pairs with wait(), which stores sleeping_ and then loads woken_. One of the two
  // sees the other's store, so that either the loop does not sleep or we write. Whoever finds
  // woken_ set already leaves the writing to whoever set it.
  if (woken_.exchange(true, std::memory_order_seq_cst)) return;
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t one = 1;
  const ssize_t written = write(wake_fd_, &one, sizeof(one));
  RINGRPC_ASSERT(written == sizeof(one), written);
}

// --- Waiting -------------------------------------------------------------------------------------

unsigned UringIo::completions_end() const {
  // acquire: pairs with the kernel's release of the tail, so that we see the completions before it.
  return __atomic_load_n(ring_.cq.ktail, __ATOMIC_ACQUIRE);
}

void UringIo::wait(std::int64_t timeout_ns) {
  // release: pairs with the kernel's acquire; what lies before the head may be overwritten.
  __atomic_store_n(ring_.cq.khead, cq_head_, __ATOMIC_RELEASE);
  publish_buffers();
  if (!wake_armed_) [[unlikely]]
    arm_wake();
  if (accepts_wanted_ != 0) [[unlikely]]
    arm_accepts();
  timeout_ns = backoff_.shorten(timeout_ns);
  bool ready = held_head_ != held_tail_ || cq_head_ != completions_end();
  if (io_uring_cq_has_overflow(&ring_)) [[unlikely]] {
    counters_->add(Counter::completion_overflows);
    ready = true;  // entering with GETEVENTS moves what overflowed into the queue
  }
  enter(ready ? 0 : timeout_ns);
  ++turn_;
  held_end_ = held_tail_;
  cq_end_ = completions_end();
  // A plain load first: the exchange is a locked instruction.
  // acquire: pairs with the exchange in wake(), so that we see what was queued before it.
  if (woken_.load(std::memory_order_relaxed)) {
    woken_pending_ = woken_.exchange(false, std::memory_order_acquire);
  }
}

void UringIo::submit_and_collect() {
  // Errors: EINTR, EAGAIN and EBUSY leave the rest in the queue for the next turn; others would be
  // our bug, and show there as submissions that nobody takes.
  io_uring_submit_and_get_events(&ring_);
  counters_->add(Counter::enters);
}

void UringIo::enter(std::int64_t timeout_ns) {
  if (timeout_ns == 0) return submit_and_collect();
  if (spin_us_ != 0 && spin(timeout_ns)) return;
  // seq_cst, both: pairs with wake().
  sleeping_.store(true, std::memory_order_seq_cst);
  if (woken_.load(std::memory_order_seq_cst)) {
    submit_and_collect();
  } else {
    __kernel_timespec time{.tv_sec = timeout_ns / 1'000'000'000,
                           .tv_nsec = timeout_ns % 1'000'000'000};
    io_uring_cqe* first = nullptr;
    io_uring_submit_and_wait_timeout(&ring_, &first, 1, timeout_ns < 0 ? nullptr : &time, nullptr);
    counters_->add(Counter::enters);
  }
  sleeping_.store(false, std::memory_order_relaxed);
}

// Polls for spin_us_. Returns: whether there is something to do.
bool UringIo::spin(std::int64_t timeout_ns) {
  submit_and_collect();
  const std::uint64_t spin_ns = std::uint64_t{spin_us_} * 1000;
  const std::uint64_t limit =
      timeout_ns < 0 ? spin_ns : std::min(spin_ns, static_cast<std::uint64_t>(timeout_ns));
  const std::uint64_t end = base::monotonic_ns() + limit;
  do {
    if (cq_head_ != completions_end() || woken_.load(std::memory_order_relaxed)) return true;
    if ((__atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED) &
         (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0) {
      io_uring_get_events(&ring_);
      counters_->add(Counter::enters);
    } else {
      pause_cpu();
    }
  } while (base::monotonic_ns() < end);
  return false;
}

// --- Up: what the kernel tells -------------------------------------------------------------------

bool UringIo::next(Event& event) {
  while (held_head_ != held_end_) {
    const Completion completion = held_[held_head_++ & held_mask_];
    if (on_receive(completion, true, event)) return true;
  }
  while (cq_head_ != cq_end_) {
    const io_uring_cqe& cqe = ring_.cq.cqes[cq_head_ & *ring_.cq.kring_mask];
    const Completion completion{cqe.user_data, cqe.res, cqe.flags};
    ++cq_head_;
    if (translate(completion, event)) return true;
  }
  if (!woken_pending_) return false;
  woken_pending_ = false;
  event = std::exchange(adopted_, Event{});
  return true;
}

bool UringIo::translate(const Completion& completion, Event& event) {
  const Op op = static_cast<Op>(completion.user_data >> 56);
  if (op == Op::receive) return on_receive(completion, false, event);
  const Handle handle{static_cast<std::uint32_t>(completion.user_data >> 32) & 0xFFFFFF,
                      static_cast<std::uint32_t>(completion.user_data)};
  if (op == Op::send) {
    Slot& slot = slot_of(handle);
    RINGRPC_ASSERT((slot.flags & flag_sending) != 0, slot.flags);
    slot.flags = static_cast<std::uint8_t>(slot.flags & ~flag_sending);
    event.kind = EventKind::sent;
    event.more = false;
    event.buffer = no_buffer;
    event.result = completion.result;
    event.socket = handle;
    return true;
  }
  switch (op) {
    case Op::accept:
      return on_accept(handle.slot, completion.result, event);
    case Op::close: {
      RINGRPC_ASSERT(completion.result == 0, completion.result, handle.slot);
      slot_of(handle).flags = 0;
      --open_count_;
      event = Event{.kind = EventKind::closed, .socket = handle, .peer = {}};
      return true;
    }
    case Op::shut:
      on_shut(handle);
      return false;
    case Op::cancel:
      on_cancel_failed(handle);
      return false;
    case Op::wake:
      wake_armed_ = false;
      return false;
    case Op::poll:
      event = Event{
          .kind = EventKind::polled, .result = completion.result, .socket = handle, .peer = {}};
      return completion.result != -ECANCELED;
    case Op::watch:
      return on_watch(completion, handle, event);
    case Op::forget:  // it could not be cancelled, because it has ended
      return false;
    case Op::receive:
    case Op::send:
      break;
  }
  RINGRPC_ASSERT(false && "a completion of no operation of ours", completion.user_data);
  return false;
}

bool UringIo::on_receive(const Completion& completion, bool was_held, Event& event) {
  const Handle handle{static_cast<std::uint32_t>(completion.user_data >> 32) & 0xFFFFFF,
                      static_cast<std::uint32_t>(completion.user_data)};
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_receiving) != 0, slot.flags);
  const bool has_buffer = (completion.flags & IORING_CQE_F_BUFFER) != 0;
  const bool more = (completion.flags & IORING_CQE_F_MORE) != 0;
  if (slot.turn != turn_) {
    slot.turn = turn_;
    slot.taken = 0;
  }
  const bool full = slot.taken >= limits::receives_per_turn_max;
  if (was_held) --slot.held;
  // Whatever follows something held is held too, so that a socket's bytes stay in order.
  if (was_held ? full : (slot.held != 0 || (full && has_buffer))) [[unlikely]] {
    hold(completion, slot);
    if (more) throttle(handle, slot);
    return false;
  }
  if (!more && on_last_receive(completion, handle, slot)) return false;
  event.buffer = no_buffer;
  if (has_buffer) {
    event.buffer = static_cast<std::uint16_t>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
    ++slot.taken;
    // A kernel that takes no cap could fill every buffer for one peer in one turn.
    if (!receive_cap_ && more && slot.taken == limits::receives_per_turn_max)
      throttle(handle, slot);
  } else if (completion.result == -ENOBUFS) {
    counters_->add(Counter::buffers_exhausted);
  }
  event.kind = EventKind::received;
  event.more = more;
  event.result = completion.result;
  event.socket = handle;
  return true;
}

// The receive has ended. Returns: true when only because we throttled it; it is armed again then.
bool UringIo::on_last_receive(const Completion& completion, Handle handle, Slot& slot) {
  const bool ours = (slot.flags & (flag_throttled | flag_stopping)) == flag_throttled &&
                    completion.result == -ECANCELED;
  slot.flags = static_cast<std::uint8_t>(slot.flags & ~(flag_throttled | flag_stopping));
  if (ours) {
    RINGRPC_ASSERT((completion.flags & IORING_CQE_F_BUFFER) == 0, completion.flags);
    arm_receive(handle);
    return true;
  }
  slot.flags = static_cast<std::uint8_t>(slot.flags & ~flag_receiving);
  return false;
}

void UringIo::throttle(Handle handle, Slot& slot) {
  if ((slot.flags & (flag_throttled | flag_stopping)) != 0) return;
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_throttled);
  cancel(pack(Op::cancel, handle), pack(Op::receive, handle));
}

void UringIo::hold(const Completion& completion, Slot& slot) {
  RINGRPC_ASSERT(held_tail_ - held_head_ <= held_mask_, held_head_, held_tail_);
  held_[held_tail_++ & held_mask_] = completion;
  ++slot.held;
}

void UringIo::on_shut(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT(slot.shuts > 0);
  --slot.shuts;
  if (slot.shuts == 0 && (slot.flags & flag_closing) != 0) submit_close(handle);
}

// The receive has ended by itself, which its own completion tells, or the kernel was just running
// it, and could not cancel it: ask again.
[[gnu::cold]] void UringIo::on_cancel_failed(Handle handle) {
  const Slot& slot = slots_[handle.slot];
  if (slot.generation != handle.generation || (slot.flags & flag_receiving) == 0) return;
  if ((slot.flags & (flag_throttled | flag_stopping)) == 0) return;
  cancel(pack(Op::cancel, handle), pack(Op::receive, handle));
}

}  // namespace ringrpc::io
