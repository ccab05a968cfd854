#pragma once

// A log-linear histogram of durations: 3 significant digits from 1 us to 60 s.
//
// Source: the bucket layout of HdrHistogram, http://hdrhistogram.org.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ringrpc::base {

// Counts of durations in nanoseconds. Each power of two is cut into 1,024 equal buckets, so a value
// is known to 1/1024 of itself; below 1,024 ns to the nanosecond. Longer durations than 60 s count
// as 60 s, but max() is exact.
// Owns:      216 KiB, of which a run touches the few pages that its durations fall on.
// Thread:    record() and clear() by one thread only, the rest by any. A single writer needs no
//            atomic read-modify-write: a relaxed load and store are plain moves.
// Cost:      record() is one shift and five plain stores.
// Invariant: count() is the sum of all buckets, as seen by the writer.
class Histogram {
 public:
  static constexpr std::uint64_t value_max = 60'000'000'000;
  static constexpr unsigned precision_bits = 10;

  // Counts `times` events that took `value` nanoseconds each.
  void record(std::uint64_t value, std::uint64_t times = 1) {
    add(buckets_[bucket_of(value)], times);
    add(count_, times);
    add(sum_, value * times);
    if (value > get(max_)) max_.store(value, std::memory_order_relaxed);
    if (value < get(min_)) min_.store(value, std::memory_order_relaxed);
  }

  // Adds everything that `other` has counted. The writer of this histogram only.
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) add(buckets_[i], get(other.buckets_[i]));
    add(count_, get(other.count_));
    add(sum_, get(other.sum_));
    max_.store(std::max(get(max_), get(other.max_)), std::memory_order_relaxed);
    min_.store(std::min(get(min_), get(other.min_)), std::memory_order_relaxed);
  }

  void clear() {
    for (std::atomic<std::uint64_t>& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
    count_.store(0, std::memory_order_relaxed);
    sum_.store(0, std::memory_order_relaxed);
    max_.store(0, std::memory_order_relaxed);
    min_.store(min_when_empty, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t count() const { return get(count_); }
  [[nodiscard]] std::uint64_t max() const { return get(max_); }
  [[nodiscard]] std::uint64_t min() const { return count() == 0 ? 0 : get(min_); }
  [[nodiscard]] double mean() const {
    return count() == 0 ? 0.0 : static_cast<double>(get(sum_)) / static_cast<double>(count());
  }

  // Requires: percent in [0, 100].
  // Returns: the duration that `percent` of all events did not exceed, rounded up to the last
  // nanosecond of its bucket, never above max(); 0 when nothing was counted.
  [[nodiscard]] std::uint64_t percentile(double percent) const {
    const std::uint64_t total = count();
    if (total == 0) return 0;
    const double exact = std::ceil(percent / 100.0 * static_cast<double>(total));
    const std::uint64_t rank =
        std::clamp(static_cast<std::uint64_t>(exact), std::uint64_t{1}, total);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += get(buckets_[i]);
      if (seen >= rank) return std::min(last_value_of(i), max());
    }
    return max();  // A reader beside the writer may see the count before the bucket.
  }

  // Returns: how many events took at most `value` nanoseconds, to the precision of a bucket. For
  // the cumulative buckets of an exposition format.
  [[nodiscard]] std::uint64_t count_up_to(std::uint64_t value) const {
    std::uint64_t seen = 0;
    const std::size_t last = bucket_of(value);
    for (std::size_t i = 0; i <= last; ++i) seen += get(buckets_[i]);
    return seen;
  }

  // Calls see(value, count) for each bucket that counted something, from the shortest duration;
  // `value` is the last of the bucket, never above max().
  template <typename See>
  void for_each(See&& see) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (const std::uint64_t n = get(buckets_[i]); n != 0)
        see(std::min(last_value_of(i), max()), n);
    }
  }

  // Values below 2,048 have a bucket each; from there the upper 11 bits of a value choose it.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    value = std::min(value, value_max);
    const auto shift = static_cast<unsigned>(std::bit_width(value | half)) - (precision_bits + 1);
    return static_cast<std::size_t>(shift * half + (value >> shift));
  }

  static constexpr std::uint64_t last_value_of(std::size_t bucket) {
    if (bucket < 2 * half) return bucket;
    const unsigned shift = static_cast<unsigned>(bucket / half) - 1;
    return ((bucket - shift * half + 1) << shift) - 1;
  }

 private:
  static constexpr std::uint64_t half = 1u << precision_bits;
  static constexpr std::uint64_t min_when_empty = std::numeric_limits<std::uint64_t>::max();

  static std::uint64_t get(const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  }
  static void add(std::atomic<std::uint64_t>& value, std::uint64_t n) {
    value.store(get(value) + n, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, 27 * half> buckets_{};  // 60 s falls on 27,388
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> max_{0};
  std::atomic<std::uint64_t> min_{min_when_empty};
};

static_assert(Histogram::bucket_of(0) == 0);
static_assert(Histogram::bucket_of(2047) == 2047 && Histogram::bucket_of(2048) == 2048);
static_assert(Histogram::last_value_of(2048) == 2049);
static_assert(Histogram::bucket_of(Histogram::value_max) < 27'648);

}  // namespace ringrpc::base
