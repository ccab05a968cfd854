#pragma once

// The requests of one connection whose replies may come in any order, oldest first.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringload {

// Cost: of a reply that comes in order a few instructions; of another one a move of those that were
// made before its request. Memory: as much as there were at once.
class InFlight {
 public:
  // `time`: when the request was made; `position`: where on the tape it stands.
  void push(std::uint64_t time, std::uint32_t position) {
    if (first_ > waiting_.size() / 2) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    waiting_.push_back({time, position});
  }
  [[nodiscard]] std::size_t size() const { return waiting_.size() - first_; }
  // Requires: i < size(), here and in take().
  [[nodiscard]] std::uint32_t position(std::size_t i) const {
    return waiting_[first_ + i].position;
  }
  // Returns: when it was made.
  std::uint64_t take(std::size_t i) {
    const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto taken = begin + static_cast<std::ptrdiff_t>(i);
    const std::uint64_t time = taken->time;
    std::move_backward(begin, taken, taken + 1);
    ++first_;
    return time;
  }
  void clear() {
    waiting_.clear();
    first_ = 0;
  }

 private:
  struct Request {
    std::uint64_t time;
    std::uint32_t position;
  };

  std::vector<Request> waiting_;
  std::size_t first_ = 0;  // what stands before it has been taken
};

}  // namespace ringload
