// Goal: results are written in the order of declaration, without white space, or not at all.

#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::Json;
using ringrpc::fields_test::encoded;

enum class Color : std::uint8_t { red, green = 100 };
enum class Sign : std::int16_t { minus = -1, plus = 1 };

struct Everything {
  bool flag = true;
  std::int8_t tiny = -128;
  std::uint8_t byte = 255;
  std::int16_t small = -32768;
  std::uint32_t natural = 4294967295u;
  std::int64_t least = INT64_MIN;
  std::uint64_t most = UINT64_MAX;
  float ratio = 0.1f;
  double real = 0.1;
  std::string_view view = "v";
  std::string text = "t\n";
  Json raw = R"([1, {}])";
  Color color = Color::green;
  Sign sign = Sign::minus;
  std::optional<int> empty;
  std::optional<int> full = 3;
  std::vector<std::optional<int>> list = {1, std::nullopt};
  std::map<std::string, Color> map = {{"a\"", Color::red}};
};

TEST(Encode, WritesEveryKind) {
  EXPECT_EQ(encoded(Everything()),
            R"({"flag":true,"tiny":-128,"byte":255,"small":-32768,"natural":4294967295,)"
            R"("least":-9223372036854775808,"most":18446744073709551615,"ratio":0.1,"real":0.1,)"
            R"("view":"v","text":"t\n","raw":[1, {}],"color":"green","sign":"minus","full":3,)"
            R"("list":[1,null],"map":{"a\"":"red"}})");
}

TEST(Encode, LeavesOutEmptyOptionalMembersOnly) {
  struct Optionals {
    std::optional<int> a, b, c;
  };
  EXPECT_EQ(encoded(Optionals{}), "{}");
  EXPECT_EQ(encoded(Optionals{{}, 2, {}}), R"({"b":2})");
  EXPECT_EQ(encoded(std::optional<int>()), "null");
  EXPECT_EQ(encoded(std::optional<int>(4)), "4");
}

TEST(Encode, WritesPlainValues) {
  EXPECT_EQ(encoded(std::int64_t{5}), "5");
  EXPECT_EQ(encoded(std::string("x")), R"("x")");
  EXPECT_EQ(encoded(std::string_view()), R"("")");
  EXPECT_EQ(encoded(std::vector<int>{1, 2}), "[1,2]");
  EXPECT_EQ(encoded(std::vector<int>()), "[]");
  EXPECT_EQ(encoded(std::map<std::string, int>()), "{}");
  EXPECT_EQ(encoded(true), "true");
  const int numbers[] = {1, 2, 3};
  EXPECT_EQ(encoded(std::span<const int>(numbers)), "[1,2,3]");
  struct Empty {};
  EXPECT_EQ(encoded(Empty()), "{}");
}

TEST(Encode, WritesRawTextAsItIs) {
  EXPECT_EQ(encoded(Json("1.0")), "1.0");
  EXPECT_EQ(encoded(Json()), "null");
  EXPECT_EQ(encoded(Json(std::string("[") + std::string(50, '1') + "]")),
            "[" + std::string(50, '1') + "]");
  const Json owned = std::string("123456");
  const Json copy = owned;
  Json moved = std::string("7");
  moved = Json(copy);
  EXPECT_EQ(encoded(moved), "123456");
}

TEST(Encode, ReadsRawTextThatCameOutOfNoMessage) {
  for (const char* text :
       {"1", " 1 ", "\"\\u00e9\u00e9\"", "[1,{\"a\":null}]", "-0.5e-3", "true"}) {
    EXPECT_EQ(encoded(Json(text)), text);
  }
  for (const char* text : {" ", "1 2", "[1", "[1]]", "{a:1}", "\"a\nb\"", "\"\xff\"", "\"\\x\"",
                           "01", "nul", "\"\\ud800\"", "[1,]", "NaN", "\"open", "}", ",",
                           "\xef\xbb\xbf"
                           "1"}) {
    EXPECT_EQ(encoded(Json(text)), "invalid") << text;
  }
  EXPECT_EQ(encoded(Json(std::string(64, '[') + std::string(64, ']'))),
            std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(encoded(Json(std::string(70, '[') + std::string(70, ']'))), "invalid");
}

TEST(Encode, SaysWhatIsNoJson) {
  EXPECT_EQ(encoded(std::nan("")), "invalid");
  EXPECT_EQ(encoded(std::vector<double>{1, HUGE_VAL}), "invalid");
  EXPECT_EQ(encoded(std::string("\xff")), "invalid");
  EXPECT_EQ(encoded(std::map<std::string, int>{{"\xc0", 1}}), "invalid");
  EXPECT_EQ(encoded(static_cast<Color>(7)), "invalid");
  EXPECT_EQ(encoded(std::vector<Sign>{static_cast<Sign>(0)}), "invalid");
}

struct Node {
  std::vector<Node> next;
};

Node chain(int depth) {
  Node top;
  for (int i = 1; i < depth; ++i) {
    Node outer;
    outer.next.push_back(std::move(top));
    top = std::move(outer);
  }
  return top;
}

TEST(Encode, GoesAsDeepAsAMessageMay) {
  EXPECT_NE(encoded(chain(32)), "invalid");
  EXPECT_EQ(encoded(chain(33)), "invalid");
  EXPECT_EQ(encoded(chain(5000)), "invalid");
  EXPECT_EQ(encoded(chain(5000), 100), "overflowed");
}

TEST(Encode, OverflowsAtEverySize) {
  const std::string expected = encoded(Everything());
  for (std::size_t size = 0; size < expected.size(); ++size) {
    EXPECT_EQ(encoded(Everything(), size), "overflowed");
  }
  EXPECT_EQ(encoded(Everything(), expected.size() + 64), expected);
}

}  // namespace
