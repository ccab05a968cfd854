// Goal: a cursor reads any part of a message, in any order, any number of times.

#include <string>
#include <string_view>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::JsonValue;
using ringrpc::fields_test::Document;
namespace json = ringrpc::json;
using Kind = JsonValue::Kind;

constexpr std::string_view sample =
    R"({ "n" : null, "t":true, "f":false, "i":-12, "d":1.5, "s":"a\nb", "e":"",)"
    R"( "o":{"x":[1,{"y":2}]}, "a":[ ], "z":{}, "l":[10, "20", [30], {"k":40} ], "\u006bey":7 } )";

TEST(JsonValue, TellsKinds) {
  const Document document(sample);
  const JsonValue value = document.value();
  EXPECT_EQ(value.kind(), Kind::object);
  EXPECT_EQ(value.find("n").kind(), Kind::null);
  EXPECT_EQ(value.find("t").kind(), Kind::boolean);
  EXPECT_EQ(value.find("i").kind(), Kind::number);
  EXPECT_EQ(value.find("s").kind(), Kind::string);
  EXPECT_EQ(value.find("l").kind(), Kind::array);
  EXPECT_EQ(value.find("missing").kind(), Kind::absent);
  EXPECT_EQ(JsonValue().kind(), Kind::absent);
  EXPECT_FALSE(value.find("missing"));
}

TEST(JsonValue, GivesTheTextOfAValue) {
  const Document document(sample);
  const JsonValue value = document.value();
  EXPECT_EQ(value.raw(), sample.substr(0, sample.size() - 1));
  EXPECT_EQ(value.find("n").raw(), "null");
  EXPECT_EQ(value.find("i").raw(), "-12");
  EXPECT_EQ(value.find("s").raw(), R"("a\nb")");
  EXPECT_EQ(value.find("o").raw(), R"({"x":[1,{"y":2}]})");
  EXPECT_EQ(value.find("a").raw(), "[ ]");
  EXPECT_EQ(value.find("missing").raw(), "");
}

TEST(JsonValue, GetsWhatFitsAndLeavesTheRestAlone) {
  const Document document(sample);
  const JsonValue value = document.value();
  bool flag = false;
  EXPECT_TRUE(value.find("t").get(flag));
  EXPECT_TRUE(flag);
  EXPECT_FALSE(value.find("n").get(flag));
  std::int64_t integer = 5;
  EXPECT_TRUE(value.find("i").get(integer));
  EXPECT_EQ(integer, -12);
  EXPECT_FALSE(value.find("d").get(integer));
  EXPECT_FALSE(value.find("missing").get(integer));
  EXPECT_EQ(integer, -12);
  std::uint64_t natural = 5;
  EXPECT_FALSE(value.find("i").get(natural));
  EXPECT_EQ(natural, 5u);
  double real = 0;
  EXPECT_TRUE(value.find("d").get(real));
  EXPECT_EQ(real, 1.5);
  EXPECT_TRUE(value.find("i").get(real));
  EXPECT_EQ(real, -12.0);
  EXPECT_FALSE(value.find("s").get(real));
}

TEST(JsonValue, HoldsIntegersToTheirEnds) {
  const Document document(
      "[9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809,"
      "18446744073709551615,18446744073709551616,-0]");
  const JsonValue list = document.value();
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  EXPECT_TRUE(list.at(0).get(integer));
  EXPECT_EQ(integer, INT64_MAX);
  EXPECT_FALSE(list.at(1).get(integer));
  EXPECT_TRUE(list.at(2).get(integer));
  EXPECT_EQ(integer, INT64_MIN);
  EXPECT_FALSE(list.at(3).get(integer));
  EXPECT_TRUE(list.at(4).get(natural));
  EXPECT_EQ(natural, UINT64_MAX);
  EXPECT_FALSE(list.at(5).get(natural));
  EXPECT_TRUE(list.at(6).get(natural));
  EXPECT_EQ(natural, 0u);
}

TEST(JsonValue, GetsStrings) {
  const Document document(sample);
  const JsonValue value = document.value();
  char memory[16];
  json::Scratch scratch(memory, sizeof memory);
  std::string_view view;
  EXPECT_TRUE(value.find("s").get(view, scratch));
  EXPECT_EQ(view, "a\nb");
  EXPECT_EQ(scratch.used(), 3u);
  EXPECT_TRUE(value.find("e").get(view, scratch));
  EXPECT_EQ(view, "");
  EXPECT_FALSE(value.find("i").get(view, scratch));
  std::string owned = "old";
  EXPECT_FALSE(value.find("i").get(owned));
  EXPECT_EQ(owned, "old");
  EXPECT_TRUE(value.find("s").get(owned));
  EXPECT_EQ(owned, "a\nb");
  json::Scratch none;
  EXPECT_FALSE(value.find("s").get(view, none));
}

TEST(JsonValue, GoesThroughMembersAndElements) {
  const Document document(sample);
  const JsonValue value = document.value();
  std::string names;
  for (JsonValue::Entry entry = value.first(); entry; entry = entry.next()) {
    names += std::string(entry.raw_name()) + " ";
  }
  EXPECT_EQ(names, R"(n t f i d s e o a z l \u006bey )");
  EXPECT_EQ(value.size(), 12u);
  std::string elements;
  const JsonValue list = value.find("l");
  for (JsonValue::Entry entry = list.first(); entry; entry = entry.next()) {
    EXPECT_EQ(entry.raw_name(), "");
    elements += std::string(entry.value().raw()) + " ";
  }
  EXPECT_EQ(elements, R"(10 "20" [30] {"k":40} )");
  EXPECT_FALSE(value.find("a").first());
  EXPECT_FALSE(value.find("z").first());
  EXPECT_FALSE(value.find("i").first());
  EXPECT_EQ(value.find("a").size(), 0u);
  EXPECT_EQ(value.find("i").size(), 0u);
}

TEST(JsonValue, FindsByNameAndPlace) {
  const Document document(sample);
  const JsonValue value = document.value();
  std::int64_t integer = 0;
  EXPECT_TRUE(value.find("o").find("x").at(1).find("y").get(integer));
  EXPECT_EQ(integer, 2);
  EXPECT_TRUE(value.find("key").get(integer)) << "names are compared after unescaping";
  EXPECT_EQ(integer, 7);
  EXPECT_TRUE(value.find("l").at(3).find("k").get(integer));
  EXPECT_EQ(integer, 40);
  EXPECT_FALSE(value.find("l").at(4));
  EXPECT_FALSE(value.find("l").find("k"));
  EXPECT_FALSE(value.at(0));
  EXPECT_FALSE(value.find("ke"));
  EXPECT_FALSE(value.find("keys"));
}

TEST(JsonValue, ComparesEscapedNames) {
  const Document document(R"({"\ud83d\ude00":1,"a\"b":2,"\u00e9\\":3,"":4})");
  const JsonValue value = document.value();
  EXPECT_EQ(value.find("\U0001F600").raw(), "1");
  EXPECT_EQ(value.find("a\"b").raw(), "2");
  EXPECT_EQ(value.find("\u00e9\\").raw(), "3");
  EXPECT_EQ(value.find("").raw(), "4");
  EXPECT_FALSE(value.find("\\ud83d\\ude00"));
}

}  // namespace
