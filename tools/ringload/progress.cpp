#include "tools/ringload/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace ringload {

namespace {

constexpr auto between_lines = std::chrono::seconds(1);

}  // namespace

Progress::Progress(const Options& options, const std::vector<std::unique_ptr<Runner>>& runners)
    : options_(options), runners_(runners), terminal_(isatty(STDERR_FILENO) == 1) {
  if (options.progress) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::run() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, between_lines, [this] { return ended_; })) {
    print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void Progress::print(double seconds) {
  std::uint64_t answered = 0;
  std::uint64_t errors = 0;
  std::uint64_t late = 0;
  std::uint32_t connections = 0;
  bool measuring = true;
  std::uint64_t p99_ns = 0;
  for (const std::unique_ptr<Runner>& runner : runners_) {
    const Live& live = runner->live();
    answered += live.answered.load(std::memory_order_relaxed);
    errors += live.errors.load(std::memory_order_relaxed);
    late += live.late.load(std::memory_order_relaxed);
    connections += live.connections.load(std::memory_order_relaxed);
    measuring = measuring && live.measuring.load(std::memory_order_relaxed);
    p99_ns = std::max(p99_ns, runner->outcome().latency.percentile(99));
  }
  const double rate = static_cast<double>(answered - answered_) / (seconds - printed_s_);
  answered_ = answered;
  printed_s_ = seconds;
  std::fprintf(stderr, "%s%6.1f s  %10.0f/s  p99 %.1f us  errors %llu", terminal_ ? "\r" : "",
               seconds, rate, static_cast<double>(p99_ns) / 1000,
               static_cast<unsigned long long>(errors));
  if (options_.open_loop)
    std::fprintf(stderr, "  late %llu", static_cast<unsigned long long>(late));
  std::fprintf(stderr, "  connections %u%s%s", connections, measuring ? "" : "  (warming up)",
               terminal_ ? "\x1b[K" : "\n");
}

}  // namespace ringload
