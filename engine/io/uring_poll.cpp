// Descriptors of others, whose readiness is waited for on the ring, and sockets of ours that are
// watched for the end of their peers.
//
// Sources: io_uring_prep_poll_add(3), io_uring_prep_poll_multishot(3), io_uring_prep_cancel(3).

#include <poll.h>

#include <cerrno>

#include "engine/base/assert.h"
#include "engine/io/uring_io.h"

namespace ringrpc::io {

void UringIo::poll(Handle name, int fd, std::uint32_t events) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_poll_add(sqe, fd, events);
  sqe->user_data = pack(Op::poll, name);
}

void UringIo::stop_polling(Handle name) { cancel(pack(Op::forget, name), pack(Op::poll, name)); }

// A poll of the ring always asks for POLLRDHUP, too, which is true behind a FIN. So it is one of
// many shots: the first says that, and the next comes when there is more to say.
void UringIo::arm_watch(Handle handle) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_poll_multishot(sqe, static_cast<int>(handle.slot), 0);
  sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = pack(Op::watch, handle);
}

void UringIo::watch(Handle handle) {
  Slot& slot = slots_[handle.slot];
  constexpr unsigned state = flag_open | flag_watched | flag_closing;
  RINGRPC_ASSERT((slot.flags & state) == flag_open, slot.flags);
  RINGRPC_ASSERT(slot.generation == handle.generation, slot.generation, handle.generation);
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_watched);
  slot.hang_up = 0;
  arm_watch(handle);
}

void UringIo::stop_watching(Handle handle) {
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT((slot.flags & flag_watched) != 0, slot.flags);
  if ((slot.flags & flag_unwatched) != 0) return;
  slot.flags = static_cast<std::uint8_t>(slot.flags | flag_unwatched);
  cancel(pack(Op::forget, handle), pack(Op::watch, handle));
}

bool UringIo::on_watch(const Completion& completion, Handle handle, Event& event) {
  Slot& slot = slots_[handle.slot];
  RINGRPC_ASSERT((slot.flags & flag_watched) != 0, slot.flags);
  if (completion.result > 0) {
    const int seen = slot.hang_up | (completion.result & (POLLERR | POLLHUP));
    slot.hang_up = static_cast<std::uint8_t>(seen);
  }
  const bool gone = slot.hang_up != 0;
  if ((completion.flags & IORING_CQE_F_MORE) != 0) {
    if (gone) cancel(pack(Op::forget, handle), pack(Op::watch, handle));
    return false;
  }
  const bool asked = (slot.flags & flag_unwatched) != 0;
  if (!asked && !gone && completion.result >= 0) {
    arm_watch(handle);  // The queue of completions was full.
    return false;
  }
  slot.flags = static_cast<std::uint8_t>(slot.flags & ~(flag_watched | flag_unwatched));
  event = Event{.kind = EventKind::gone,
                .result = gone ? slot.hang_up : completion.result,
                .socket = handle,
                .peer = {}};
  if (asked && event.result >= 0) event.result = -ECANCELED;
  return true;
}

}  // namespace ringrpc::io
