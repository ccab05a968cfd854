// Goal: a server that is not given what it needs says so in one line, with the cause and what to
//       try; where another way is open it takes it. Of many that want one port, one gets it.
// Method: seccomp filters and limits in a child process; threads that begin at once.

#include <grp.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/io/listener.h"
#include "tests/fault/child.h"
#include "tests/fault/house.h"
#include "tests/support/io_uring.h"

namespace ringrpc::testing {
namespace {

// From now on io_uring_setup fails with the error, for this process.
void refuse_io_uring(int error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = 4, .filter = program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    _exit(77);
  }
}

// 64 KiB of locked memory, and no privilege that makes the limit void.
void limit_locked_memory() {
  const rlimit limit{65'536, 65'536};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) _exit(77);
  if (getuid() != 0) return;
  constexpr unsigned nobody = 65'534;
  if (setgroups(0, nullptr) != 0 || setgid(nobody) != 0 || setuid(nobody) != 0) _exit(77);
}

void expect_served(Child& child) {
  Socket peer(child.port());
  EXPECT_EQ(status_of(call_over(peer, "sum", R"({"a":2,"b":3})")), 200);
}

}  // namespace

TEST(StartTest, WithoutIoUringItTakesEpollAndSaysWhy) {
  for (const int error : {EPERM, ENOSYS}) {
    Child child({.options = Child::options(IoChoice::automatic),
                 .before = [error] { refuse_io_uring(error); }});
    ASSERT_NE(child.port(), 0) << child.start_line();
    EXPECT_NE(child.start_line().find(", epoll (io_uring is not usable (io_uring_setup): "),
              std::string::npos)
        << child.start_line();
    EXPECT_NE(child.start_line().find("seccomp"), std::string::npos) << child.start_line();
    expect_served(child);
    EXPECT_EQ(child.stop(), 0);
    EXPECT_EQ(child.errors(), "");
  }
}

TEST(StartTest, WithoutIoUringItDoesNotPretendWhenItIsAskedFor) {
  for (const int error : {EPERM, ENOSYS}) {
    Child child({.options = Child::options(IoChoice::uring),
                 .before = [error] { refuse_io_uring(error); }});
    EXPECT_EQ(child.wait(), 3);
    EXPECT_EQ(child.start_line().find("ringrpc: io_uring is not usable (io_uring_setup): "), 0u)
        << child.start_line();
    EXPECT_EQ(child.errors(), "");
  }
}

TEST(StartTest, WithLittleLockedMemoryItServesOrSaysWhatIsShort) {
  for (const IoChoice io : {IoChoice::automatic, IoChoice::uring, IoChoice::epoll}) {
    Options options = Child::options(io);
    options.workers = 2;
    Child child({.options = options, .before = limit_locked_memory});
    if (io == IoChoice::uring && child.port() == 0) {
      // Where rings count as locked memory, that is what is said; or the kernel has no rings at
      // all.
      const bool said = child.start_line().find("locked memory") != std::string::npos;
      EXPECT_TRUE(said || io_uring_is_refused()) << child.start_line();
      EXPECT_EQ(child.wait(), 3);
      EXPECT_EQ(child.errors(), "");
      continue;
    }
    ASSERT_NE(child.port(), 0) << child.start_line();
    expect_served(child);
    EXPECT_EQ(child.stop(), 0);
    EXPECT_EQ(child.errors(), "");
  }
}

TEST(StartTest, WithoutDescriptorsItSaysSo) {
  for (const IoChoice io : {IoChoice::uring, IoChoice::epoll}) {
    Child child({.options = Child::options(io), .before = [] {
                   const rlimit limit{4, 4};  // The standard ones and one more.
                   if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(77);
                 }});
    EXPECT_EQ(child.wait(), 3) << child.start_line();
    EXPECT_NE(child.start_line().find("ulimit -n"), std::string::npos) << child.start_line();
    EXPECT_EQ(child.errors(), "");
  }
}

TEST(StartTest, OfManyThatWantOnePortAtOnceExactlyOneGetsIt) {
  constexpr std::uint32_t rivals = 25;
  for (int round = 0; round < 40; ++round) {
    std::string address;
    {
      // An address of our own: on 127.0.0.1 somebody else's connection may take the port meanwhile.
      const std::string own = "127.77." + std::to_string(getpid() / 250 % 250 + 1) + "." +
                              std::to_string(getpid() % 250 + 1);
      io::Listener free;
      ASSERT_TRUE(free.open(own + ":0", 1).ok());
      address = free.address();
    }
    std::vector<std::unique_ptr<io::Listener>> listeners;
    for (std::uint32_t i = 0; i < rivals; ++i)
      listeners.push_back(std::make_unique<io::Listener>());
    std::atomic<std::uint32_t> waiting{0};
    std::atomic<std::uint32_t> taken{0};
    std::atomic<std::uint32_t> refused{0};
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < rivals; ++i) {
      threads.emplace_back([&, i] {
        waiting.fetch_add(1);
        while (waiting.load() != rivals) std::this_thread::yield();
        const base::Status status = listeners[i]->open(address, 2);
        if (status.ok()) taken.fetch_add(1);
        if (status.error() == EADDRINUSE) refused.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(taken.load(), 1u) << "round " << round;
    ASSERT_EQ(refused.load(), rivals - 1) << "round " << round;
  }
}

}  // namespace ringrpc::testing
