// Goal: escapes are those of RFC 8259, and two programs unescape them alike.

#include "engine/json/text.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <string>

#include "engine/json/byte_walk.h"

namespace ringrpc::json {
namespace {

// Returns: whether the escapes of a string are valid, given what stands between its quotes.
bool are_valid(const std::string& raw) {
  const std::string text = "\"" + raw + "\"";
  const std::string padded = text + std::string(limits::padding, 'a');
  const char* const end = padded.data() + text.size();
  const bool checked = check_escapes(find_backslash(padded.data(), end), end);
  ByteWalk bytes(text);
  std::string_view taken;
  EXPECT_EQ(checked, bytes.take_text(taken)) << raw;
  return checked;
}

std::string unescaped(const std::string& raw) {
  EXPECT_TRUE(are_valid(raw)) << raw;
  std::string out(raw.size(), '\0');
  out.resize(unescape(raw, out.data(), out.size()));
  std::string room(raw.size(), '\0');
  Unescaped other(room.data(), room.size());
  other.take(raw);
  EXPECT_EQ(out, other.text());
  return out;
}

TEST(Text, each_escape_stands_for_its_character) {
  EXPECT_EQ(unescaped(R"(\"\\\/\b\f\n\r\t)"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescaped(R"(\u0041\u00e9\u20AC\uffff)"), "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf");
  EXPECT_EQ(unescaped(R"(\ud800\udc00\uDBFF\uDFFF)"), "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  EXPECT_EQ(unescaped(R"(x\u0000y)"), std::string("x\0y", 3));
  EXPECT_EQ(unescaped(R"(\\u0041)"), "\\u0041");
  EXPECT_EQ(unescaped("plain"), "plain");
}

TEST(Text, every_other_letter_behind_a_backslash_is_refused) {
  for (int byte = 0x20; byte < 0x7f; ++byte) {
    const char c = static_cast<char>(byte);
    if (c == '"' || c == 'u') continue;
    EXPECT_EQ(are_valid(std::string("ab\\") + c + "cd"),
              std::string("\\/bfnrt").find(c) != std::string::npos)
        << c;
  }
}

TEST(Text, every_character_of_the_basic_plane_has_its_four_digits) {
  for (std::uint32_t unit = 0; unit < 0x10000; ++unit) {
    char raw[8];
    std::snprintf(raw, sizeof(raw), unit % 2 == 0 ? "\\u%04x" : "\\u%04X", unit);
    const bool surrogate = unit >= 0xD800 && unit <= 0xDFFF;
    ASSERT_EQ(are_valid(raw), !surrogate) << raw;
    if (surrogate) continue;
    ASSERT_LE(unescaped(raw).size(), 3u);
  }
}

TEST(Text, digits_that_are_missing_or_none_are_refused) {
  for (const char* const raw :
       {R"(\u)", R"(\u1)", R"(\u12)", R"(\u123)", R"(\u123g)", R"(\ug123)", R"(\u 123)",
        R"(\u-123)", R"(\U0041)", R"(\u00 41)", R"(\u1\u23)"}) {
    EXPECT_FALSE(are_valid(raw)) << raw;
  }
}

TEST(Text, surrogates_come_in_pairs_or_not_at_all) {
  for (const char* const raw :
       {R"(\ud800)", R"(\udc00)", R"(\ud800x)", R"(\ud800\n)", R"(\ud800\u0041)", R"(\ud800\ud800)",
        R"(\udc00\ud800)", R"(\ud800\udc0)", R"(\ud800\\udc00)", R"(\ud800 \udc00)",
        R"(\ud800\udc00\udc00)", R"(\udfff)", R"(\udbff\ue000)"}) {
    EXPECT_FALSE(are_valid(raw)) << raw;
  }
}

TEST(Text, escapes_are_found_at_every_distance) {
  for (std::size_t size = 0; size < 100; ++size) {
    const std::string fill(size, 'x');
    EXPECT_TRUE(are_valid(fill + "\\n" + fill + "\\u0041" + fill));
    EXPECT_FALSE(are_valid(fill + "\\n" + fill + "\\x"));
    EXPECT_FALSE(are_valid(fill + "\\\\" + fill + "\\ud800" + fill));
  }
}

TEST(Text, unescaping_stops_at_its_capacity) {
  char out[4];
  EXPECT_EQ(unescape(R"(abc\n)", out, 4), 4u);
  EXPECT_EQ(unescape(R"(abcd\n)", out, 4), SIZE_MAX);
  EXPECT_EQ(unescape(R"(ab\u20ac)", out, 4), SIZE_MAX);
  EXPECT_EQ(unescape(R"(a\u20ac)", out, 4), 4u);
  EXPECT_EQ(unescape("", out, 0), 0u);
}

}  // namespace
}  // namespace ringrpc::json
