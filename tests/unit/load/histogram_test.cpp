// Goal:   durations keep three significant digits from 1 us to 60 s, whatever was recorded.
// Method: bucket borders one by one, and random durations against a sorted vector of them.

#include "engine/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace ringrpc::base {
namespace {

TEST(HistogramTest, AnEmptyOneAnswersZero) {
  const auto histogram = std::make_unique<Histogram>();
  EXPECT_EQ(histogram->count(), 0u);
  EXPECT_EQ(histogram->percentile(50), 0u);
  EXPECT_EQ(histogram->min(), 0u);
  EXPECT_EQ(histogram->max(), 0u);
  EXPECT_EQ(histogram->mean(), 0.0);
}

TEST(HistogramTest, EveryBucketEndsWhereTheNextBegins) {
  const std::size_t last = Histogram::bucket_of(Histogram::value_max);
  for (std::size_t bucket = 0; bucket < last; ++bucket) {
    const std::uint64_t end = Histogram::last_value_of(bucket);
    ASSERT_EQ(Histogram::bucket_of(end), bucket);
    ASSERT_EQ(Histogram::bucket_of(end + 1), bucket + 1);
  }
}

TEST(HistogramTest, ABucketIsNeverWiderThanAThousandthOfItsValues) {
  for (std::uint64_t value = 1000; value <= Histogram::value_max; value += 1 + value / 777) {
    const std::size_t bucket = Histogram::bucket_of(value);
    const std::uint64_t first = Histogram::last_value_of(bucket - 1) + 1;
    const std::uint64_t width = Histogram::last_value_of(bucket) - first + 1;
    ASSERT_LE(first, value);
    ASSERT_LE(static_cast<double>(width) / static_cast<double>(first), 0.001) << value;
  }
}

TEST(HistogramTest, LongerThanAMinuteCountsAsAMinuteButTheMaximumIsExact) {
  const auto histogram = std::make_unique<Histogram>();
  histogram->record(Histogram::value_max * 5);
  EXPECT_EQ(histogram->max(), Histogram::value_max * 5);
  EXPECT_EQ(histogram->count_up_to(Histogram::value_max), 1u);
}

TEST(HistogramTest, OnePercentileOfOneValueIsThatValue) {
  const auto histogram = std::make_unique<Histogram>();
  histogram->record(123'457);
  for (const double percent : {0.0, 50.0, 99.9, 100.0}) {
    EXPECT_EQ(histogram->percentile(percent), 123'457u);
  }
  EXPECT_EQ(histogram->min(), 123'457u);
}

TEST(HistogramTest, PercentilesOfRandomDurationsAreWithinAThousandth) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(3.0, 10.7);
  const auto histogram = std::make_unique<Histogram>();
  std::vector<std::uint64_t> all;
  double sum = 0;
  for (int i = 0; i < 50'000; ++i) {
    const auto value = static_cast<std::uint64_t>(std::pow(10.0, exponent(random)));
    const std::uint64_t times = 1 + random() % 3;
    histogram->record(value, times);
    all.insert(all.end(), times, value);
    sum += static_cast<double>(value * times);
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(histogram->count(), all.size());
  EXPECT_EQ(histogram->max(), all.back());
  EXPECT_EQ(histogram->min(), all.front());
  EXPECT_NEAR(histogram->mean() / (sum / static_cast<double>(all.size())), 1.0, 1e-9);
  for (const double percent : {1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const double rank = std::ceil(percent / 100 * static_cast<double>(all.size()));
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(rank) - 1]);
    const auto given = static_cast<double>(histogram->percentile(percent));
    EXPECT_GE(given, exact) << percent;
    EXPECT_LE(given, exact * 1.001) << percent;
  }
}

TEST(HistogramTest, MergingCountsWhatBothHaveSeen) {
  const auto all = std::make_unique<Histogram>();
  const auto one = std::make_unique<Histogram>();
  const auto two = std::make_unique<Histogram>();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    (i % 3 == 0 ? *one : *two).record(i * 1000);
    all->record(i * 1000);
  }
  one->merge(*two);
  EXPECT_EQ(one->count(), all->count());
  EXPECT_EQ(one->min(), all->min());
  EXPECT_EQ(one->max(), all->max());
  EXPECT_EQ(one->mean(), all->mean());
  for (int percent = 0; percent <= 100; ++percent) {
    EXPECT_EQ(one->percentile(percent), all->percentile(percent));
  }
  two->clear();
  EXPECT_EQ(two->count(), 0u);
  EXPECT_EQ(two->percentile(99), 0u);
  EXPECT_EQ(one->count(), all->count());
}

TEST(HistogramTest, CountUpToIsCumulative) {
  const auto histogram = std::make_unique<Histogram>();
  for (const std::uint64_t value : {10u, 1'000u, 1'000u, 5'000'000u}) histogram->record(value);
  EXPECT_EQ(histogram->count_up_to(9), 0u);
  EXPECT_EQ(histogram->count_up_to(10), 1u);
  EXPECT_EQ(histogram->count_up_to(1'000), 3u);
  EXPECT_EQ(histogram->count_up_to(1'000'000), 3u);
  EXPECT_EQ(histogram->count_up_to(6'000'000), 4u);
}

}  // namespace
}  // namespace ringrpc::base
