// Goal: types without names for their parts (arrays of a fixed length, tuples, pairs, variants,
// null) decode and encode as JSON arrays, and as what the JSON type of a value says.

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::Json;
using ringrpc::JsonValue;
using ringrpc::fields_test::Decoded;
using ringrpc::fields_test::encoded;
namespace json = ringrpc::json;
namespace fields = ringrpc::fields;

using Triple = std::tuple<int, std::string, std::optional<bool>>;
using Value = std::variant<std::monostate, bool, double, std::string, std::vector<int>,
                           std::map<std::string, int>>;

struct Node {
  std::variant<std::int64_t, std::vector<Node>> value;
};

struct Parts {
  std::int8_t before;
  std::array<int, 3> three;
  std::tuple<> none;
  Triple triple;
  std::pair<std::string_view, double> pair;
  std::variant<int, std::string> either;
  std::array<std::string, 1> one;
  std::optional<std::pair<int, int>> maybe;
  std::vector<std::pair<int, int>> pairs;
  std::nullptr_t null;
  Node node;
  std::int8_t after;
};

constexpr std::string_view parts_text =
    R"({"before":1,"three":[1,2,3],"none":[],"triple":[4,"a",true],"pair":["b",1.5],)"
    R"("either":"c","one":["d"],"maybe":[5,6],"pairs":[[7,8],[9,10]],"null":null,)"
    R"("node":{"value":[{"value":11},{"value":[]}]},"after":12})";

TEST(Tuple, FillsEveryPart) {
  const Decoded<Parts> parts(parts_text);
  ASSERT_EQ(parts.failure(), "");
  EXPECT_EQ(parts.value.three, (std::array<int, 3>{1, 2, 3}));
  EXPECT_EQ(parts.value.triple, Triple(4, "a", true));
  EXPECT_EQ(parts.value.pair.first, "b");
  EXPECT_EQ(parts.value.pair.second, 1.5);
  EXPECT_EQ(std::get<1>(parts.value.either), "c");
  EXPECT_EQ(parts.value.one[0], "d");
  EXPECT_EQ(parts.value.maybe, std::pair(5, 6));
  EXPECT_EQ(parts.value.pairs[1].second, 10);
  EXPECT_EQ(std::get<0>(std::get<1>(parts.value.node.value)[0].value), 11);
  EXPECT_EQ(parts.value.after, 12);
  EXPECT_EQ(encoded(parts.value), parts_text) << "and is written as it came";
}

TEST(Tuple, TellsThePathOfWhatIsWrong) {
  const auto failure = [](std::string_view member, std::string_view text) {
    return Decoded<Parts>("{\"" + std::string(member) + "\":" + std::string(text) + "}").failure();
  };
  EXPECT_EQ(failure("three", "[1,2]"), "three[2]: is required");
  EXPECT_EQ(failure("three", "[1,2,3,4]"), "three[3]: is one too many");
  EXPECT_EQ(failure("three", R"([1,"2",3])"), "three[1]: must be an integer");
  EXPECT_EQ(failure("three", "{}"), "three: must be an array");
  EXPECT_EQ(failure("none", "[1]"), "none[0]: is one too many");
  EXPECT_EQ(failure("none", "{}"), "none: must be an array");
  EXPECT_EQ(failure("triple", "[4]"), "triple[1]: is required");
  EXPECT_EQ(failure("triple", "[4,5]"), "triple[1]: must be a string");
  EXPECT_EQ(failure("triple", R"([4,"a",true,1])"), "triple[3]: is one too many");
  EXPECT_EQ(failure("pairs", "[[1,2],[3]]"), "pairs[1][1]: is required");
  EXPECT_EQ(failure("either", "true"), "either: is of none of the allowed types");
  EXPECT_EQ(failure("either", "null"), "either: is of none of the allowed types");
  EXPECT_EQ(failure("either", "1.5"), "either: must be an integer");
  EXPECT_EQ(failure("null", "0"), "null: must be null");
  EXPECT_EQ(failure("node", R"({"value":[{"value":1},{"value":{}}]})"),
            "node.value[1].value: is of none of the allowed types");
}

TEST(Tuple, MayLeaveOutOptionalElementsAtItsEnd) {
  const Decoded<Triple> triple(R"([1,"a"])");
  ASSERT_EQ(triple.failure(), "");
  EXPECT_EQ(std::get<2>(triple.value), std::nullopt);
  EXPECT_EQ(encoded(triple.value), R"([1,"a",null])") << "written in its whole length";
  using Optionals = std::array<std::optional<int>, 2>;
  for (const char* text : {"[]", "[1]", "[1,null]"}) {
    EXPECT_EQ(Decoded<Optionals>(text).failure(), "") << text;
  }
  EXPECT_EQ(Decoded<Optionals>("[1,2,3]").failure(), "[2]: is one too many");
}

TEST(Tuple, TakesAsManyElementsAsAStructHasMembers) {
  using Sixty4 = decltype(std::tuple_cat(std::array<int, 32>(), std::array<int, 32>()));
  std::string text;
  for (int i = 0; i < 64; ++i) text += (i == 0 ? "[" : ",") + std::to_string(i);
  const Decoded<Sixty4> tuple(text + "]");
  ASSERT_EQ(tuple.failure(), "");
  EXPECT_EQ(std::get<63>(tuple.value), 63);
  EXPECT_EQ(Decoded<Sixty4>(text + ",64]").failure(), "[64]: is one too many");
  EXPECT_EQ(Decoded<Sixty4>("[0]").failure(), "[1]: is required");
}

