// Goal: where the kernel or a container refuses io_uring, start() says why, leaves nothing behind,
//       and epoll can be started with the same listeners.
// Method: a seccomp filter in a child process, as container runtimes set it.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstddef>

#include "tests/unit/io/backend.h"

namespace ringrpc::testing {

namespace {

// From now on the system call fails with the error, for this process.
bool refuse(int call, int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = 4, .filter = program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// The child's work. Returns: its exit code, 0 when all is as it should be.
int start_refused(int call, int error, const char* expected) {
  if (!refuse(call, error)) return 77;
  io::Listener listener;
  if (!listener.open("127.0.0.1:0", 1).ok()) return 1;
  const int before = open_descriptors();
  const int sockets[] = {listener.socket(0)};
  base::Counters counters;
  const io::IoOptions options{.listeners = sockets, .counters = &counters};
  {
    io::UringIo uring;
    const base::Status status = uring.start(options);
    std::printf("%s\n", status.sentence().c_str());
    if (status.ok() || status.error() != error) return 2;
    if (status.sentence().find(expected) == std::string::npos) return 3;
  }
  if (open_descriptors() != before) return 4;
  io::EpollIo epoll;
  if (!epoll.start(options).ok()) return 5;
  listener.release(0);
  Peer peer(listener.port());
  io::Event event;
  for (int turns = 0; turns < 1000; ++turns) {
    epoll.wait(10'000'000);
    if (epoll.next(event)) return event.kind == io::EventKind::accepted ? 0 : 6;
  }
  return 7;
}

template <typename Work>
void expect_in_a_child(Work work, int error) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const int code = work();
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(WEXITSTATUS(status), 0) << std::strerror(error);
}

void expect_refusal(int call, int error, const char* expected) {
  expect_in_a_child([=] { return start_refused(call, error, expected); }, error);
}

}  // namespace

TEST(RefusalTest, ASeccompFilterIsNamedAsTheCause) {
  expect_refusal(SYS_io_uring_setup, EPERM, "seccomp");
}

TEST(RefusalTest, AMissingSystemCallIsNamedAsTheCause) {
  expect_refusal(SYS_io_uring_setup, ENOSYS, "kernel");
}

TEST(RefusalTest, ShortLockedMemoryIsNamedAsTheCause) {
  expect_refusal(SYS_io_uring_setup, ENOMEM, "ulimit -l");
}

TEST(RefusalTest, WhatIsRefusedOnceATestRunsIsNoReasonToSkipIt) {
  const bool refused = io_uring_is_refused();
  for (const int error : {ENOMEM, EPERM}) {
    const auto ask = [=] {
      if (!refuse(SYS_io_uring_setup, error)) return 77;
      return io_uring_is_refused() == refused ? 0 : 8;
    };
    expect_in_a_child(ask, error);
  }
}

TEST(RefusalTest, ARefusedRegistrationIsARefusalToo) {
  expect_refusal(SYS_io_uring_register, EPERM, "seccomp");
}

TEST(RefusalTest, ARefusedEntryIsARefusalToo) {
  expect_refusal(SYS_io_uring_enter, EPERM, "seccomp");
}

}  // namespace ringrpc::testing
