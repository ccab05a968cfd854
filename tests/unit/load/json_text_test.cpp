// Goal:   the programs' reader of JSON takes exactly what RFC 8259 allows, and finds members.
// Method: cases one by one; every prefix of a good text is refused.

#include "tools/common/json_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tools {
namespace {

TEST(JsonTextTest, GoodTextsAreTaken) {
  for (const std::string_view text :
       {"0", "-0", "1.5e+10", "1E-2", "true", "null", " [ ] ", "{}", "[1,[2,{\"a\":[]}],\"\"]",
        "{\"a\":{\"b\":[1,2]},\"c\":null}", "\"\\u0041\\ud83d\\ude00\\n\\/\"", "\"\x7F\"",
        "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"", "\t\r\n 1 "}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
}

TEST(JsonTextTest, BadTextsAreRefused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "01",
                                      "-",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "nul",
                                      "True",
                                      "NaN",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{a:1}",
                                      "{\"a\":1,}",
                                      "{1:2}",
                                      "[1}",
                                      "{\"a\":1]",
                                      "]",
                                      "1 2",
                                      "\"",
                                      "\"\\\"",
                                      "\"\\q\"",
                                      "\"\\u12g4\"",
                                      "\"\\ud800\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\n\"",
                                      "\"\xC0\xAF\"",
                                      "\"\xED\xA0\x80\"",
                                      "\"\xF4\x90\x80\x80\"",
                                      "\"\xE2\x82\"",
                                      "\"\xFF\"",
                                      "\xEF\xBB\xBF"
                                      "1"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonTextTest, EveryPrefixOfAnObjectIsRefused) {
  const std::string text = R"({"a":[1,{"b":"\u00e4\"x"},null],"c":-1.5e3})";
  ASSERT_TRUE(is_json(text));
  for (std::size_t size = 0; size != text.size(); ++size) {
    EXPECT_FALSE(is_json(std::string_view(text).substr(0, size))) << size;
    EXPECT_EQ(json_value_size(std::string_view(text).substr(0, size)), 0u) << size;
  }
  EXPECT_EQ(json_value_size(text + "]"), text.size());
}

TEST(JsonTextTest, DepthHasALimitAndNoStack) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(json_depth_max)));
  EXPECT_FALSE(is_json(nested(json_depth_max + 1)));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
}

TEST(JsonTextTest, MembersAndElementsAreFound) {
  std::vector<Member> members;
  ASSERT_TRUE(split_object(R"( { "a" : [1, 2] , "b\"" : "}" , "a" : 3 } )", members));
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(find_member(members, "a"), "[1, 2]");
  EXPECT_EQ(find_member(members, R"(b\")"), R"("}")");
  EXPECT_EQ(find_member(members, "c"), "");
  EXPECT_TRUE(split_object("{}", members));
  EXPECT_TRUE(members.empty());
  EXPECT_FALSE(split_object("[1]", members));
  EXPECT_FALSE(split_object("{\"a\":1}x", members));

  std::vector<std::string_view> elements;
  ASSERT_TRUE(split_array(R"([ 1 , "]" , {"a":[2]} ])", elements));
  EXPECT_EQ(elements, (std::vector<std::string_view>{"1", R"("]")", R"({"a":[2]})"}));
  EXPECT_TRUE(split_array("[]", elements));
  EXPECT_TRUE(elements.empty());
  EXPECT_FALSE(split_array("{}", elements));
  EXPECT_FALSE(split_array("[1", elements));
}

TEST(JsonTextTest, CompactTextHasNoBlanksBetweenTokens) {
  EXPECT_EQ(compact(" { \"a b\" : [ 1 ,\n\"\\\" x\" ] } "), R"({"a b":[1,"\" x"]})");
}

TEST(JsonTextTest, QuotedTextIsOneString) {
  const std::string all = tools::quoted(std::string("a\"\\\n\0", 5));
  EXPECT_EQ(all, R"("a\"\\\u000a\u0000")");
  EXPECT_TRUE(is_json(all));
}

}  // namespace
}  // namespace tools
