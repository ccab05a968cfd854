// Goal: blocks hold what they promise, keep their bytes when they grow, and the pool stays within
// its bound and gives large blocks back to the kernel.

#include "engine/serve/partial_pool.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace ringrpc::serve {
namespace {

void fill(Partial& partial, const std::string& text) {
  std::memcpy(partial.data() + partial.end, text.data(), text.size());
  partial.end += static_cast<std::uint32_t>(text.size());
}

std::string_view bytes_of(Partial& partial) {
  return {partial.data() + partial.begin, partial.end - partial.begin};
}

TEST(PartialPool, ABlockHasTheRoomAskedForAndPaddingBehindIt) {
  PartialPool pool(64u << 20);
  for (const std::uint32_t size : {0u, 1u, 3903u, 3904u, 3905u, 4096u, 70'000u, 5u << 20}) {
    Partial* partial = pool.take(size);
    ASSERT_NE(partial, nullptr) << size;
    EXPECT_GE(partial->capacity, size);
    EXPECT_EQ(partial->room(), partial->capacity);
    std::memset(partial->data(), 'x', partial->capacity + limits::padding);
    pool.give(partial);
  }
  EXPECT_EQ(pool.blocks_taken(), 0u);
}

TEST(PartialPool, AReusedBlockIsEmpty) {
  PartialPool pool(1u << 20);
  Partial* first = pool.take(100);
  fill(*first, "abc");
  first->head_size = 3;
  first->chunked = true;
  first->unread = true;
  first->started_ms = 7;
  pool.give(first);
  Partial* second = pool.take(100);
  EXPECT_EQ(second, first) << "small blocks are kept";
  EXPECT_EQ(second->end + second->head_size + second->started_ms, 0u);
  EXPECT_FALSE(second->chunked || second->unread || second->whole);
  pool.give(second);
}

TEST(PartialPool, LargeBlocksGoBackToTheKernelAtOnce) {
  PartialPool pool(64u << 20);
  Partial* large = pool.take(1u << 20);
  EXPECT_GT(pool.bytes_mapped(), 1u << 20);
  pool.give(large);
  EXPECT_EQ(pool.bytes_mapped(), 0u);
}

TEST(PartialPool, AsManyOfTheLargestMessagesFitAsThePoolHasRoomFor) {
  constexpr std::uint32_t largest = limits::message_size_max + limits::head_size_max;
  PartialPool pool(limits::partial_pool_size, largest);
  std::vector<Partial*> blocks;
  while (Partial* block = pool.take(limits::message_size_max + 150)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), limits::partial_pool_size / largest);
  EXPECT_EQ(blocks.size(), 15u);
  for (Partial* block : blocks) pool.give(block);
}

TEST(PartialPool, RoundingLosesAQuarterAtMost) {
  PartialPool pool(64u << 20);
  for (std::uint32_t size = 70'000; size < (40u << 20); size += size / 7) {
    Partial* partial = pool.take(size);
    ASSERT_NE(partial, nullptr);
    EXPECT_GE(partial->capacity, size);
    EXPECT_LE(pool.bytes_mapped(), std::size_t{size} + size / 4 + 4096) << size;
    pool.give(partial);
  }
}

TEST(PartialPool, ALargeBlockGrowsWithoutAnotherOneBesideItAndWithoutCopying) {
  PartialPool pool(3u << 20);
  Partial* partial = pool.take(100'000);
  fill(*partial, std::string(100'000, 'a'));
  std::uint64_t copied = 0;
  Partial* larger = pool.grow(partial, 2'800'000, copied);  // Old and new would not fit together.
  ASSERT_NE(larger, nullptr);
  EXPECT_EQ(copied, 0u);
  EXPECT_EQ(bytes_of(*larger), std::string(100'000, 'a'));
  std::memset(larger->data() + larger->end, 'x', larger->room() + limits::padding);
  larger->begin = 60'000;
  EXPECT_EQ(pool.grow(larger, 3'080'000, copied), larger) << "giving up what was read is enough";
  EXPECT_EQ(copied, 40'000u);
  EXPECT_EQ(bytes_of(*larger), std::string(40'000, 'a'));
  EXPECT_EQ(pool.grow(larger, 4'000'000, copied), nullptr);
  EXPECT_EQ(bytes_of(*larger), std::string(40'000, 'a'));
  EXPECT_EQ(pool.blocks_taken(), 1u);
  pool.give(larger);
  EXPECT_EQ(pool.bytes_mapped(), 0u);
}

TEST(PartialPool, GrowingKeepsTheBytesFromBeginAndCountsThemOnce) {
  PartialPool pool(1u << 20);
  Partial* partial = pool.take(100);
  fill(*partial, "goneSTAYS");
  partial->begin = 4;
  partial->started_ms = 99;
  partial->chunked = true;
  std::uint64_t copied = 0;
  EXPECT_EQ(pool.grow(partial, 10, copied), partial);
  EXPECT_EQ(copied, 0u);
  Partial* larger = pool.grow(partial, 50'000, copied);
  ASSERT_NE(larger, nullptr);
  EXPECT_NE(larger, partial);
  EXPECT_EQ(bytes_of(*larger), "STAYS");
  EXPECT_EQ(copied, 5u);
  EXPECT_GE(larger->room(), 50'000u);
  EXPECT_EQ(larger->started_ms, 99u);
  EXPECT_TRUE(larger->chunked);
  EXPECT_EQ(pool.blocks_taken(), 1u);
  pool.give(larger);
}

TEST(PartialPool, RefusesWhatIsOverItsBoundAndKeepsTheOldBlock) {
  PartialPool pool(3 * 4096);
  Partial* one = pool.take(10);
  Partial* two = pool.take(10);
  Partial* three = pool.take(10);
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(pool.take(10), nullptr);
  fill(*one, "kept");
  std::uint64_t copied = 0;
  EXPECT_EQ(pool.grow(one, 5000, copied), nullptr);
  EXPECT_EQ(bytes_of(*one), "kept");
  pool.give(two);
  EXPECT_NE(two = pool.take(10), nullptr) << "one block is exactly within the bound";
  pool.give(one);
  pool.give(two);
  pool.give(three);
}

TEST(PartialPool, FreeBlocksOfOneSizeMakeRoomForAnother) {
  PartialPool pool(8 * 4096);
  std::vector<Partial*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.take(10));
  for (Partial* block : blocks) pool.give(block);
  EXPECT_EQ(pool.bytes_mapped(), 8u * 4096);
  Partial* large = pool.take(20'000);
  ASSERT_NE(large, nullptr);
  EXPECT_LE(pool.bytes_mapped(), 8u * 4096);
  pool.give(large);
}

TEST(PartialPool, RandomUseStaysWithinTheBoundAndEndsEmpty) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::size_t bound = 1u << 20;
  PartialPool pool(bound);
  struct Held {
    Partial* partial;
    std::string text;
  };
  std::vector<Held> held;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint32_t draw = static_cast<std::uint32_t>(random() % 4);
    if (draw == 0 || held.empty()) {
      Partial* partial = pool.take(static_cast<std::uint32_t>(random() % 200'000));
      if (partial != nullptr) held.push_back({partial, {}});
    } else if (draw == 1) {
      const std::size_t which = random() % held.size();
      EXPECT_EQ(bytes_of(*held[which].partial), held[which].text);
      pool.give(held[which].partial);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      Held& one = held[random() % held.size()];
      const std::string more(random() % 6000, static_cast<char>('a' + random() % 26));
      std::uint64_t copied = 0;
      Partial* grown = pool.grow(one.partial, static_cast<std::uint32_t>(more.size()), copied);
      if (grown == nullptr) continue;
      one.partial = grown;
      fill(*grown, more);
      one.text += more;
    }
    ASSERT_LE(pool.bytes_mapped(), bound);
    ASSERT_EQ(pool.blocks_taken(), held.size());
  }
  for (const Held& one : held) {
    EXPECT_EQ(bytes_of(*one.partial), one.text);
    pool.give(one.partial);
  }
}

}  // namespace
}  // namespace ringrpc::serve
