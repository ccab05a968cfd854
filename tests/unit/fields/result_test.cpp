// Goal: Result holds exactly one of its two cases through every copy and move.

#include <gtest/gtest.h>
#include <ringrpc/result.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ringrpc {
namespace {

Result<std::int64_t> halve(std::int64_t value) {
  if (value % 2 != 0) return Error{1001, "odd", R"({"value":3})"};
  return value / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(halve(4).ok());
  EXPECT_EQ(halve(4).value(), 2);
  const Result<std::int64_t> odd = halve(3);
  EXPECT_FALSE(odd);
  EXPECT_EQ(odd.error().code, 1001);
  EXPECT_EQ(odd.error().message, "odd");
  EXPECT_EQ(odd.error().data, R"({"value":3})");
}

TEST(Result, IsMadeFromAnythingThatMakesItsValue) {
  const Result<std::int64_t> small = 3;
  EXPECT_EQ(small.value(), 3);
  const Result<std::string> text = "literal";
  EXPECT_EQ(text.value(), "literal");
}

TEST(Result, ChangesItsCaseWhenAssigned) {
  const std::string longer(100, 'x');
  Result<std::string> one = longer;
  Result<std::string> two = Error{1, longer};
  Result<std::string> copy = one;
  one = two;
  two = copy;
  EXPECT_FALSE(one.ok());
  EXPECT_EQ(one.error().message, longer);
  EXPECT_EQ(two.value(), longer);
  Result<std::string> moved = std::move(two);
  EXPECT_EQ(moved.value(), longer);
  moved = std::move(one);
  EXPECT_EQ(moved.error().message, longer);
  const Result<std::string>& alias = moved;
  moved = alias;
  EXPECT_EQ(moved.error().message, longer);
}

TEST(Result, GivesItsValueAway) {
  Result<std::vector<int>> list = std::vector<int>{1, 2, 3};
  const std::vector<int> taken = std::move(list).value();
  EXPECT_EQ(taken.size(), 3u);
}

TEST(Result, OfNothingIsSuccessOrAnError) {
  EXPECT_TRUE(Result<void>().ok());
  const Result<void> failed = Error{7, "no"};
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 7);
}

}  // namespace
}  // namespace ringrpc
