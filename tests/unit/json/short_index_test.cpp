// Goal: the index of short, plain texts is the one that simdjson makes, and every other text is
// left to simdjson. Method: random texts over the bytes that matter, at every size, against a
// kernel.

#include "engine/json/short_index.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json/index.h"

namespace ringrpc::json {
namespace {

using Positions = std::vector<std::uint32_t>;

Positions short_positions(ShortIndexer indexer, const std::string& text, char filler) {
  const std::string padded = text + std::string(limits::padding, filler);
  Positions positions(text.size() + limits::padding);
  positions.resize(
      indexer(padded.data(), static_cast<std::uint32_t>(text.size()), positions.data()));
  return positions;
}

// Returns: what simdjson finds; empty when it refuses the text.
Positions simdjson_positions(Index& index, const std::string& text) {
  const std::string padded = text + std::string(limits::padding, ' ');
  if (!index.build(padded.data(), static_cast<std::uint32_t>(text.size()))) return {};
  return {index.positions(), index.positions() + index.count()};
}

class ShortIndex : public testing::TestWithParam<ShortKernel> {
 protected:
  void SetUp() override {
    if (!GetParam().supported()) GTEST_SKIP() << "this processor has no " << GetParam().name;
    ASSERT_TRUE(simdjson_.reserve(short_text_size_max, Index::kernels().front()).ok());
  }

  Index simdjson_;
};

TEST_P(ShortIndex, random_plain_texts_of_every_size_have_simdjsons_index) {
  constexpr std::string_view alphabet = R"({}[]:,"" aa1-.te~!)";
  const std::uint64_t seed = 20261130;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (std::uint32_t size = 1; size <= short_text_size_max; ++size) {
    for (int round = 0; round < 60; ++round) {
      std::string text(size, ' ');
      for (char& c : text) c = alphabet[random() % alphabet.size()];
      const Positions expected = simdjson_positions(simdjson_, text);
      for (const char filler : {' ', '"', '1', '{', '\\', '\xff'}) {
        ASSERT_EQ(short_positions(GetParam().index, text, filler), expected) << text;
      }
    }
  }
}

TEST_P(ShortIndex, a_byte_that_is_not_plain_is_left_to_simdjson_at_every_place) {
  for (const std::uint32_t size : {1u, 2u, 31u, 32u, 33u, 63u, 64u, 65u, 127u, 128u, 129u, 512u}) {
    for (int byte = 0; byte < 256; ++byte) {
      const bool plain = byte >= 0x20 && byte < 0x7F && byte != '\\' && byte != '"';
      for (std::uint32_t at = 0; at < size; at += at + 3 < size ? 3 : 1) {
        std::string text(size, '1');
        text[at] = static_cast<char>(byte);
        const bool empty = short_positions(GetParam().index, text, '1').empty();
        const bool blank = size == 1 && byte == ' ';
        ASSERT_EQ(empty, !plain || blank) << "byte " << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST_P(ShortIndex, an_open_string_is_left_to_simdjson_whatever_follows_the_text) {
  for (std::uint32_t size = 1; size < 200; ++size) {
    const std::string text = "\"" + std::string(size, 'x');
    EXPECT_TRUE(short_positions(GetParam().index, text, '"').empty()) << size;
    EXPECT_EQ(short_positions(GetParam().index, text + "\"", '"'), Positions{0}) << size;
  }
}

TEST_P(ShortIndex, the_chosen_kernel_is_the_first_that_the_processor_has) {
  EXPECT_NE(short_indexer(), nullptr);
  const bool before = GetParam().index != short_indexer();
  for (const ShortKernel& kernel : short_kernels()) {
    if (kernel.index == GetParam().index) break;
    EXPECT_TRUE(before || !kernel.supported()) << kernel.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ShortIndex, testing::ValuesIn(short_kernels()),
                         [](const testing::TestParamInfo<ShortKernel>& kernel) {
                           return std::string(kernel.param.name);
                         });
// Processors of other makers have no kernel at all.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ShortIndex);

}  // namespace
}  // namespace ringrpc::json
