// Goal: params land in the members that they name, and what does not fit is refused with its path.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::Json;
using ringrpc::JsonValue;
using ringrpc::fields_test::Decoded;
namespace json = ringrpc::json;
namespace fields = ringrpc::fields;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

TEST(Decode, TakesMembersInAnyOrder) {
  for (const char* text : {R"({"a":1,"b":2})", R"({"b":2,"a":1})", R"( { "b" : 2 , "a" : 1 } )",
                           R"({"x":{"a":[7]},"a":1,"y":[[],{}],"b":2,"z":null})", "[1,2]",
                           R"({"\u0061":1,"\u0062":2})"}) {
    const Decoded<Sum> sum(text);
    EXPECT_EQ(sum.failure(), "") << text;
    EXPECT_EQ(sum.value.a, 1) << text;
    EXPECT_EQ(sum.value.b, 2) << text;
  }
}

TEST(Decode, SaysWhatIsMissing) {
  EXPECT_EQ(Decoded<Sum>("{}").failure(), "a: is required");
  EXPECT_EQ(Decoded<Sum>(R"({"a":1})").failure(), "b: is required");
  EXPECT_EQ(Decoded<Sum>(R"({"A":1,"b":1})").failure(), "a: is required");
  EXPECT_EQ(Decoded<Sum>("[]").failure(), "[0]: is required");
  EXPECT_EQ(Decoded<Sum>("[1]").failure(), "[1]: is required");
  EXPECT_EQ(Decoded<Sum>("[1,2,3]").failure(), "[2]: is one too many");
}

TEST(Decode, RefusesADuplicate) {
  EXPECT_EQ(Decoded<Sum>(R"({"a":1,"b":2,"a":1})").failure(), "a: occurs twice");
  EXPECT_EQ(Decoded<Sum>(R"({"a":1,"\u0061":2,"b":2})").failure(), "a: occurs twice");
  EXPECT_EQ(Decoded<Sum>(R"({"x":1,"a":1,"x":2,"b":2})").failure(), "") << "unknown ones may";
}

TEST(Decode, RefusesUnknownMembersWhenStrict) {
  EXPECT_EQ(Decoded<Sum>(R"({"a":1,"b":2,"c":3})", {.strict = true}).failure(),
            "c: is not a known member");
  EXPECT_EQ(Decoded<Sum>(R"({"a":1,"b":2})", {.strict = true}).failure(), "");
  const std::string longer(300, 'x');
  EXPECT_EQ(Decoded<Sum>("{\"" + longer + "\":1}", {.strict = true}).failure(),
            std::string(64, 'x') + "...: is not a known member");
  EXPECT_EQ(Decoded<Sum>("{\"x" + std::string(62, 'x') + "\u00e9\":1}", {.strict = true}).failure(),
            std::string(63, 'x') + "...: is not a known member")
      << "cut between two characters";
}

TEST(Decode, TakesArraysByPositionAtTheTopOnly) {
  struct Outer {
    Sum sum;
  };
  EXPECT_EQ(Decoded<Outer>(R"([{"a":1,"b":2}])").failure(), "");
  EXPECT_EQ(Decoded<Outer>("[[1,2]]").failure(), "[0]: must be an object");
  EXPECT_EQ(Decoded<Sum>("[1,2]", {.positional = false}).failure(), ": must be an object");
}

TEST(Decode, TakesAbsentParamsAsAnEmptyObject) {
  struct Optional {
    std::optional<int> a;
  };
  struct Empty {};
  json::Scratch scratch;
  json::DecodeError error;
  const auto decodes = [&](const fields::TypeInfo& type, void* target) {
    return json::decode(type, target, JsonValue(), scratch, {}, error);
  };
  Optional optional;
  Empty empty;
  Sum sum{};
  Json raw;
  EXPECT_TRUE(decodes(fields::type_of<Optional>(), &optional));
  EXPECT_TRUE(decodes(fields::type_of<Empty>(), &empty));
  EXPECT_TRUE(decodes(fields::type_of<Json>(), &raw));
  EXPECT_FALSE(decodes(fields::type_of<Sum>(), &sum));
  EXPECT_EQ(error.field(), "a");
}

struct Point {
  int x;
  std::optional<int> y;
};
struct Shape {
  std::string name;
  std::vector<Point> list;
  std::map<std::string, std::vector<int>> groups;
  std::optional<Point> center;
};

