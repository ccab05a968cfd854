// Goal: every type has the schema that is written down here.

#include <gtest/gtest.h>
#include <ringrpc/json.h>
#include <ringrpc/schema.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using ringrpc::json_schema;

enum class Colour { red, green };
enum class Choice { no, yes };

struct Point {
  std::int32_t x;
  std::optional<std::int32_t> y;
};

// Returns: the schema of T without its dialect.
template <class T>
std::string schema(bool strict = false) {
  return json_schema<T>({.strict = strict, .dialect = false});
}

TEST(Schema, SaysItsDialect) {
  EXPECT_EQ(json_schema<bool>(),
            R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"boolean"})");
  EXPECT_EQ(json_schema<ringrpc::Json>(),
            R"({"$schema":"https://json-schema.org/draft/2020-12/schema"})");
}

TEST(Schema, BoundsIntegersByTheirWidth) {
  const auto integer = [](const char* least, const char* most) {
    return std::string(R"({"type":"integer","minimum":)") + least + R"(,"maximum":)" + most + "}";
  };
  EXPECT_EQ(schema<std::int8_t>(), integer("-128", "127"));
  EXPECT_EQ(schema<std::uint8_t>(), integer("0", "255"));
  EXPECT_EQ(schema<std::int16_t>(), integer("-32768", "32767"));
  EXPECT_EQ(schema<std::uint16_t>(), integer("0", "65535"));
  EXPECT_EQ(schema<std::int32_t>(), integer("-2147483648", "2147483647"));
  EXPECT_EQ(schema<std::uint32_t>(), integer("0", "4294967295"));
  EXPECT_EQ(schema<std::int64_t>(), integer("-9223372036854775808", "9223372036854775807"));
  EXPECT_EQ(schema<std::uint64_t>(), integer("0", "18446744073709551615"));
}

TEST(Schema, NamesScalars) {
  EXPECT_EQ(schema<double>(), R"({"type":"number"})");
  EXPECT_EQ(schema<float>(), R"({"type":"number",)"
                             R"("exclusiveMinimum":-340282356779733661637539395458142568448,)"
                             R"("exclusiveMaximum":340282356779733661637539395458142568448})");
  EXPECT_EQ(schema<std::string>(), R"({"type":"string"})");
  EXPECT_EQ(schema<std::string_view>(), R"({"type":"string"})");
  EXPECT_EQ(schema<std::nullptr_t>(), R"({"type":"null"})");
  EXPECT_EQ(schema<Colour>(), R"({"enum":["red","green"]})");
  EXPECT_EQ(schema<ringrpc::Json>(), "{}");
}

TEST(Schema, MakesOptionalsNullable) {
  EXPECT_EQ(schema<std::optional<bool>>(), R"({"type":["boolean","null"]})");
  EXPECT_EQ(schema<std::optional<Colour>>(), R"({"enum":["red","green",null]})");
  EXPECT_EQ(schema<std::vector<std::optional<ringrpc::Json>>>(),
            R"({"type":"array","items":true})");
  EXPECT_EQ((schema<std::optional<std::variant<bool, std::string>>>()),
            R"({"anyOf":[{"type":"boolean"},{"type":"string"},{"type":"null"}]})");
  EXPECT_EQ((schema<std::optional<std::variant<std::monostate, std::string>>>()),
            R"({"anyOf":[{"type":"null"},{"type":"string"}]})");
}

TEST(Schema, DescribesArraysAndMaps) {
  EXPECT_EQ(schema<std::vector<std::string>>(), R"({"type":"array","items":{"type":"string"}})");
  EXPECT_EQ(schema<std::span<const double>>(), R"({"type":"array","items":{"type":"number"}})");
  EXPECT_EQ((schema<std::array<std::string, 3>>()),
            R"({"type":"array","items":{"type":"string"},"minItems":3,"maxItems":3})");
  EXPECT_EQ((schema<std::array<std::optional<bool>, 3>>()),
            R"({"type":"array","items":{"type":["boolean","null"]},"maxItems":3})");
  EXPECT_EQ((schema<std::map<std::string, std::vector<Choice>>>()),
            R"({"type":"object","additionalProperties":{"type":"array","items":)"
            R"({"enum":["no","yes"]}}})");
}

