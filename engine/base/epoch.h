#pragma once

// Quiescent-state reclamation: readers announce once a turn that they hold nothing, writers free
// what they replaced once every reader has said so. Readers pay one store and one fence a turn and
// nothing for each read; a sleeping reader counts as passed.
//
// Source: the quiescent-state-based scheme of user-space RCU (DPDK's rte_rcu_qsbr, liburcu-qsbr).

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#if defined(__SANITIZE_THREAD__)
#define RINGRPC_EPOCH_WITHOUT_FENCES
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RINGRPC_EPOCH_WITHOUT_FENCES
#endif
#endif

namespace ringrpc::base {

// Thread: join(), advance(), passed() by anyone; the rest by the reader's own thread.
class Epochs {
 public:
  // Owns: one cache line, so that readers do not disturb each other.
  struct alignas(64) Reader {
    // The epoch that this reader has seen, 0 while it sleeps.
    std::atomic<std::uint64_t> seen{0};
  };

  // Returns: a reader that lives as long as this object. Cold.
  Reader& join() {
    std::lock_guard lock(mutex_);
    return readers_.emplace_back();
  }

  // Says that the reader holds nothing read before, and is about to read.
  // The fence orders the announcement before the reads that follow; it pairs with the one in
  // passed(): a writer either sees the announcement, or the reader sees what the writer published.
  void announce(Reader& reader) const {
    // Release: pairs with the acquire in passed(); what was read before is not used after.
    reader.seen.store(epoch_.load(std::memory_order_acquire), std::memory_order_release);
    fence();
  }

  // Says that the reader holds nothing and will not read before it announces itself again.
  // Release: pairs with the acquire in passed(); what was read before is not used after.
  static void rest(Reader& reader) { reader.seen.store(0, std::memory_order_release); }

  // Begins a new epoch, after something new has been published.
  // Returns: the epoch that readers must have seen before what was replaced may go.
  std::uint64_t advance() { return epoch_.fetch_add(1, std::memory_order_seq_cst) + 1; }

  // Returns: whether every reader rests or has seen that epoch.
  [[nodiscard]] bool passed(std::uint64_t epoch) {
    fence();
    std::lock_guard lock(mutex_);
    for (const Reader& reader : readers_) {
      const std::uint64_t seen = reader.seen.load(std::memory_order_acquire);
      if (seen != 0 && seen < epoch) return false;
    }
    return true;
  }

 private:
  // The thread sanitizer does not know fences: there, a read-modify-write that all share orders the
  // same accesses.
  void fence() const {
#ifdef RINGRPC_EPOCH_WITHOUT_FENCES
    order_.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  std::atomic<std::uint64_t> epoch_{1};
  std::mutex mutex_;
  std::deque<Reader> readers_;
#ifdef RINGRPC_EPOCH_WITHOUT_FENCES
  mutable std::atomic<std::uint64_t> order_{0};
#endif
};

}  // namespace ringrpc::base
