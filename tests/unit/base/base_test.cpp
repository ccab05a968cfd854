// Goal: epochs free nothing too early and everything in the end; counters and names belong
// together.

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/counters.h"
#include "engine/base/epoch.h"
#include "engine/base/histogram.h"

namespace ringrpc::base {
namespace {

TEST(Epochs, WithoutReadersEverythingHasPassed) {
  Epochs epochs;
  EXPECT_TRUE(epochs.passed(epochs.advance()));
}

TEST(Epochs, AReaderHoldsAnEpochBackUntilItAnnouncesItselfAgainOrRests) {
  Epochs epochs;
  Epochs::Reader& reader = epochs.join();
  EXPECT_TRUE(epochs.passed(epochs.advance())) << "a new reader sleeps";
  epochs.announce(reader);
  const std::uint64_t epoch = epochs.advance();
  EXPECT_FALSE(epochs.passed(epoch));
  epochs.announce(reader);
  EXPECT_TRUE(epochs.passed(epoch));
  const std::uint64_t later = epochs.advance();
  EXPECT_FALSE(epochs.passed(later));
  Epochs::rest(reader);
  EXPECT_TRUE(epochs.passed(later));
}

TEST(Epochs, OneSlowReaderIsEnough) {
  Epochs epochs;
  Epochs::Reader& quick = epochs.join();
  Epochs::Reader& slow = epochs.join();
  epochs.announce(slow);
  const std::uint64_t epoch = epochs.advance();
  epochs.announce(quick);
  EXPECT_FALSE(epochs.passed(epoch));
  Epochs::rest(slow);
  EXPECT_TRUE(epochs.passed(epoch));
}

// A value that is poisoned when it is freed: a reader that sees poison was freed under.
struct Guarded {
  int first = 1;
  int second = 1;
};

TEST(Epochs, ReadersNeverSeeWhatIsFreed) {
  Epochs epochs;
  std::atomic<Guarded*> current{new Guarded};
  std::atomic<bool> over{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&epochs, &current, &over, &bad, &reader = epochs.join()] {
      while (!over.load()) {
        epochs.announce(reader);
        // As a worker does: announced again each turn, resting only now and then.
        for (int i = 0; i < 3; ++i) {
          const Guarded* value = current.load(std::memory_order_acquire);
          if (value->first != value->second) bad.fetch_add(1);
          epochs.announce(reader);
        }
        Epochs::rest(reader);
      }
    });
  }
  for (int i = 1; i < 300; ++i) {
    Guarded* const last = current.exchange(new Guarded{i, i}, std::memory_order_acq_rel);
    const std::uint64_t epoch = epochs.advance();
    while (!epochs.passed(epoch)) std::this_thread::yield();
    last->second = -1;
    delete last;
  }
  over.store(true);
  for (std::thread& reader : readers) reader.join();
  delete current.load();
  EXPECT_EQ(bad.load(), 0);
}

TEST(Counters, EachHasANameOfItsOwnAndCountsAlone) {
  const std::set<std::string_view> names(counter_names.begin(), counter_names.end());
  EXPECT_EQ(names.size(), counter_count);
  Counters counters;
  counters.add(Counter::turns);
  counters.add(Counter::bytes_in, 41);
  counters.add(Counter::bytes_in);
  EXPECT_EQ(counters.get(Counter::turns), 1u);
  EXPECT_EQ(counters.get(Counter::bytes_in), 42u);
  EXPECT_EQ(counters.get(Counter::bytes_out), 0u);
}

TEST(Histogram, CountsWhatIsAtOrBelowABoundWithinItsPrecision) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 1000; ++value) histogram.record(value * 1000);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_NEAR(histogram.mean(), 500'500.0, 20'000.0);
  EXPECT_EQ(histogram.count_up_to(2'000'000), 1000u);
  EXPECT_NEAR(static_cast<double>(histogram.count_up_to(500'000)), 500.0, 30.0);
}

}  // namespace
}  // namespace ringrpc::base
