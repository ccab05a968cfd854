#pragma once

// The figures of a run, for people and as JSON.

#include <string>
#include <vector>

#include "tools/ringload/runner.h"

namespace ringload {

struct Total {
  Window window;  // `ns` is the longest of all threads
  ReplyCounts replies;
  ErrorKinds kinds;
  Outside outside;
  std::uint64_t connects = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t unconnected = 0;
  std::uint64_t closed = 0;
  std::uint64_t reset = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t malformed = 0;
  std::uint64_t lost = 0;
  std::uint64_t unsent = 0;
  bool stalled = false;
};

// Durations of all threads.
struct Durations {
  ringrpc::base::Histogram latency;
  ringrpc::base::Histogram connecting;
};

// Adds up all threads.
Total add_up(const std::vector<const Outcome*>& outcomes, Durations& durations);

// Returns: true when every request of the run got a good answer, and at least one did.
bool all_good(const Total& total);

std::string text_report(const Options& options, const Total& total, const Durations& durations);
std::string json_report(const Options& options, const Total& total, const Durations& durations);

}  // namespace ringload
