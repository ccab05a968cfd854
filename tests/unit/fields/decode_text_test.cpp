// Goal: strings arrive unescaped, as views where they can be, and never past their end.

#include <random>
#include <string>
#include <string_view>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::fields_test::Decoded;
using namespace std::string_literals;

struct Text {
  std::string_view text;
};
struct Owned {
  std::string text;
};

TEST(DecodeText, IsAViewOfTheMessageWithoutEscapes) {
  const Decoded<Text> text(R"({"text":"plain, {not} [structure]"})");
  ASSERT_TRUE(text.ok);
  EXPECT_EQ(text.value.text, "plain, {not} [structure]");
  EXPECT_TRUE(text.document.holds(text.value.text.data()));
  EXPECT_EQ(text.scratch.used(), 0u);
}

TEST(DecodeText, LooksNotAtEscapesOfItsNeighbours) {
  struct Two {
    std::string_view a, b;
  };
  const Decoded<Two> two(R"({"a":"x","b":"\n"})");
  ASSERT_TRUE(two.ok);
  EXPECT_TRUE(two.document.holds(two.value.a.data()));
  EXPECT_EQ(two.value.b, "\n");
  EXPECT_EQ(two.scratch.used(), 1u);
}

TEST(DecodeText, UnescapesIntoTheScratch) {
  const std::pair<const char*, std::string> cases[] = {
      {R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
      {R"(a\u0000b)", "a\0b"s},
      {R"(\u00e9\u20AC)", "\u00e9\u20ac"},
      {R"(\ud83d\ude00)", "\U0001F600"},
      {R"(\uDBFF\uDFFF)", "\U0010FFFF"},
      {"\u00e9\\u00e9", "\u00e9\u00e9"},
      {R"(\\u0061)", "\\u0061"},
      {R"(\u007f)", "\x7f"},
      {R"(ends with \\)", "ends with \\"},
      {R"(\")", "\""},
  };
  for (const auto& [raw, expected] : cases) {
    const std::string message = "{\"text\" : \"" + std::string(raw) + "\" }";
    const Decoded<Text> view(message);
    EXPECT_EQ(view.value.text, expected) << raw;
    const Decoded<Owned> owned(message);
    EXPECT_EQ(owned.value.text, expected) << raw;
    EXPECT_EQ(owned.scratch.used(), 0u) << "an owned string gives the scratch back";
  }
}

TEST(DecodeText, TakesTheEmptyString) {
  EXPECT_EQ(Decoded<Text>(R"({"text":""})").failure(), "");
  EXPECT_EQ(Decoded<Owned>(R"({"text":""})").value.text, "");
}

TEST(DecodeText, NeedsScratchForEscapesOnly) {
  EXPECT_EQ(Decoded<Text>(R"({"text":"abc"})", {}, 0).failure(), "");
  EXPECT_EQ(Decoded<Text>(R"({"text":"a\n"})", {}, 3).failure(), "");
  EXPECT_EQ(Decoded<Text>(R"({"text":"a\n"})", {}, 2).failure(),
            "text: needs more memory than a call may use");
  EXPECT_EQ(Decoded<Owned>(R"({"text":"a\n"})", {}, 2).failure(),
            "text: needs more memory than a call may use");
}

TEST(DecodeText, RefusesOtherKinds) {
  for (const char* value : {"1", "null", "true", "[]", "{}"}) {
    EXPECT_EQ(Decoded<Text>("{\"text\":" + std::string(value) + "}").failure(),
              "text: must be a string");
  }
}

TEST(DecodeText, ReadsBackWhatItWrote) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string_view pieces[] = {
      "a",      "\"",         "\\",   "\n",        std::string_view("\0", 1), "\x1f", "\u00e9",
      "\u20ac", "\U0001F600", "\x7f", "plain text"};
  for (int round = 0; round < 3000; ++round) {
    Owned value;
    const std::size_t count = random() % 60;
    const std::size_t kinds = 1 + random() % std::size(pieces);
    for (std::size_t i = 0; i < count; ++i) value.text += pieces[random() % kinds];
    const std::string written = ringrpc::fields_test::encoded(value);
    const Decoded<Owned> back(written);
    ASSERT_TRUE(back.ok) << written;
    ASSERT_EQ(back.value.text, value.text) << written;
  }
}

}  // namespace
