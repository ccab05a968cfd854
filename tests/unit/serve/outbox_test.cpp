// Goal: replies leave in the order and with the bytes they were written in, whatever mixture of
// slabs and mappings held them, and all memory comes back.
// Method: single steps, then random commits and sends against plain strings.

#include "engine/serve/outbox.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>

namespace ringrpc::serve {
namespace {

constexpr Outbox::Options small{.slab_size = 4096,
                                .slab_count = 3,
                                .segment_count = 4,
                                .reply_size_max = 16'000,
                                .mapped_max = 4u << 20};

bool append(Outbox& outbox, OutList& list, const std::string& text) {
  const Outbox::Room room = outbox.open(static_cast<std::uint32_t>(text.size()));
  if (room.empty()) return false;
  std::memcpy(room.begin, text.data(), text.size());
  return outbox.commit(list, room.begin, static_cast<std::uint32_t>(text.size()));
}

std::string unsent(Outbox& outbox, OutList& list) {
  std::string text;
  while (!list.empty()) {
    const Segment& front = outbox.front(list);
    const std::uint32_t left = front.size - front.taken;
    text.append(front.data + front.taken, left);
    outbox.taken(list, left);
  }
  return text;
}

TEST(Outbox, RepliesOfOneConnectionAreOneRange) {
  Outbox outbox(small);
  OutList list;
  ASSERT_TRUE(append(outbox, list, "first "));
  ASSERT_TRUE(append(outbox, list, "second"));
  EXPECT_EQ(list.size, 12u);
  EXPECT_EQ(outbox.segments_taken(), 1u);
  EXPECT_EQ(outbox.front(list).size, 12u);
  EXPECT_EQ(unsent(outbox, list), "first second");
  EXPECT_EQ(outbox.segments_taken(), 0u);
}

TEST(Outbox, AnotherConnectionsReplyEndsTheRange) {
  Outbox outbox(small);
  OutList one;
  OutList two;
  ASSERT_TRUE(append(outbox, one, "a"));
  ASSERT_TRUE(append(outbox, two, "b"));
  ASSERT_TRUE(append(outbox, one, "c"));
  EXPECT_EQ(outbox.segments_taken(), 3u);
  EXPECT_EQ(unsent(outbox, one), "ac");
  EXPECT_EQ(unsent(outbox, two), "b");
  outbox.check_invariants();
}

TEST(Outbox, WhatIsWithTheKernelIsNotMovedByWhatComesBehindIt) {
  Outbox outbox(small);
  OutList list;
  ASSERT_TRUE(append(outbox, list, "sent"));
  const char* const data = outbox.front(list).data;
  ASSERT_TRUE(append(outbox, list, "more"));
  EXPECT_EQ(outbox.front(list).data, data);
  EXPECT_EQ(std::string_view(data, 4), "sent");
  outbox.taken(list, 3);
  EXPECT_EQ(list.size, 5u);
  EXPECT_EQ(unsent(outbox, list), "tmore");
}

TEST(Outbox, WhatCameLastIsReplacedWhereThereIsRoom) {
  Outbox outbox(small);
  OutList one;
  OutList two;
  ASSERT_TRUE(append(outbox, one, "head"));
  ASSERT_TRUE(append(outbox, one, "old"));
  EXPECT_TRUE(outbox.replace_last(one, 3, "longer", 6));
  EXPECT_TRUE(outbox.replace_last(one, 6, "new", 3));
  EXPECT_EQ(one.size, 7u);
  ASSERT_TRUE(append(outbox, two, "other"));
  // Somebody else's bytes stand behind it now.
  EXPECT_FALSE(outbox.replace_last(one, 3, "longer", 6));
  EXPECT_TRUE(outbox.replace_last(one, 3, "x", 1));
  ASSERT_TRUE(append(outbox, one, "!"));
  EXPECT_EQ(unsent(outbox, one), "headx!");
  EXPECT_EQ(unsent(outbox, two), "other");
  outbox.check_invariants();
}

TEST(Outbox, AReplacementIsBoundedByItsSlab) {
  Outbox outbox(small);
  OutList list;
  ASSERT_TRUE(append(outbox, list, std::string(4090, 'a')));
  ASSERT_TRUE(append(outbox, list, "b"));
  EXPECT_FALSE(outbox.replace_last(list, 1, "1234567", 7));
  EXPECT_TRUE(outbox.replace_last(list, 1, "123456", 6));
  EXPECT_EQ(unsent(outbox, list), std::string(4090, 'a') + "123456");
}

TEST(Outbox, ASlabIsUsedAgainOnceAllThatItHoldsIsSent) {
  Outbox outbox(small);
  OutList list;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(append(outbox, list, std::string(3000, 'a'))) << i;
    EXPECT_EQ(unsent(outbox, list).size(), 3000u);
  }
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
}

TEST(Outbox, WhenSlabsAreUsedUpRepliesGetMappingsUntilThoseAreToo) {
  Outbox::Options options = small;
  options.mapped_max = 2 * 4096;
  options.segment_count = 10;
  Outbox outbox(options);
  OutList lists[6];
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(outbox, lists[i], std::string(4000, 'a')));
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
  ASSERT_TRUE(append(outbox, lists[3], std::string(4000, 'b')));
  ASSERT_TRUE(append(outbox, lists[4], std::string(4000, 'c')));
  EXPECT_EQ(outbox.bytes_mapped(), 2u * 4096);
  EXPECT_FALSE(append(outbox, lists[5], std::string(4000, 'd')));
  EXPECT_EQ(unsent(outbox, lists[3]), std::string(4000, 'b'));
  outbox.clear(lists[0]);
  ASSERT_TRUE(append(outbox, lists[5], std::string(4000, 'd')));
  EXPECT_EQ(outbox.bytes_mapped(), 4096u) << "a slab that is free goes first";
  for (OutList& list : lists) outbox.clear(list);
  EXPECT_EQ(outbox.segments_taken(), 0u);
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
}

