#include "tools/ringtop/stop.h"

#include <cerrno>
#include <ctime>

#include "engine/base/clock.h"

namespace ringtop {
namespace {

constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr std::uint64_t ns_per_s = 1'000'000'000;

volatile std::sig_atomic_t asked = 0;

void on_signal(int) { asked = 1; }

}  // namespace

Stop::Stop() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int one : stop_signals) sigaddset(&blocked, one);
  sigprocmask(SIG_BLOCK, &blocked, &before_);
  for (const int one : stop_signals) {
    struct sigaction action = {};
    sigaction(one, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = on_signal;
    sigaction(one, &action, nullptr);
  }
}

Stop::~Stop() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

Stop::Wait Stop::wait(int fd, short events, std::uint64_t deadline_ns) const {
  for (;;) {
    if (asked != 0) return Wait::stopped;
    const std::uint64_t now_ns = ringrpc::base::monotonic_ns();
    const std::uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    timespec left = {};
    left.tv_sec = static_cast<std::time_t>(left_ns / ns_per_s);
    left.tv_nsec = static_cast<long>(left_ns % ns_per_s);
    pollfd one = {.fd = fd, .events = events, .revents = 0};
    const int count = ppoll(&one, 1, &left, &before_);
    if (count > 0) return Wait::ready;
    if (count == 0) return asked != 0 ? Wait::stopped : Wait::timed_out;
    if (errno != EINTR) return Wait::timed_out;
  }
}

}  // namespace ringtop