TEST(Variant, IsToldByTheTypeOfTheValue) {
  const char* const texts[] = {"null", "true", "1.5", R"("a")", "[1,2]", R"({"a":1})"};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const std::string text = std::string("[") + texts[i] + "]";
    const Decoded<std::vector<Value>> value(text);
    ASSERT_EQ(value.failure(), "");
    EXPECT_EQ(value.value[0].index(), i);
    EXPECT_EQ(encoded(value.value), text);
  }
  EXPECT_EQ(Decoded<std::vector<Value>>("[-0.5e1]").failure(), "") << "a number with a sign";
  EXPECT_EQ(Decoded<std::vector<Value>>(R"([{"a":"b"}])").failure(), "[0].a: must be an integer");
}

TEST(Variant, HoldsOptionalsAndVariants) {
  using Inner = std::variant<int, bool>;
  using Outer = std::variant<std::string, Inner, std::optional<std::pair<int, int>>>;
  for (const char* text : {R"(["a"])", "[1]", "[false]", "[[1,2]]", "[null]"}) {
    const Decoded<std::vector<Outer>> value(text);
    EXPECT_EQ(value.failure(), "") << text;
    EXPECT_EQ(encoded(value.value), text);
  }
}

struct ThrowsWhenMade {
  ThrowsWhenMade() { throw 1; }
  int x = 0;
};
constexpr auto ringrpc_fields(const ThrowsWhenMade*) {
  return fields::list(fields::field("x", &ThrowsWhenMade::x));
}

TEST(Variant, ReportsWhatAnAlternativeThrowsAndIsNotWrittenWithoutAValue) {
  struct Holder {
    std::variant<int, ThrowsWhenMade> value;
  };
  const Decoded<Holder> holder(R"({"value":{"x":1}})");
  EXPECT_EQ(holder.failure(), "value: could not be stored");
  if (holder.value.value.valueless_by_exception()) {
    EXPECT_EQ(encoded(holder.value), "invalid");
  }
}

// What a method without params gets. Returns: the failure, or "".
template <class T>
std::string absent() {
  json::Scratch scratch;
  json::DecodeError error;
  T value{};
  if (json::decode(fields::type_of<T>(), &value, JsonValue(), scratch, {}, error)) return "";
  return std::string(error.field()) + ": " + error.reason;
}

TEST(Tuple, TakesAbsentParamsAsAnEmptyArrayOrObject) {
  EXPECT_EQ((absent<std::vector<int>>()), "");
  EXPECT_EQ((absent<std::span<const int>>()), "");
  EXPECT_EQ((absent<std::map<std::string, int>>()), "");
  EXPECT_EQ((absent<std::tuple<>>()), "");
  EXPECT_EQ((absent<std::tuple<std::optional<int>>>()), "");
  EXPECT_EQ((absent<std::array<std::optional<int>, 3>>()), "");
  EXPECT_EQ((absent<std::array<int, 0>>()), "");
  EXPECT_EQ((absent<std::optional<Triple>>()), "");
  EXPECT_EQ((absent<Triple>()), "[0]: is required");
  EXPECT_EQ((absent<std::tuple<std::optional<int>, int>>()), "[1]: is required");
  EXPECT_EQ((absent<std::array<int, 3>>()), "[0]: is required");
  EXPECT_EQ((absent<Value>()), ": is required");
}

TEST(Tuple, TakesAnOptionalStructByPosition) {
  struct Point {
    int x;
    int y;
  };
  const Decoded<std::optional<Point>> point("[1,2]");
  ASSERT_EQ(point.failure(), "");
  EXPECT_EQ(point.value->y, 2);
  EXPECT_EQ(Decoded<std::optional<Point>>("[1]").failure(), "[1]: is required");
}

TEST(Reflection, KnowsTheJsonTypesOfAType) {
  using namespace fields::json_type;
  const auto types = []<class T>(const T*) { return fields::type_of<T>().json_types; };
  EXPECT_EQ(types(static_cast<Parts*>(nullptr)), object);
  EXPECT_EQ(types(static_cast<Triple*>(nullptr)), array);
  EXPECT_EQ(types(static_cast<Json*>(nullptr)), any);
  EXPECT_EQ(types(static_cast<std::optional<std::string>*>(nullptr)), null | string);
  EXPECT_EQ(types(static_cast<std::variant<int, std::string>*>(nullptr)), number | string);
  EXPECT_EQ(types(static_cast<Value*>(nullptr)), any);
}

template <class T>
struct Named {
  T value;
};

TEST(Reflection, NamesStructs) {
  struct Local {
    int x;
  };
  EXPECT_EQ(fields::type_of<Parts>().name, "Parts");
  EXPECT_EQ(fields::type_of<Local>().name, "Local");
  EXPECT_EQ((fields::type_of<Named<std::map<std::string, Parts>>>().name), "Named");
  EXPECT_EQ(fields::type_of<std::vector<Parts>>().name, "");
}

}  // namespace
