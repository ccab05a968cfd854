#pragma once

// How often each method ran and how each call ended, counted by one worker.

#include <ringrpc/limits.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/rpc/errors.h"

namespace ringrpc::rpc {

// Owns:   8 bytes for each name that can be registered.
// Thread: counted by one thread, read by any; relaxed loads and stores of whole words.
class CallStats {
 public:
  CallStats() : started_(std::make_unique<Word[]>(limits::methods_max)) {}

  void count_start(std::uint32_t slot) { bump(started_[slot]); }
  void count_unknown() { bump(unknown_); }
  // An index of error_texts, or error_text_count for an application's code.
  void count_error(std::size_t index) { bump(errors_[index]); }

  [[nodiscard]] std::uint64_t started(std::uint32_t slot) const { return get(started_[slot]); }
  [[nodiscard]] std::uint64_t unknown() const { return get(unknown_); }
  [[nodiscard]] std::uint64_t errors(std::size_t index) const { return get(errors_[index]); }

 private:
  using Word = std::atomic<std::uint64_t>;

  static void bump(Word& word) {
    word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  static std::uint64_t get(const Word& word) { return word.load(std::memory_order_relaxed); }

  std::unique_ptr<Word[]> started_;
  Word unknown_{0};
  std::array<Word, error_text_count + 1> errors_{};
};

}  // namespace ringrpc::rpc
