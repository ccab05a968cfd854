#pragma once

// One line each second on stderr while a run goes on. On a terminal each replaces the one before.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/ringload/runner.h"

namespace ringload {

// Thread: a thread of its own, from the constructor to the destructor. It only reads what the load
// threads publish. Lifetime: the runners outlive it.
class Progress {
 public:
  Progress(const Options& options, const std::vector<std::unique_ptr<Runner>>& runners);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run();
  void print(double seconds);

  const Options& options_;
  const std::vector<std::unique_ptr<Runner>>& runners_;
  bool terminal_;
  std::uint64_t answered_ = 0;  // at the line before
  double printed_s_ = 0;        // when that was
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace ringload
