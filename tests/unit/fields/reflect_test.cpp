// Goal: the tables tell the truth about names, offsets, kinds and what is required.
// Method: structs of every supported kind of member, compared with offsetof and literals.

#include <gtest/gtest.h>
#include <ringrpc/fields.h>
#include <ringrpc/json.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

using ringrpc::fields::Field;
using ringrpc::fields::Kind;
using ringrpc::fields::type_of;
using ringrpc::fields::TypeInfo;

enum class Color : std::uint8_t { red, green, blue = 127 };
enum class Level : std::int64_t { low = -128, middle = 0, high = 127, hidden = 128 };
enum class Alias { first = 1, second = 2, again = 1 };

struct Node {
  int value;
  std::vector<Node> children;
};

struct Everything {
  char letter;
  std::string text;
  std::optional<int> maybe;
  std::map<std::string, int> ordered;
  std::span<const int> numbers;
  Node node;
  Color color;
  std::string_view view;
  double real = 3;
  ringrpc::Json raw;
  std::unordered_map<std::string, Node> nodes;
  bool flag;
};

const TypeInfo& everything = type_of<Everything>();

const Field& at(const TypeInfo& type, std::size_t place) { return type.fields[place]; }

TEST(Reflection, NamesMembersInTheOrderOfTheirDeclaration) {
  constexpr std::string_view names[] = {"letter", "text", "maybe", "ordered", "numbers", "node",
                                        "color",  "view", "real",  "raw",     "nodes",   "flag"};
  ASSERT_EQ(everything.field_count, std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i) {
    EXPECT_EQ(at(everything, i).name(), names[i]);
    EXPECT_EQ(std::string(at(everything, i).fragment, names[i].size() + 4),
              ",\"" + std::string(names[i]) + "\":");
    EXPECT_EQ(at(everything, i).bit, std::uint64_t{1} << i);
  }
}

TEST(Reflection, FindsOffsets) {
  const Everything value{};
  const auto offset = [&](const void* member) {
    return static_cast<std::size_t>(static_cast<const char*>(member) -
                                    reinterpret_cast<const char*>(&value));
  };
  EXPECT_EQ(at(everything, 0).offset, offset(&value.letter));
  EXPECT_EQ(at(everything, 1).offset, offset(&value.text));
  EXPECT_EQ(at(everything, 2).offset, offset(&value.maybe));
  EXPECT_EQ(at(everything, 5).offset, offset(&value.node));
  EXPECT_EQ(at(everything, 6).offset, offset(&value.color));
  EXPECT_EQ(at(everything, 8).offset, offset(&value.real));
  EXPECT_EQ(at(everything, 11).offset, offset(&value.flag));
}

struct Aligned {
  char a;
  alignas(2) char b;
  int c;
  alignas(64) char d;
};

TEST(Reflection, FindsOffsetsOfOverAlignedMembers) {
  const TypeInfo& type = type_of<Aligned>();
  EXPECT_EQ(at(type, 1).offset, offsetof(Aligned, b));
  EXPECT_EQ(at(type, 2).offset, offsetof(Aligned, c));
  EXPECT_EQ(at(type, 3).offset, offsetof(Aligned, d));
}

TEST(Reflection, KnowsKindsAndSizes) {
  constexpr Kind kinds[] = {
      Kind::signed_integer, Kind::string,    Kind::optional,    Kind::map,
      Kind::span,           Kind::structure, Kind::enumeration, Kind::string_view,
      Kind::floating,       Kind::json,      Kind::map,         Kind::boolean};
  for (std::size_t i = 0; i < std::size(kinds); ++i) {
    EXPECT_EQ(at(everything, i).type->kind, kinds[i]) << i;
  }
  EXPECT_EQ(type_of<std::uint16_t>().size, 2u);
  EXPECT_EQ(type_of<std::uint16_t>().kind, Kind::unsigned_integer);
  EXPECT_EQ(type_of<float>().size, 4u);
  EXPECT_EQ(&type_of<std::vector<Node>>(), at(type_of<Node>(), 1).type);
  EXPECT_EQ(type_of<std::vector<Node>>().element, &type_of<Node>());
}