TEST(Schema, DescribesTuples) {
  EXPECT_EQ(schema<std::tuple<>>(), R"({"type":"array","items":false})");
  EXPECT_EQ((schema<std::pair<bool, std::string>>()),
            R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":"string"}],)"
            R"("items":false,"minItems":2})");
  EXPECT_EQ((schema<std::tuple<bool, std::optional<bool>, bool, std::optional<bool>>>()),
            R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":["boolean","null"]},)"
            R"({"type":"boolean"},{"type":["boolean","null"]}],"items":false,"minItems":3})");
}

constexpr std::string_view point =
    R"("type":"object","properties":{"x":{"type":"integer","minimum":-2147483648,)"
    R"("maximum":2147483647},"y":{"type":["integer","null"],"minimum":-2147483648,)"
    R"("maximum":2147483647}},"required":["x"])";

TEST(Schema, DescribesStructs) {
  struct Empty {};
  EXPECT_EQ(schema<Empty>(), R"({"type":"object","properties":{}})");
  EXPECT_EQ(schema<Empty>(true),
            R"({"type":"object","properties":{},"additionalProperties":false})");
  EXPECT_EQ(schema<Point>(), "{" + std::string(point) + "}");
}

TEST(Schema, IsStrictInsideToo) {
  struct Holder {
    Point point;
  };
  EXPECT_EQ(schema<Holder>(true), R"({"type":"object","properties":{"point":{)" +
                                      std::string(point) +
                                      R"(,"additionalProperties":false}},"required":["point"],)"
                                      R"("additionalProperties":false})");
}

TEST(Schema, DefinesOnceWhatOccursTwice) {
  struct Line {
    Point from;
    std::optional<Point> to;
  };
  EXPECT_EQ(schema<Line>(),
            R"({"type":"object","properties":{"from":{"$ref":"#/$defs/Point"},"to":{"anyOf":[)"
            R"({"$ref":"#/$defs/Point"},{"type":"null"}]}},"required":["from"],)"
            R"("$defs":{"Point":{)" +
                std::string(point) + "}}}");
}

struct Node {
  std::vector<Node> children;
  std::map<std::string, Node> named;
};

TEST(Schema, RefersToWhatHoldsItself) {
  const std::string body =
      R"("type":"object","properties":{"children":{"type":"array","items":)"
      R"({"$ref":"#/$defs/Node"}},"named":{"type":"object","additionalProperties":)"
      R"({"$ref":"#/$defs/Node"}}},"required":["children","named"])";
  EXPECT_EQ(schema<Node>(), "{" + body + R"(,"$defs":{"Node":{)" + body + "}}}");
  EXPECT_EQ(schema<std::vector<Node>>(),
            R"({"type":"array","items":{"$ref":"#/$defs/Node"},"$defs":{"Node":{)" + body + "}}}");
}

template <class T>
struct Named {
  std::optional<T> value;
};

TEST(Schema, TellsDefinitionsOfOneNameApart) {
  struct Holder {
    Named<bool> a, b;
    Named<std::string> c, d;
  };
  EXPECT_EQ(
      schema<Holder>(),
      R"({"type":"object","properties":{"a":{"$ref":"#/$defs/Named"},"b":{"$ref":"#/$defs/Named"},)"
      R"("c":{"$ref":"#/$defs/Named2"},"d":{"$ref":"#/$defs/Named2"}},)"
      R"("required":["a","b","c","d"],"$defs":{)"
      R"("Named":{"type":"object","properties":{"value":{"type":["boolean","null"]}}},)"
      R"("Named2":{"type":"object","properties":{"value":{"type":["string","null"]}}}}})");
}

// A struct in a struct in a struct.
template <int N>
struct Nested {
  Nested<N - 1> inner;
};
template <>
struct Nested<0> {
  bool flag;
};

TEST(Schema, DoesNotNestAsDeepAsItsTypes) {
  const std::string text = schema<Nested<40>>();
  int depth = 0;
  int deepest = 0;
  for (const char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_LE(deepest, 20) << text;
}

}  // namespace
