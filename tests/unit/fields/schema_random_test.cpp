// Goal: a value decodes if and only if it is valid by the schema of its type, and what is encoded
// is valid. Method: values that are right for each type, mutated from a seed; the schemas are
// checked by another program (schema_checker.h).

#include <ringrpc/schema.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/fields/document.h"
#include "tests/unit/fields/schema_checker.h"

namespace {

using ringrpc::Json;
using ringrpc::JsonValue;
using ringrpc::fields_test::Decoded;
using ringrpc::fields_test::Document;
using ringrpc::fields_test::encoded;
using ringrpc::fields_test::SchemaChecker;
using Random = std::mt19937_64;

// Whatever a type may ask for, and what lies just beside it. No number that no double can hold: a
// schema cannot say that one.
constexpr std::string_view scalars[] = {"null",
                                        "true",
                                        "false",
                                        "0",
                                        "-0",
                                        "1",
                                        "-1",
                                        "2.0",
                                        "1e2",
                                        "1.5",
                                        "-0.5e1",
                                        "127",
                                        "128",
                                        "-128",
                                        "-129",
                                        "255",
                                        "256",
                                        "32767",
                                        "32768",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483649",
                                        "4294967295",
                                        "4294967296",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "-9223372036854775809",
                                        "18446744073709551615",
                                        "18446744073709551616",
                                        "1e20",
                                        "3.4028235e38",
                                        "3.4028235677973366e38",
                                        "340282356779733661637539395458142568448",
                                        "-3.5e38",
                                        "1e300",
                                        R"("")",
                                        R"("red")",
                                        R"("green")",
                                        R"("green ")",
                                        R"("blue")",
                                        R"("x")"};
constexpr std::string_view names[] = {"x", "y", "a", "b", "value", "children", "next", ""};

template <std::size_t N>
std::string pick(Random& random, const std::string_view (&from)[N]) {
  return std::string(from[random() % N]);
}

std::string random_value(Random& random, int depth) {
  const std::uint64_t shape = depth == 0 ? 9 : random() % 10;
  if (shape > 2) return pick(random, scalars);
  std::string text;
  if (shape == 0) {
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      text += (text.empty() ? "" : ",") + random_value(random, depth - 1);
    }
    return "[" + text + "]";
  }
  for (const std::string_view name : names) {
    if (random() % 3 != 0) continue;
    text +=
        (text.empty() ? "\"" : ",\"") + std::string(name) + "\":" + random_value(random, depth - 1);
  }
  return "{" + text + "}";
}

// The same value with one change for every so many values inside, or so.
std::string mutated(JsonValue value, std::uint64_t every, Random& random) {
  if (random() % every == 0) return random_value(random, 2);
  const bool is_object = value.kind() == JsonValue::Kind::object;
  if (!is_object && value.kind() != JsonValue::Kind::array) return std::string(value.raw());
  std::string text;
  const auto add = [&](std::string_view name, const std::string& inner) {
    if (!text.empty()) text += ",";
    if (is_object) text += "\"" + std::string(name) + "\":";
    text += inner;
  };
  for (JsonValue::Entry entry = value.first(); entry; entry = entry.next()) {
    if (random() % (2 * every) != 0) {
      add(entry.raw_name(), mutated(entry.value(), every, random));
    }
  }
  if (random() % every == 0) add("added", random_value(random, 1));
  return (is_object ? "{" : "[") + text + (is_object ? "}" : "]");
}

enum class Colour { red, green };
struct Point {
  std::int32_t x;
  std::optional<std::int8_t> y;
};
struct Node {
  std::uint64_t value;
  std::vector<Node> children;
  std::optional<std::vector<Node>> next;
};
struct Scalars {
  bool a;
  std::int64_t b;
  std::optional<std::uint16_t> c;
  float d;
  double e;
  std::string f;
  std::optional<Colour> g;
  std::string_view h;
  std::optional<std::uint8_t> i;
  std::optional<std::int16_t> j;
  std::optional<std::uint32_t> k;
};
struct Containers {
  std::vector<Point> a;
  std::map<std::string, Point> b;
  std::array<Colour, 2> c;
  std::tuple<Point, std::optional<bool>, std::string, std::optional<Point>> d;
  std::optional<std::variant<std::nullptr_t, bool, std::int8_t, Colour, std::vector<float>, Point>>
      e;
  std::optional<Json> f;
  std::optional<std::span<const std::uint8_t>> g;
  std::nullptr_t h;
  std::optional<std::array<std::optional<Point>, 2>> i;
  std::optional<std::tuple<>> j;
};
constexpr std::string_view scalars_text =
    R"({"a":true,"b":-7,"c":9,"d":1.5,"e":2.5,"f":"x","g":"red","h":"y","i":7,"j":8,"k":9})";