TEST(Decode, FillsNestedContainers) {
  const Decoded<Shape> shape(R"({"name":"s","list":[{"x":1},{"x":2,"y":3}],"groups":{"a":[],)"
                             R"("b":[1,2]},"center":{"x":9}})");
  ASSERT_EQ(shape.failure(), "");
  ASSERT_EQ(shape.value.list.size(), 2u);
  EXPECT_FALSE(shape.value.list[0].y.has_value());
  EXPECT_EQ(shape.value.list[1].y, 3);
  EXPECT_EQ(shape.value.groups.at("b"), (std::vector<int>{1, 2}));
  EXPECT_EQ(shape.value.center->x, 9);
}

TEST(Decode, TellsThePathOfWhatIsWrong) {
  const auto failure = [](const char* text) { return Decoded<Shape>(text).failure(); };
  EXPECT_EQ(failure(R"({"name":1})"), "name: must be a string");
  EXPECT_EQ(failure(R"({"list":{}})"), "list: must be an array");
  EXPECT_EQ(failure(R"({"list":[{"x":1},{"x":2},{"x":"3"}]})"), "list[2].x: must be an integer");
  EXPECT_EQ(failure(R"({"list":[{}]})"), "list[0].x: is required");
  EXPECT_EQ(failure(R"({"list":[null]})"), "list[0]: must be an object");
  EXPECT_EQ(failure(R"({"groups":{"b":[1,true]}})"), "groups.b[1]: must be an integer");
  EXPECT_EQ(failure(R"({"groups":{"b":[],"b":[]}})"), "groups.b: occurs twice");
  EXPECT_EQ(failure(R"({"groups":[]})"), "groups: must be an object");
  EXPECT_EQ(failure(R"({"center":{"y":1}})"), "center.x: is required");
  EXPECT_EQ(failure(R"(["s",[{"x":0.5}]])"), "[1][0].x: must be an integer");
  EXPECT_EQ(failure("7"), ": must be an object");
}

TEST(Decode, CutsAPathThatIsTooLong) {
  struct Node {
    std::map<std::string, Json> inner;
    std::vector<Node> next_ones;
  };
  std::string text = "1";
  for (int i = 0; i < 31; ++i) text = R"({"inner":{},"next_ones":[)" + text + "]}";
  const Decoded<Node> node(text);
  ASSERT_FALSE(node.ok);
  const std::string path(node.error.field());
  EXPECT_LE(path.size(), 256u);
  EXPECT_TRUE(path.starts_with("...")) << path;
  EXPECT_TRUE(path.ends_with(".next_ones[0].next_ones[0]")) << path;
}

TEST(Decode, LeavesOptionalsEmptyWhenNullOrAbsent) {
  struct Optional {
    std::optional<std::string> a = "old";
    std::optional<std::vector<int>> b;
  };
  EXPECT_EQ(Decoded<Optional>(R"({"a":null})").value.a, std::nullopt);
  EXPECT_EQ(Decoded<Optional>("{}").value.a, "old") << "absent leaves the default";
  EXPECT_EQ(Decoded<Optional>("[null,[1]]").value.b->size(), 1u);
  EXPECT_EQ(Decoded<Optional>(R"({"b":[null]})").failure(), "b[0]: must be an integer");
}

TEST(Decode, TakesNullForNothingButOptionals) {
  struct Mixed {
    bool flag;
  };
  EXPECT_EQ(Decoded<Mixed>(R"({"flag":null})").failure(), "flag: must be true or false");
  EXPECT_EQ(Decoded<Sum>("[null,1]").failure(), "[0]: must be an integer");
}

enum class Color : std::uint8_t { red, green = 100 };
enum class Sign { minus = -1, plus = 1 };

TEST(Decode, TakesEnumsByName) {
  struct Paint {
    Color color;
    Sign sign;
  };
  const Decoded<Paint> paint(R"({"color":"gr\u0065en","sign":"minus"})");
  ASSERT_EQ(paint.failure(), "");
  EXPECT_EQ(paint.value.color, Color::green);
  EXPECT_EQ(paint.value.sign, Sign::minus);
  EXPECT_EQ(paint.scratch.used(), 0u);
  EXPECT_EQ(Decoded<Paint>(R"({"color":"blue"})").failure(), "color: is none of the allowed names");
  EXPECT_EQ(Decoded<Paint>(R"({"color":""})").failure(), "color: is none of the allowed names");
  EXPECT_EQ(Decoded<Paint>(R"({"color":0})").failure(), "color: must be a string");
}