TEST(Reflection, RequiresWhatIsNoOptional) { EXPECT_EQ(everything.required, 0xFFFu & ~(1u << 2)); }

TEST(Reflection, NamesEnumerators) {
  const TypeInfo& color = type_of<Color>();
  ASSERT_EQ(color.name_count, 3);
  EXPECT_EQ(color.names[0].name, "red");
  EXPECT_EQ(color.names[2].name, "blue");
  EXPECT_EQ(color.names[2].value, 127);
  const TypeInfo& level = type_of<Level>();
  ASSERT_EQ(level.name_count, 3) << "values above 127 are not seen";
  EXPECT_EQ(level.names[0].name, "low");
  EXPECT_EQ(level.names[0].value, -128);
  EXPECT_EQ(level.names[2].name, "high");
  EXPECT_EQ(type_of<Alias>().name_count, 2);
}

TEST(Reflection, NamesEnumeratorsOfALocalEnum) {
  enum class Local { one = 1, two2 };
  const TypeInfo& local = type_of<Local>();
  ASSERT_EQ(local.name_count, 2);
  EXPECT_EQ(local.names[0].name, "one");
  EXPECT_EQ(local.names[1].name, "two2");
}

template <class T, int N>
struct Holder {
  enum class Inner : signed char { a = -1, z };
  Inner inner;
  T value;
};

TEST(Reflection, SeesThroughTemplates) {
  const TypeInfo& type = type_of<Holder<std::map<std::string, int>, -3>>();
  ASSERT_EQ(type.field_count, 2);
  EXPECT_EQ(at(type, 0).name(), "inner");
  ASSERT_EQ(at(type, 0).type->name_count, 2);
  EXPECT_EQ(at(type, 0).type->names[0].name, "a");
  EXPECT_EQ(at(type, 0).type->names[1].name, "z");
}

struct Empty {};
struct OneString {
  std::string only;
};

TEST(Reflection, TakesStructsOfNoneAndOneMember) {
  EXPECT_EQ(type_of<Empty>().field_count, 0);
  ASSERT_EQ(type_of<OneString>().field_count, 1);
  EXPECT_EQ(at(type_of<OneString>(), 0).name(), "only");
}

struct Sixty4 {
  int a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7;
  int c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7;
  int e0, e1, e2, e3, e4, e5, e6, e7, f0, f1, f2, f3, f4, f5, f6, f7;
  int g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7;
};

TEST(Reflection, TakesSixtyFourMembers) {
  const TypeInfo& type = type_of<Sixty4>();
  ASSERT_EQ(type.field_count, 64);
  EXPECT_EQ(at(type, 63).name(), "h7");
  EXPECT_EQ(at(type, 63).offset, 63 * sizeof(int));
  EXPECT_EQ(type.required, ~std::uint64_t{0});
}

struct Base {
  int x;
};
struct Derived : Base {
  int y;
};
RINGRPC_FIELDS(Derived, x, y)

struct Word {
  int class_;
  std::string text;
};
constexpr auto ringrpc_fields(const Word*) {
  using namespace ringrpc::fields;
  return list(field("class", &Word::class_), field("a longer name", &Word::text));
}

class Private {
 public:
  [[nodiscard]] int sum() const { return a_ + b_; }

 private:
  int a_ = 1;
  int b_ = 2;
  int hidden_ = 3;
  friend RINGRPC_FIELDS(Private, a_, b_)
};

struct DerivedAgain : Derived {};
RINGRPC_FIELDS(DerivedAgain, y)

TEST(Reflection, TakesListsByHand) {
  ASSERT_EQ(type_of<Derived>().field_count, 2);
  EXPECT_EQ(at(type_of<Derived>(), 1).name(), "y");
  EXPECT_EQ(at(type_of<Derived>(), 1).offset, sizeof(int));
  EXPECT_EQ(at(type_of<Word>(), 0).name(), "class");
  EXPECT_EQ(at(type_of<Word>(), 1).name(), "a longer name");
  ASSERT_EQ(type_of<Private>().field_count, 2);
  EXPECT_EQ(at(type_of<Private>(), 1).name(), "b_");
  ASSERT_EQ(type_of<DerivedAgain>().field_count, 1) << "the base's list is not the derived one's";
}

}  // namespace
