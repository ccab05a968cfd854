#pragma once

// Whether this machine has io_uring at all, asked without our code.

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ringrpc::testing {

// Returns: 0, or why the kernel gives no plain ring.
inline int ask_for_a_ring() {
  io_uring_params parameters{};
  const long fd = syscall(SYS_io_uring_setup, 8, &parameters);
  if (fd < 0) return errno;
  close(static_cast<int>(fd));
  return 0;
}

// What the kernel said before main(), while nothing of ours was there: memory that it lacks later
// (ENOMEM) may be memory that we have not given back, and that is a failure.
inline const int ring_refusal = ask_for_a_ring();

// Returns: whether the kernel refuses a plain ring, which is the one reason to skip a test of the
// backend. Whatever else keeps it from starting is a failure.
inline bool io_uring_is_refused() {
  return ring_refusal == EPERM || ring_refusal == EACCES || ring_refusal == ENOSYS ||
         ring_refusal == ENOMEM;
}

}  // namespace ringrpc::testing

// Goes on when a server of that backend has started; skips the test where the kernel refuses
// io_uring, and fails it for every other reason.
#define RINGRPC_STARTED(started, io, reason)                                               \
  if (!(started)) {                                                                        \
    if ((io) == ::ringrpc::IoChoice::uring && ::ringrpc::testing::io_uring_is_refused()) { \
      GTEST_SKIP() << "the kernel refuses io_uring: " << (reason);                         \
    }                                                                                      \
    FAIL() << "the server did not start: " << (reason);                                    \
  }                                                                                        \
  static_assert(true)
