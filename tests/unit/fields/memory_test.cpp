// Goal: params cannot take more memory than a call may use, and what is charged is what is said.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::fields_test::Decoded;
namespace json = ringrpc::json;

struct Wide {
  std::optional<std::string> a, b, c, d, e, f, g, h;
};

template <class T>
void expect_charge(std::string_view text, std::size_t charge, const std::string& failure) {
  EXPECT_EQ(Decoded<T>(text, {.memory_max = charge + 1}).failure(), "") << text;
  EXPECT_EQ(Decoded<T>(text, {.memory_max = charge}).failure(), "") << text;
  if (charge == 0) return;
  const Decoded<T> over(text, {.memory_max = charge - 1});
  EXPECT_EQ(over.failure(), failure + ": " + json::reasons::over_memory) << text;
  EXPECT_EQ(over.error.reason, json::reasons::over_memory) << "told by its address";
}

TEST(DecodeMemory, ChargesTheElementsOfVectors) {
  expect_charge<std::vector<Wide>>("[{},{},{}]", 3 * sizeof(Wide), "[2]");
  expect_charge<std::vector<std::vector<char>>>("[[1],[1,2]]", 2 * sizeof(std::vector<char>) + 3,
                                                "[1][1]");
  expect_charge<std::vector<int>>("[]", 0, "");
}

TEST(DecodeMemory, ChargesTheCharactersOfStrings) {
  struct Text {
    std::string text;
  };
  expect_charge<Text>(R"({"text":"12345"})", 5, "text");
  expect_charge<Text>(R"({"text":"\u0031\u0032"})", 2, "text");
  expect_charge<Text>(R"({"text":""})", 0, "");
}

TEST(DecodeMemory, ChargesTheEntriesOfMaps) {
  using Map = std::map<std::string, std::int64_t>;
  expect_charge<Map>(R"({"ab":1,"c":2})", 3 + 2 * (sizeof(std::int64_t) + json::map_entry_extra),
                     "c");
}

TEST(DecodeMemory, ChargesNothingForWhatStandsInItsStruct) {
  struct Views {
    std::string_view text;
    std::optional<Wide> maybe;
    std::span<const int> numbers;
  };
  expect_charge<Views>(R"({"text":"\n","maybe":{},"numbers":[1,2]})", 0, "");
}

TEST(DecodeMemory, BoundsSpansAndUnescapedViewsByTheScratch) {
  struct Views {
    std::string_view text;
    std::span<const std::int64_t> numbers;
  };
  const auto failure = [](std::string_view text, std::size_t scratch) {
    return Decoded<Views>(text, {}, scratch).failure();
  };
  const std::string over = std::string(": ") + json::reasons::over_memory;
  EXPECT_EQ(failure(R"({"text":"\n\n","numbers":[]})", 4), "") << "escapes are longer than text";
  EXPECT_EQ(failure(R"({"text":"\n\n","numbers":[]})", 3), "text" + over);
  EXPECT_EQ(failure(R"({"text":"","numbers":[1,2]})", 16), "");
  EXPECT_EQ(failure(R"({"text":"","numbers":[1,2]})", 15), "numbers" + over);
}

}  // namespace
