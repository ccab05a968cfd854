// Goal: frames never overlap, are aligned, cost no more than their limit, and all memory comes
// back. Method: random takes and gives of all sizes against a list of what is held, each filled
// with a pattern of its own; the seed is printed.

#include "engine/rpc/frame_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace ringrpc::rpc {
namespace {

constexpr std::size_t memory_max = 64 * FramePool::chunk_size;

struct Held {
  unsigned char* frame;
  std::size_t size;
  unsigned char pattern;
};

bool is_whole(const Held& held) {
  for (std::size_t i = 0; i < held.size; ++i) {
    if (held.frame[i] != held.pattern) return false;
  }
  return true;
}

TEST(FramePool, FramesKeepTheirBytesAndAllMemoryComesBack) {
  FramePool pool;
  ASSERT_TRUE(pool.start(memory_max).ok());
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<Held> all;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 100 < 55 || all.empty()) {
      // Mostly small, now and then larger than a chunk.
      const std::size_t most = std::size_t{64} << (random() % 12);
      const Held held{nullptr, 1 + random() % most, static_cast<unsigned char>(random())};
      void* const frame = pool.take(held.size);
      if (frame == nullptr) continue;
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frame) % alignof(std::max_align_t), 0u);
      ASSERT_EQ(&FramePool::owner_of(frame), &pool);
      std::memset(frame, held.pattern, held.size);
      all.push_back(held);
      all.back().frame = static_cast<unsigned char*>(frame);
    } else {
      std::swap(all[random() % all.size()], all.back());
      ASSERT_TRUE(is_whole(all.back()));
      pool.give(all.back().frame);
      all.pop_back();
    }
    ASSERT_LE(pool.memory(), memory_max);
    ASSERT_EQ(pool.frames(), all.size());
    if (round % 256 == 0) pool.check_invariants();
  }
  for (const Held& held : all) {
    EXPECT_TRUE(is_whole(held));
    pool.give(held.frame);
  }
  pool.check_invariants();
  EXPECT_EQ(pool.memory(), 0u);
}

TEST(FramePool, WhatWasUsedForOneSizeServesEveryOther) {
  FramePool pool;
  ASSERT_TRUE(pool.start(memory_max).ok());
  std::size_t counts[2] = {};
  for (int round = 0; round < 4; ++round) {
    for (const std::size_t size : {100u, 1000u, 30'000u, 60'000u, 200'000u}) {
      std::vector<void*> all;
      while (void* frame = pool.take(size)) all.push_back(frame);
      EXPECT_GE(all.size() * (size + size / 2), memory_max / 2) << size;
      for (void* frame : all) pool.give(frame);
      ASSERT_EQ(pool.memory(), 0u) << size;
      if (size == 1000) counts[round == 0 ? 0 : 1] = all.size();
    }
  }
  EXPECT_EQ(counts[0], counts[1]);
  EXPECT_EQ(pool.take(memory_max), nullptr);
}

}  // namespace
}  // namespace ringrpc::rpc
