#pragma once

// Timers of calls: exact, few at a time compared with the connections' (io/timer_wheel.h), and each
// set once.

#include <cstddef>
#include <cstdint>

#include "engine/base/memory.h"
#include "engine/base/status.h"

namespace ringrpc::base {

// A heap with four children a node, over timers that are named by small numbers.
// Owns:     16 bytes for each timer that may run, and 4 for each name.
// Thread:   one owner.
// Cost:     set and clear O(log running), next_ns O(1).
// Invariant: a name is in the heap at most once; no entry is due before its parent.
class TimerHeap {
 public:
  TimerHeap() = default;
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;

  // Fails: no memory.
  Status start(std::uint32_t names);

  // Sets or moves a timer. Requires: name < names; due_ns > 0.
  void set(std::uint32_t name, std::uint64_t due_ns);
  // Stops a timer, if it runs.
  void clear(std::uint32_t name);

  // Returns: true and one timer that is due (and runs no more), the earliest first; false when
  // there is no further one.
  bool advance(std::uint64_t now_ns, std::uint32_t& name);

  // Returns: when the earliest is due; 0 without any.
  [[nodiscard]] std::uint64_t next_ns() const { return count_ == 0 ? 0 : entries_[0].due_ns; }
  [[nodiscard]] std::uint32_t count() const { return count_; }

  void check_invariants() const;

 private:
  struct Entry {
    std::uint64_t due_ns;
    std::uint32_t name;
  };

  void place(std::uint32_t at, const Entry& entry);
  void rise(std::uint32_t at, const Entry& entry);
  void sink(std::uint32_t at, const Entry& entry);
  void move(std::uint32_t at, const Entry& entry);

  ZeroedArray<Entry> entries_;
  ZeroedArray<std::uint32_t> places_;  // by name: 1 + where it is in the heap; 0: it does not run
  std::uint32_t count_ = 0;
};

}  // namespace ringrpc::base