TEST(Outbox, TellsWhenSegmentsAreUsedUp) {
  Outbox outbox(small);
  OutList lists[5];
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(append(outbox, lists[i], "a"));
  EXPECT_FALSE(append(outbox, lists[4], "a"));
  EXPECT_TRUE(append(outbox, lists[3], "b")) << "the last range still grows";
  for (OutList& list : lists) outbox.clear(list);
}

TEST(Outbox, AReplyGrowsFromItsSlabToAnotherAndToAMappingWithItsBytes) {
  Outbox outbox(small);
  OutList list;
  ASSERT_TRUE(append(outbox, list, std::string(1000, 'h')));
  Outbox::Room room = outbox.open(2048);
  std::memset(room.begin, 'a', 2000);
  room = outbox.grow(room.begin, 2000, 3500);
  ASSERT_GE(room.end - room.begin, 3500);
  std::memset(room.begin + 2000, 'b', 1500);
  room = outbox.grow(room.begin, 3500, 9000);
  ASSERT_GE(room.end - room.begin, 9000);
  EXPECT_GT(outbox.bytes_mapped(), 0u);
  std::memset(room.begin + 3500, 'c', 5500);
  room = outbox.grow(room.begin, 9000, 16'000);
  ASSERT_GE(room.end - room.begin, 16'000);
  std::memset(room.begin + 9000, 'd', 7000);
  ASSERT_TRUE(outbox.commit(list, room.begin, 16'000));
  ASSERT_TRUE(append(outbox, list, "tail"));
  EXPECT_EQ(unsent(outbox, list), std::string(1000, 'h') + std::string(2000, 'a') +
                                      std::string(1500, 'b') + std::string(5500, 'c') +
                                      std::string(7000, 'd') + "tail");
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
  EXPECT_EQ(outbox.segments_taken(), 0u);
}

TEST(Outbox, AnAbandonedReplyGivesItsMappingBack) {
  Outbox outbox(small);
  Outbox::Room room = outbox.open(2048);
  room = outbox.grow(room.begin, 10, 5000);
  ASSERT_FALSE(room.empty());
  EXPECT_GT(outbox.bytes_mapped(), 0u);
  outbox.abandon(room.begin);
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
}

TEST(Outbox, MappingsStayWithinTheirBound) {
  Outbox::Options options = small;
  options.mapped_max = 8192;
  Outbox outbox(options);
  Outbox::Room room = outbox.open(2048);
  EXPECT_TRUE(outbox.grow(room.begin, 10, 8193).empty());
  room = outbox.grow(room.begin, 10, 8192);
  ASSERT_FALSE(room.empty());
  EXPECT_EQ(outbox.bytes_mapped(), 8192u);
  outbox.abandon(room.begin);
}

// Writes a reply of `size` bytes, growing at random on the way.
bool write_random(Outbox& outbox, OutList& list, std::size_t size, std::mt19937& random,
                  std::string& expected) {
  Outbox::Room room = outbox.open(512);
  if (room.empty()) return false;
  std::string text;
  while (text.size() < size) {
    const std::size_t piece = std::min<std::size_t>(1 + random() % 3000, size - text.size());
    if (static_cast<std::size_t>(room.end - room.begin) < text.size() + piece) {
      char* const last = room.begin;
      room = outbox.grow(last, static_cast<std::uint32_t>(text.size()), text.size() + piece);
      if (room.empty()) {
        outbox.abandon(last);
        return false;
      }
    }
    std::memset(room.begin + text.size(), static_cast<char>('a' + random() % 26), piece);
    text.append(room.begin + text.size(), piece);
  }
  EXPECT_EQ(std::string_view(room.begin, text.size()), text);
  if (!outbox.commit(list, room.begin, static_cast<std::uint32_t>(text.size()))) return false;
  expected += text;
  return true;
}

bool append_grown(Outbox& outbox, OutList& list, const std::string& text) {
  const Outbox::Room first = outbox.open(2048);
  if (first.empty()) return false;
  const Outbox::Room room = outbox.grow(first.begin, 0, text.size());
  if (room.empty()) {
    outbox.abandon(first.begin);
    return false;
  }
  std::memcpy(room.begin, text.data(), text.size());
  return outbox.commit(list, room.begin, static_cast<std::uint32_t>(text.size()));
}

TEST(Outbox, NoticesHaveTheirShareOfTheMappingsAndNoMore) {
  Outbox::Options options = small;
  options.segment_count = 64;
  options.mapped_max = 256u << 10;
  const std::size_t share = options.mapped_max / limits::large_notices_share;
  const std::string text(14'000, 'x');
  const std::string reply(15'000, 'y');
  Outbox outbox(options);
  OutList notices;
  std::size_t count = 0;
  while (outbox.takes_notice(text.size())) {
    const Outbox::Notice notice(outbox);
    ASSERT_TRUE(append_grown(outbox, notices, text)) << count;
    ASSERT_LE(outbox.bytes_mapped(), share);
    ++count;
  }
  EXPECT_GE(count, share / 2 / text.size());
  {
    // A little larger than what there is room for, so it is not for want of a page.
    const Outbox::Notice notice(outbox);
    EXPECT_FALSE(append_grown(outbox, notices, text));
  }
  // What fits a slab needs no mapping; what never fits is for its writer to find out.
  EXPECT_TRUE(outbox.takes_notice(options.slab_size));
  EXPECT_TRUE(outbox.takes_notice(share + 1));
  OutList replies;
  ASSERT_TRUE(append_grown(outbox, replies, reply));
  EXPECT_FALSE(outbox.takes_notice(text.size()));
  Outbox::Held held;
  outbox.add(held, notices);
  outbox.add(held, replies);
  outbox.check_invariants(held);
  EXPECT_EQ(unsent(outbox, notices).size(), count * text.size());
  EXPECT_TRUE(outbox.takes_notice(text.size()));
  EXPECT_EQ(unsent(outbox, replies), reply);
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
  outbox.check_invariants();
}

TEST(Outbox, RandomRepliesAndSendsLeaveInOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Outbox::Options options = small;
  options.slab_count = 20;
  options.segment_count = 64;
  Outbox outbox(options);
  OutList lists[5];
  std::string expected[5];
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t who = random() % 5;
    OutList& list = lists[who];
    if (random() % 3 == 0 && list.size < 60'000) {
      const std::size_t size = random() % 4 == 0 ? random() % 15'000 : random() % 900;
      if (size != 0) write_random(outbox, list, size, random, expected[who]);
    } else if (!list.empty()) {
      const Segment& front = outbox.front(list);
      const std::uint32_t size =
          1 + static_cast<std::uint32_t>(random() % (front.size - front.taken));
      ASSERT_EQ(std::string_view(front.data + front.taken, size),
                std::string_view(expected[who]).substr(0, size));
      expected[who].erase(0, size);
      outbox.taken(list, size);
    }
    ASSERT_EQ(list.size, expected[who].size());
    if (step % 64 == 0) outbox.check_invariants();
    if (random() % 500 == 0) {
      outbox.clear(list);
      expected[who].clear();
    }
  }
  for (OutList& list : lists) outbox.clear(list);
  EXPECT_EQ(outbox.segments_taken(), 0u);
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
}

}  // namespace
}  // namespace ringrpc::serve
