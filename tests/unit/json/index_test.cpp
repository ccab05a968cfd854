// Goal: an index holds the beginnings of all tokens, alike from every kernel and from the portable
// program, and tells whether there are escapes.

#include "engine/json/index.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <memory>
#include <string>
#include <vector>

namespace ringrpc::json {
namespace {

struct Found {
  bool built = false;
  std::vector<std::uint32_t> entries;
  std::uint32_t first_backslash = 0;

  bool operator==(const Found&) const = default;
};

// Returns: what the kernel finds, or the portable program if the name is empty.
Found find(const std::string& kernel, const std::string& text, char filler) {
  Index index;
  EXPECT_TRUE(index.reserve(4096, kernel).ok());
  const std::string padded = text + std::string(limits::padding, filler);
  const std::uint32_t size = static_cast<std::uint32_t>(text.size());
  Found found;
  found.built =
      kernel.empty() ? index.build_portable(padded.data(), size) : index.build(padded.data(), size);
  EXPECT_EQ(index.count() > 0, found.built);
  if (!found.built) return found;
  EXPECT_EQ(index.text(), padded.data());
  EXPECT_EQ(index.size(), size);
  EXPECT_EQ(index.positions()[index.count()], size);
  EXPECT_EQ(index.positions()[index.count() + 1], size);
  EXPECT_EQ(index.has_backslash(), text.find('\\') != std::string::npos);
  found.entries.assign(index.positions(), index.positions() + index.count());
  found.first_backslash = index.first_backslash();
  return found;
}

Found find_everywhere(const std::string& text) {
  const Found expected = find("", text, ' ');
  for (const std::string& kernel : Index::kernels()) {
    for (const char filler : {' ', '\\', '"', '1', '}'}) {
      EXPECT_EQ(find(kernel, text, filler), expected) << kernel << ": " << text;
    }
  }
  return expected;
}

TEST(Index, every_token_has_an_entry_where_it_begins) {
  const Found found = find_everywhere(R"( {"a" : [true,-12.5, "x,y:\"z]"] } )");
  ASSERT_TRUE(found.built);
  EXPECT_EQ(found.entries, (std::vector<std::uint32_t>{1, 2, 6, 8, 9, 13, 14, 19, 21, 31, 33}));
  EXPECT_EQ(found.first_backslash, 26u);
}

TEST(Index, the_first_backslash_is_found_at_every_place_and_never_behind_the_text) {
  for (std::uint32_t size = 0; size < 200; ++size) {
    const std::string before(size, 'x');
    EXPECT_EQ(find_everywhere("[\"" + before + "\\n\"]").first_backslash, size + 2);
    EXPECT_EQ(find_everywhere("[\"" + before + "\"]").first_backslash, size + 4);
  }
}

TEST(Index, texts_without_tokens_or_with_open_strings_have_none) {
  for (const std::string text : {"", " ", "\n\t\r ", "\"", "[\"a]", "[\"a\\\"]", "\"\\"}) {
    EXPECT_FALSE(find_everywhere(text).built) << text;
  }
}

TEST(Index, text_that_is_not_utf8_has_none_wherever_the_fault_is) {
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                                "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
                                "\xfe", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    for (const std::size_t at : {0u, 13u, 14u, 15u, 29u, 30u, 31u, 61u, 62u, 63u, 127u}) {
      EXPECT_FALSE(find_everywhere("[\"" + std::string(at, 'x') + bad + "\"]").built) << at;
    }
  }
}

TEST(Index, raw_control_characters_in_strings_have_none) {
  for (int byte = 0; byte < 0x20; ++byte) {
    EXPECT_FALSE(find_everywhere(std::string("[\"a") + static_cast<char>(byte) + "b\"]").built);
  }
  EXPECT_TRUE(find_everywhere("[\"a\x7f\"]").built);
}

TEST(Index, it_is_built_again_and_again_in_the_same_memory) {
  Index index;
  ASSERT_TRUE(index.reserve(1024).ok());
  EXPECT_FALSE(index.kernel().empty());
  const std::uint32_t* const before = index.positions();
  for (std::uint32_t size = 1; size <= 1024; ++size) {
    const std::string text = std::string(size, '[') + std::string(limits::padding, ' ');
    ASSERT_TRUE(index.build(text.data(), size));
    ASSERT_EQ(index.count(), size);
    ASSERT_TRUE(index.build_portable(text.data(), size));
    ASSERT_EQ(index.count(), size);
  }
  EXPECT_EQ(index.positions(), before);
}

}  // namespace
}  // namespace ringrpc::json
