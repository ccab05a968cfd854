// Accepting connections with io_uring: several single-shot accepts, each with room for its own
// peer's address. A multishot accept would lose the address.

#include <unistd.h>

#include <cerrno>

#include "engine/base/assert.h"
#include "engine/io/address.h"
#include "engine/io/uring_io.h"

namespace ringrpc::io {

void UringIo::want(Accept& accept) {
  RINGRPC_ASSERT(!accept.armed && !accept.wanted);
  accept.wanted = true;
  ++accepts_wanted_;
}

void UringIo::arm_accepts() {
  if (backoff_.pausing()) return;
  RINGRPC_ASSERT(open_count_ + accepts_armed_ <= connections_max_, open_count_, accepts_armed_);
  std::uint32_t free = connections_max_ - open_count_ - accepts_armed_;
  for (std::uint32_t i = 0; i < accept_count_ && free > 0; ++i) {
    Accept& accept = accepts_[i];
    if (!accept.wanted) continue;
    accept.wanted = false;
    accept.armed = true;
    accept.probing = draining_;
    accept.peer = sockaddr_storage{};
    accept.peer_size = sizeof(accept.peer);
    io_uring_sqe* sqe = this->sqe();
    io_uring_prep_accept(sqe, listeners_[accept.listener],
                         reinterpret_cast<sockaddr*>(&accept.peer), &accept.peer_size, 0);
    // Set by hand: liburing 2.3 makes an ordinary descriptor of this value in its
    // prep_accept_direct.
    sqe->file_index = IORING_FILE_INDEX_ALLOC;
    sqe->user_data = pack(Op::accept, i, 0);
    if (draining_) cancel(pack(Op::cancel, 0, 0), pack(Op::accept, i, 0));
    --accepts_wanted_;
    ++accepts_armed_;
    --free;
  }
}

bool UringIo::on_accept(std::uint32_t index, std::int32_t result, Event& event) {
  RINGRPC_ASSERT(index < accept_count_, index);
  Accept& accept = accepts_[index];
  RINGRPC_ASSERT(accept.armed && accepts_armed_ > 0, index);
  accept.armed = false;
  --accepts_armed_;
  if (result < 0) {
    accept_failed(accept, result);
    return false;
  }
  const Handle handle{static_cast<std::uint32_t>(result), 0};
  RINGRPC_ASSERT(handle.slot < connections_max_, handle.slot);
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT(slot.flags == 0 && slot.held == 0 && slot.shuts == 0, slot.flags, handle.slot);
  ++slot.generation;
  slot.flags = flag_open;
  ++open_count_;
  backoff_.succeeded();
  event = Event{.kind = EventKind::accepted,
                .result = accept.listener,
                .socket = {handle.slot, slot.generation},
                .peer = to_address(accept.peer)};
  want(accept);
  return true;
}

// An accept ended without a connection: by our own cancel, or with an error.
[[gnu::cold]] void UringIo::accept_failed(Accept& accept, std::int32_t error) {
  if (draining_) {
    // An armed accept may be cancelled with a connection in the backlog: one that finds the
    // backlog empty when it is submitted settles it.
    if (error == -ECANCELED && !accept.probing) want(accept);
    if (accepts_armed_ == 0 && accepts_wanted_ == 0) close_listeners();
    return;
  }
  want(accept);
  counters_->add(base::Counter::accept_errors);
  backoff_.failed(-error);
}

void UringIo::stop_accepting() {
  if (draining_) return;
  draining_ = true;
  backoff_.cancel();
  for (std::uint32_t i = 0; i < accept_count_; ++i) {
    if (accepts_[i].armed) cancel(pack(Op::cancel, 0, 0), pack(Op::accept, i, 0));
  }
}

void UringIo::close_listeners() {
  for (std::uint32_t i = 0; i < listener_count_; ++i) ::close(listeners_[i]);
  listener_count_ = 0;
}

}  // namespace ringrpc::io
