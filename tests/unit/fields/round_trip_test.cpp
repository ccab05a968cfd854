// Goal: what is encoded decodes to the same value, whatever it is.
// Method: seeded random values of a recursive struct of every kind; the text is decoded as it is,
// with blanks everywhere, and with its members in another order.

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::JsonValue;
using ringrpc::fields_test::Decoded;
using ringrpc::fields_test::Document;
using ringrpc::fields_test::encoded;

enum class Mode : signed char { off = -128, idle, on = 127 };

struct Tree {
  std::int64_t integer;
  std::uint16_t natural;
  double real;
  bool flag;
  std::string text;
  Mode mode;
  std::optional<std::string> maybe;
  std::vector<Tree> children;
  std::map<std::string, std::vector<std::int32_t>> groups;
  std::optional<std::vector<std::uint64_t>> numbers;

  bool operator==(const Tree&) const = default;
};

using Random = std::mt19937_64;

std::string random_text(Random& random) {
  constexpr std::string_view pieces[] = {
      "a",  "\"",     "\\",
      "\n", "\u00e9", "\U0001F600",
      "{",  ",",      "long enough for a block or two of sixteen bytes"};
  std::string text;
  for (std::uint64_t i = random() % 8; i > 0; --i) text += pieces[random() % std::size(pieces)];
  return text;
}

Tree random_tree(Random& random, int depth) {
  Tree tree{};
  tree.integer = static_cast<std::int64_t>(random() >> (random() % 64));
  if (random() % 2 == 0) tree.integer = -tree.integer;
  tree.natural = static_cast<std::uint16_t>(random());
  tree.real = static_cast<double>(random() % 1'000'000) / 997.0;
  tree.flag = random() % 2 == 0;
  tree.text = random_text(random);
  tree.mode = random() % 2 == 0 ? Mode::off : Mode::on;
  if (random() % 2 == 0) tree.maybe = random_text(random);
  if (random() % 3 == 0) tree.numbers.emplace(random() % 5, random());
  for (std::uint64_t i = random() % 3; i > 0; --i) {
    tree.groups[random_text(random)].assign(random() % 4, static_cast<std::int32_t>(random()));
  }
  if (depth > 0) {
    for (std::uint64_t i = random() % 4; i > 0; --i) {
      tree.children.push_back(random_tree(random, depth - 1));
    }
  }
  return tree;
}

// The same value, with blanks around every token and the members of objects shuffled.
std::string respelled(JsonValue value, Random& random) {
  const auto blanks = [&random] { return std::string(random() % 3, " \n\t\r"[random() % 4]); };
  const bool is_object = value.kind() == JsonValue::Kind::object;
  if (!is_object && value.kind() != JsonValue::Kind::array) {
    return blanks() + std::string(value.raw()) + blanks();
  }
  std::vector<std::string> parts;
  for (JsonValue::Entry entry = value.first(); entry; entry = entry.next()) {
    std::string part = respelled(entry.value(), random);
    if (is_object) {
      part = blanks() + "\"" + std::string(entry.raw_name()) + "\"" + blanks() + ":" + part;
    }
    parts.push_back(std::move(part));
  }
  if (is_object) std::shuffle(parts.begin(), parts.end(), random);
  std::string text = blanks() + (is_object ? "{" : "[") + blanks();
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "," : "") + parts[i];
  return text + (is_object ? "}" : "]") + blanks();
}

TEST(RoundTrip, BringsBackRandomValues) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    const Tree tree = random_tree(random, 3);
    const std::string text = encoded(tree, 1u << 20);
    const Decoded<Tree> back(text);
    ASSERT_EQ(back.failure(), "") << text;
    ASSERT_EQ(back.value, tree) << text;
    const std::string other = respelled(Document(text).value(), random);
    const Decoded<Tree> again(other, {.strict = true});
    ASSERT_EQ(again.failure(), "") << other;
    ASSERT_EQ(again.value, tree) << other;
  }
}

TEST(RoundTrip, RefusesOrTakesButNeverCrashesOnOtherShapes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  constexpr std::string_view tokens[] = {"null",
                                         "true",
                                         "1",
                                         "-2.5e3",
                                         R"("x")",
                                         R"("\u0000")",
                                         "[]",
                                         "{}",
                                         R"({"text":1})",
                                         R"([[[1]]])",
                                         R"({"children":[{"integer":1}]})",
                                         "18446744073709551616"};
  for (int round = 0; round < 2000; ++round) {
    std::string text = encoded(random_tree(random, 1), 1u << 20);
    const Document document(text);
    const JsonValue value = document.value();
    const JsonValue victim = [&] {
      JsonValue::Entry entry = value.first();
      for (std::uint64_t i = random() % value.size(); i > 0; --i) entry = entry.next();
      return entry.value();
    }();
    const std::string_view raw = victim.raw();
    text.replace(static_cast<std::size_t>(raw.data() - value.text()), raw.size(),
                 tokens[random() % std::size(tokens)]);
    const Decoded<Tree> decoded(text, {}, random() % 64);
    if (!decoded.ok) {
      EXPECT_NE(std::string(decoded.error.reason), "");
    }
  }
}

}  // namespace