constexpr std::string_view containers_text =
    R"({"a":[{"x":1},{"x":2,"y":3}],"b":{"k":{"x":1,"y":null}},"c":["red","green"],)"
    R"("d":[{"x":1},null,"s",{"x":2}],"e":[1.5],"f":{"any":[]},"g":[1,255],"h":null,)"
    R"("i":[null,{"x":1}],"j":[]})";
constexpr std::string_view node_text =
    R"({"value":1,"children":[{"value":2,"children":[],"next":null}],)"
    R"("next":[{"value":3,"children":[{"value":4,"children":[]}]}]})";

struct Tally {
  int taken = 0;
  int refused = 0;
};

template <class T>
void agree(const SchemaChecker& checker, const std::string& text, bool strict, Tally& tally) {
  const Document document(text);
  const Decoded<T> decoded(text, {.strict = strict, .positional = false});
  const bool valid = checker.valid(document.value());
  EXPECT_EQ(decoded.ok, valid) << text << "\n"
                               << decoded.failure() << "\n"
                               << ringrpc::json_schema<T>({.strict = strict});
  ++(valid ? tally.taken : tally.refused);
  if (!decoded.ok) return;
  const std::string written = encoded(decoded.value);
  EXPECT_TRUE(checker.valid(Document(written).value())) << written;
}

template <class T>
void agree_on_random_values(std::string_view right) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (const bool strict : {false, true}) {
    const SchemaChecker checker(ringrpc::json_schema<T>({.strict = strict}));
    Tally tally;
    agree<T>(checker, std::string(right), strict, tally);
    ASSERT_EQ(tally.taken, 1) << right;
    for (int round = 0; round < 500 && !testing::Test::HasFailure(); ++round) {
      const std::uint64_t every = std::uint64_t{8} << (random() % 4);
      agree<T>(checker, mutated(Document(right).value(), every, random), strict, tally);
      agree<T>(checker, random_value(random, 3), strict, tally);
    }
    EXPECT_GT(tally.taken, 20);
    EXPECT_GT(tally.refused, 20);
  }
}

TEST(SchemaAgreesWithTheDecoder, OnScalars) { agree_on_random_values<Scalars>(scalars_text); }
TEST(SchemaAgreesWithTheDecoder, OnContainers) {
  agree_on_random_values<Containers>(containers_text);
}
TEST(SchemaAgreesWithTheDecoder, OnWhatHoldsItself) { agree_on_random_values<Node>(node_text); }
TEST(SchemaAgreesWithTheDecoder, OnLists) {
  agree_on_random_values<std::vector<std::optional<Point>>>(R"([{"x":1},null,{"x":2,"y":3}])");
}
TEST(SchemaAgreesWithTheDecoder, OnMaps) {
  agree_on_random_values<std::map<std::string, std::optional<float>>>(R"({"x":1,"a":null,"q":3})");
}
TEST(SchemaAgreesWithTheDecoder, OnTuples) {
  agree_on_random_values<std::tuple<std::int64_t, std::optional<Colour>>>(R"([1,"green"])");
}
TEST(SchemaAgreesWithTheDecoder, OnVariants) {
  agree_on_random_values<std::variant<Node, std::vector<std::variant<bool, std::uint8_t>>>>(
      R"([true,255,1e2])");
}

// Each scalar at the place of an integer of each width.
template <class T>
void agree_on_scalars() {
  const SchemaChecker checker(ringrpc::json_schema<std::vector<T>>());
  Tally tally;
  for (const std::string_view scalar : scalars) {
    agree<std::vector<T>>(checker, "[" + std::string(scalar) + "]", false, tally);
  }
  EXPECT_GT(tally.taken, 0);
  EXPECT_GT(tally.refused, 0);
}

TEST(SchemaAgreesWithTheDecoder, OnNumbersOfEveryWidth) {
  agree_on_scalars<std::int8_t>();
  agree_on_scalars<std::uint8_t>();
  agree_on_scalars<std::int16_t>();
  agree_on_scalars<std::uint16_t>();
  agree_on_scalars<std::int32_t>();
  agree_on_scalars<std::uint32_t>();
  agree_on_scalars<std::int64_t>();
  agree_on_scalars<std::uint64_t>();
  agree_on_scalars<float>();
  agree_on_scalars<double>();
}

}  // namespace
