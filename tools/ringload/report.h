#pragma once

// The figures of a run, for people and as JSON.

#include <string>
#include <vector>

#include "tools/ringload/runner.h"

namespace ringload {

struct Total {
  Window window;  // `ns` is the longest of all threads
  ReplyCounts replies;
  std::uint64_t closed = 0;
  std::uint64_t malformed = 0;
  std::uint64_t lost = 0;
  bool stalled = false;
};

// Adds up all threads; latencies go to `latency`.
Total add_up(const std::vector<const Outcome*>& outcomes, ringrpc::base::Histogram& latency);

// Returns: true when every request of the run got a good answer, and at least one did.
bool all_good(const Total& total);

std::string text_report(const Options& options, const Total& total,
                        const ringrpc::base::Histogram& latency);
std::string json_report(const Options& options, const Total& total,
                        const ringrpc::base::Histogram& latency);

}  // namespace ringload
