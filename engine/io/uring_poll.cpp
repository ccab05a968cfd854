// Descriptors of others, whose readiness is waited for on the ring.
//
// Sources: io_uring_prep_poll_add(3), io_uring_prep_cancel(3).

#include "engine/io/uring_io.h"

namespace ringrpc::io {

void UringIo::poll(Handle name, int fd, std::uint32_t events) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_poll_add(sqe, fd, events);
  sqe->user_data = pack(Op::poll, name);
}

void UringIo::stop_polling(Handle name) { cancel(pack(Op::forget, name), pack(Op::poll, name)); }

}  // namespace ringrpc::io