TEST(Decode, TakesRawValuesAsTheirText) {
  struct Raw {
    Json any;
    std::optional<Json> maybe;
  };
  EXPECT_EQ(Decoded<Raw>(R"({"any":{"x" : [1, 2]} })").value.any.text(), R"({"x" : [1, 2]})");
  EXPECT_EQ(Decoded<Raw>(R"({"any": -1.50e3 })").value.any.text(), "-1.50e3");
  EXPECT_EQ(Decoded<Raw>(R"({"any":null})").value.any.text(), "null");
  EXPECT_EQ(Decoded<Raw>(R"({"any":"\u0061"})").value.any.text(), R"("\u0061")");
  EXPECT_EQ(Decoded<Raw>("[[],null]").value.maybe.has_value(), false);
  EXPECT_EQ(Decoded<Json>("[[],null]").value.text(), "[[],null]");
  const Decoded<Raw> view(R"({"any":[1]})");
  EXPECT_TRUE(view.document.holds(view.value.any.text().data()));
}

TEST(Decode, PutsSpansIntoTheScratch) {
  struct Spans {
    std::span<const double> reals;
    std::span<const std::string_view> texts;
    std::span<const std::uint8_t> bytes;
  };
  const Decoded<Spans> spans(R"({"bytes":[1,255],"texts":["a","b\n"],"reals":[0.5]})");
  ASSERT_EQ(spans.failure(), "");
  ASSERT_EQ(spans.value.reals.size(), 1u);
  EXPECT_EQ(spans.value.reals[0], 0.5);
  ASSERT_EQ(spans.value.texts.size(), 2u);
  EXPECT_EQ(spans.value.texts[1], "b\n");
  EXPECT_EQ(spans.value.bytes[1], 255);
  EXPECT_EQ(Decoded<Spans>(R"({"reals":[1,[2],3]})").failure(), "reals[1]: must be a number");
  EXPECT_EQ(Decoded<Spans>(R"({"reals":[1,2,3,4]})", {}, 31).failure(),
            "reals: needs more memory than a call may use");
  EXPECT_EQ(Decoded<Spans>(R"({"reals":[],"texts":[],"bytes":[]})").failure(), "");
}

TEST(Decode, TellsLongNamesApart) {
  struct Long {
    int a_name_of_many_letters_1;
    int a_name_of_many_letters_2;
    int sevenlt;
    int eightltr;
  };
  const Decoded<Long> value(
      R"({"a_name_of_many_letters_2":2,"eightltr":4,"sevenlt":3,"a_name_of_many_letters_1":1})");
  ASSERT_EQ(value.failure(), "");
  EXPECT_EQ(value.value.a_name_of_many_letters_1, 1);
  EXPECT_EQ(value.value.a_name_of_many_letters_2, 2);
  EXPECT_EQ(value.value.sevenlt, 3);
  EXPECT_EQ(value.value.eightltr, 4);
  EXPECT_EQ(Decoded<Long>(R"({"a_name_of_many_letters_3":2,"a_name_of":1})").failure(),
            "a_name_of_many_letters_1: is required");
}

TEST(Decode, ReplacesWhatAContainerHeld) {
  struct Defaults {
    std::vector<int> list = {1, 2, 3};
    std::map<std::string, int> map = {{"a", 1}};
    std::unordered_map<std::string, std::string> hashed;
  };
  const Decoded<Defaults> value(R"({"list":[9],"map":{"b":2},"hashed":{"k\t":"v"}})");
  ASSERT_EQ(value.failure(), "");
  EXPECT_EQ(value.value.list, std::vector<int>{9});
  EXPECT_EQ(value.value.map.size(), 1u);
  EXPECT_EQ(value.value.hashed.at("k\t"), "v");
}

struct Throws {
  Throws() = default;
  using value_type = int;
  int& emplace_back() { throw 1; }
  [[nodiscard]] std::size_t size() const { return 0; }
  [[nodiscard]] const int* data() const { return nullptr; }
  void clear() {}
};

TEST(Decode, ReportsWhatAContainerThrows) {
  struct Holder {
    Throws list;
  };
  EXPECT_EQ(Decoded<Holder>(R"({"list":[1]})").failure(), "list[0]: could not be stored");
  EXPECT_EQ(Decoded<Holder>(R"({"list":[]})").failure(), "");
}

TEST(Decode, ReadsAsDeepAsATextMayBe) {
  struct Tree {
    std::vector<Tree> t;
  };
  std::string text = R"({"t":[]})";
  for (int i = 0; i < 31; ++i) text = R"({"t":[)" + text + "]}";
  EXPECT_EQ(Decoded<Tree>(text).failure(), "");
}

}  // namespace
