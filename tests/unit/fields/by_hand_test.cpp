// Goal: fields that are named by hand are decoded, encoded and described as others are: private
// ones, renamed ones, those of bases, and as many as there may be.

#include <ringrpc/schema.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::json_schema;
using ringrpc::fields_test::Decoded;
using ringrpc::fields_test::encoded;

class Account {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_hidden() const { return hidden_ == 3; }

 private:
  std::string name_ = "nobody";
  int hidden_ = 3;
  std::optional<std::uint8_t> age_;
  friend RINGRPC_FIELDS(Account, name_, age_)
};

TEST(ByHand, ReadsAndWritesPrivateMembers) {
  const Decoded<Account> account(R"({"name_":"a","age_":7,"hidden_":1})");
  ASSERT_EQ(account.failure(), "");
  EXPECT_EQ(account.value.name(), "a");
  EXPECT_TRUE(account.value.is_hidden()) << "what is not named is not touched";
  EXPECT_EQ(encoded(account.value), R"({"name_":"a","age_":7})");
  EXPECT_EQ(Decoded<Account>(R"(["a",256])").failure(), "[1]: is out of range");
}

struct Word {
  int class_ = 0;
  std::string text;
};
constexpr auto ringrpc_fields(const Word*) {
  using namespace ringrpc::fields;
  return list(field("class", &Word::class_), field("a longer-name \u00e9", &Word::text));
}

TEST(ByHand, UsesTheNamesThatItIsGiven) {
  const Decoded<Word> word("{\"class\":1,\"a longer-name \u00e9\":\"x\"}");
  ASSERT_EQ(word.failure(), "");
  EXPECT_EQ(word.value.text, "x");
  EXPECT_EQ(Decoded<Word>(R"({"class":1,"a longer-name \u00e9":"x"})").failure(), "")
      << "spelled with an escape";
  EXPECT_EQ(Decoded<Word>(R"({"class_":1})", {.strict = true}).failure(),
            "class_: is not a known member");
  EXPECT_EQ(encoded(word.value), "{\"class\":1,\"a longer-name \u00e9\":\"x\"}");
  EXPECT_EQ(json_schema<Word>({.dialect = false}),
            R"({"type":"object","properties":{"class":{"type":"integer","minimum":-2147483648,)"
            R"("maximum":2147483647},"a longer-name )"
            "\u00e9"
            R"(":{"type":"string"}},"required":["class","a longer-name )"
            "\u00e9"
            R"("]})");
}

struct Base {
  int x = 0;
};
struct Derived : Base {
  int y = 0;
};
RINGRPC_FIELDS(Derived, y, x)

TEST(ByHand, TakesFieldsOfBasesInTheOrderGiven) {
  const Decoded<Derived> derived("[1,2]");
  ASSERT_EQ(derived.failure(), "");
  EXPECT_EQ(derived.value.y, 1);
  EXPECT_EQ(derived.value.x, 2);
  EXPECT_EQ(encoded(derived.value), R"({"y":1,"x":2})");
}

struct One {
  int only = 0;
  int other = 0;
};
RINGRPC_FIELDS(One, only)

struct Sixty4 {
  int a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7;
  int c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7;
  int e0, e1, e2, e3, e4, e5, e6, e7, f0, f1, f2, f3, f4, f5, f6, f7;
  int g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7;
  int not_named;
};
RINGRPC_FIELDS(Sixty4, a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2,
               c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
               f0, f1, f2, f3, f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4,
               h5, h6, h7)

TEST(ByHand, TakesFromOneToSixtyFourFields) {
  EXPECT_EQ(encoded(One{.only = 1, .other = 2}), R"({"only":1})");
  std::string text;
  for (int i = 0; i < 64; ++i) text += (i == 0 ? "[" : ",") + std::to_string(i);
  const Decoded<Sixty4> value(text + "]");
  ASSERT_EQ(value.failure(), "");
  EXPECT_EQ(value.value.a0, 0);
  EXPECT_EQ(value.value.h7, 63);
  EXPECT_EQ(Decoded<Sixty4>(text + ",64]").failure(), "[64]: is one too many");
  const std::string all = encoded(value.value);
  EXPECT_EQ(Decoded<Sixty4>(all, {.strict = true}).failure(), "");
  const std::string without = all.substr(0, all.rfind(',')) + "}";
  EXPECT_EQ(Decoded<Sixty4>(without).failure(), "h7: is required");
}

}  // namespace
