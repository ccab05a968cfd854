// Goal: text is checked the same however it is cut, and refused at its first impossible byte.
// Method: every code point, every byte in every place of a sequence, and known bad sequences,
// against a plain table of what RFC 3629 allows.

#include "engine/ws/utf8.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::ws::test {
namespace {

std::string encoded(std::uint32_t code) {
  std::string out;
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800)
    return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  if (code >= 0x10000) {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 63));
  } else {
    out += static_cast<char>(0xE0 | code >> 12);
  }
  out += static_cast<char>(0x80 | (code >> 6 & 63));
  out += static_cast<char>(0x80 | (code & 63));
  return out;
}

// Where the text is refused, counted in bytes that were read; none: it is not.
std::optional<std::size_t> refused_at(std::string_view text) {
  Utf8 utf8;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!utf8.feed(&text[i], 1)) return i + 1;
  }
  return {};
}

bool accepts(std::string_view text) {
  Utf8 utf8;
  return utf8.feed(text.data(), text.size()) && utf8.complete();
}

TEST(Utf8, TakesEveryCodePointAndNoSurrogate) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(accepts(encoded(code)), !surrogate) << code;
  }
  for (std::uint32_t code = 0x110000; code < 0x200000; code += 0x1000) {
    EXPECT_FALSE(accepts(encoded(code))) << code;
  }
}

TEST(Utf8, SaysTheSameForEveryCut) {
  const std::string text =
      "a\xc3\xa9 \xe2\x82\xac plain text that is long enough \xf0\x9f\x98\x80z";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      Utf8 utf8;
      EXPECT_TRUE(utf8.feed(text.data(), first));
      EXPECT_TRUE(utf8.feed(text.data() + first, second - first));
      EXPECT_TRUE(utf8.feed(text.data() + second, text.size() - second));
      EXPECT_TRUE(utf8.complete());
    }
  }
}

struct BadText {
  std::string bytes;
  std::size_t at;  // the count of bytes that decides
};

TEST(Utf8, RefusesAtTheFirstImpossibleByte) {
  const std::vector<BadText> cases = {
      {"\x80", 1},
      {"\xbf", 1},
      {"\xc0", 1},
      {"\xc1\xbf", 1},
      {"\xf5", 1},
      {"\xfe", 1},
      {"\xff", 1},
      {"\xe0\x80", 2},
      {"\xe0\x9f", 2},
      {"\xed\xa0", 2},
      {"\xf0\x8f", 2},
      {"\xf4\x90", 2},
      {"\xc3(", 2},
      {"\xe2\x82(", 3},
      {"\xf0\x9f\x98(", 4},
      {"\xe2(\x82", 2},
      {"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80", 13},
      {std::string(40, 'a') + "\xff" + std::string(40, 'b'), 41},
  };
  for (const BadText& bad : cases) {
    EXPECT_EQ(refused_at(bad.bytes), bad.at) << testing::PrintToString(bad.bytes);
    EXPECT_FALSE(accepts(bad.bytes));
    EXPECT_FALSE(refused_at(std::string_view(bad.bytes).substr(0, bad.at - 1)));
  }
}

TEST(Utf8, FindsABadByteInEveryPlaceOfALongText) {
  for (std::size_t at = 0; at < 100; ++at) {
    std::string text(100, 'a');
    text[at] = '\xC3';
    EXPECT_EQ(accepts(text), false) << at;
  }
}

TEST(Utf8, IsNotCompleteWithinACodePoint) {
  for (const std::string_view whole : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      Utf8 utf8;
      EXPECT_TRUE(utf8.feed(whole.data(), size));
      EXPECT_FALSE(utf8.complete());
    }
  }
}

}  // namespace
}  // namespace ringrpc::ws::test
