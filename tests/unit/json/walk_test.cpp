// Goal: numbers, literals and containers are accepted by RFC 8259 alone, at every length.
// Method: the walk over the index and the byte-walking grammar judge the same texts.

#include "engine/json/walk.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <string>

#include "engine/json/byte_walk.h"
#include "engine/json/index.h"

namespace ringrpc::json {
namespace {

// Returns: whether the token is a number or literal where it stands in an array.
bool is_scalar(const std::string& token) {
  const std::string text = token + "]" + std::string(limits::padding, '9');
  const bool walked = check_scalar(text.data());
  ByteWalk bytes(std::string_view(text).substr(0, token.size() + 1));
  ByteWalk::Value value;
  const bool taken = bytes.take_value(value) && bytes.take(']') && bytes.at_end();
  EXPECT_EQ(walked, taken) << token;
  // A text that is this token alone is the third program for the same rule.
  EXPECT_EQ(check_root_scalar(token), taken) << token;
  return walked;
}

TEST(Walk, numbers_of_every_length_end_where_their_digits_end) {
  for (std::size_t size = 1; size < 70; ++size) {
    const std::string digits(size, '7');
    EXPECT_TRUE(is_scalar(digits));
    EXPECT_TRUE(is_scalar("-" + digits));
    EXPECT_TRUE(is_scalar("0." + digits));
    EXPECT_TRUE(is_scalar(digits + "." + digits));
    EXPECT_TRUE(is_scalar("1e" + digits));
    EXPECT_TRUE(is_scalar("1E+" + digits));
    EXPECT_TRUE(is_scalar(digits + ".0e-" + digits));
    EXPECT_FALSE(is_scalar("0" + digits));
    EXPECT_FALSE(is_scalar("-0" + digits));
    EXPECT_FALSE(is_scalar(digits + "."));
    EXPECT_FALSE(is_scalar(digits + "e"));
    EXPECT_FALSE(is_scalar(digits + "e+"));
    EXPECT_FALSE(is_scalar(digits + "x"));
    EXPECT_FALSE(is_scalar(digits + "-"));
    EXPECT_FALSE(is_scalar(digits + ".1.1"));
    EXPECT_FALSE(is_scalar(digits + "e1e1"));
    EXPECT_FALSE(is_scalar(digits + "e1.1"));
  }
}

TEST(Walk, every_byte_is_a_digit_or_not_at_every_place_of_a_vector) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 16; ++at) {
      std::string text(limits::padding, '5');
      text[at] = static_cast<char>(byte);
      const bool digit = byte >= '0' && byte <= '9';
      EXPECT_EQ(non_digits_of_16(text.data()), digit ? 0 : 1u << at) << byte;
    }
  }
}

TEST(Walk, literals_are_three_words_in_lower_case) {
  for (const char* const word : {"true", "false", "null"}) EXPECT_TRUE(is_scalar(word)) << word;
  for (const char* const word :
       {"True", "tru", "truee", "trues", "fals", "falsee", "fal", "nul", "nulll", "none", "NaN",
        "t", "f", "n", "", "-", "+", "--1", "-a"}) {
    EXPECT_FALSE(is_scalar(word)) << word;
  }
}

// Returns: entries that skip_value() passes over, or -1 where it refuses.
int skipped(const std::string& value) {
  const std::string text = "[" + value + "]" + std::string(limits::padding, ']');
  Index index;
  EXPECT_TRUE(index.reserve(4096).ok());
  if (!index.build(text.data(), static_cast<std::uint32_t>(value.size() + 2))) return -1;
  const Walk walk{text.data(), index.positions() + index.count()};
  const std::uint32_t* const after = skip_value(walk, index.positions() + 1);
  return after == nullptr ? -1 : static_cast<int>(after - index.positions() - 1);
}

TEST(Walk, a_value_is_skipped_with_all_that_it_holds) {
  EXPECT_EQ(skipped("1,2"), 1);
  EXPECT_EQ(skipped("\"a\""), 1);
  EXPECT_EQ(skipped("[]"), 2);
  EXPECT_EQ(skipped("{}"), 2);
  EXPECT_EQ(skipped("[[],{}],3"), 7);
  EXPECT_EQ(skipped(R"({"a":[1,{"b":2}],"c":null})"), 17);
  EXPECT_EQ(skipped("[[]"), -1) << "the text's own bracket must stay";
  EXPECT_EQ(skipped("[1 2]"), -1);
}

TEST(Walk, sixty_four_brackets_may_be_open) {
  for (const std::size_t depth : {1u, 2u, 63u, 64u, 65u, 66u, 200u}) {
    const int expected = depth <= limits::depth_max ? static_cast<int>(2 * depth) : -1;
    EXPECT_EQ(skipped(std::string(depth, '[') + std::string(depth, ']')), expected) << depth;
    std::string open;
    for (std::size_t i = 1; i < depth; ++i) open += R"({"a":)";
    const int members = depth <= limits::depth_max ? static_cast<int>(4 * depth - 2) : -1;
    EXPECT_EQ(skipped(open + "{}" + std::string(depth - 1, '}')), members) << depth;
  }
}

TEST(Walk, the_end_of_a_token_is_before_the_white_space) {
  const std::string text = "[\"a b \" \t\r\n , 12 ]" + std::string(limits::padding, ' ');
  Index index;
  ASSERT_TRUE(index.reserve(4096).ok());
  ASSERT_TRUE(index.build(text.data(), 18));
  const Walk walk{text.data(), index.positions() + index.count()};
  EXPECT_EQ(end_before(walk, index.positions() + 2) - text.data(), 7);
  EXPECT_EQ(end_before(walk, index.positions() + 4) - text.data(), 16);
}

}  // namespace
}  // namespace ringrpc::json
