// Goal: a picture fits its window, whatever is in it, and nothing in it reaches the terminal but
// printable ASCII. Method: pictures made by hand, and sizes of windows from nothing to large.

#include "tools/ringtop/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tools/ringtop/text.h"

namespace ringtop {
namespace {

Picture full_picture(std::size_t methods) {
  Picture picture;
  picture.has_rates = true;
  picture.seconds = 1;
  picture.calls = {1000, 123456};
  picture.p50 = Quantile{12e-6, false};
  picture.p99 = Quantile{10, true};
  for (std::size_t i = 0; i < methods; ++i) {
    picture.methods.push_back({"m" + std::to_string(i), {10, 100}});
  }
  for (std::size_t i = 0; i < 40; ++i) {
    picture.codes.push_back({"-32" + std::to_string(100 + i), {1, 5}});
    picture.limits.push_back({"limit_" + std::to_string(i), {0, 5e14}});
    picture.pools.push_back({"pool_" + std::to_string(i), {0, 1e14}});
  }
  return picture;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool holds(const std::vector<std::string>& lines, const std::string& words) {
  return joined(lines).find(words) != std::string::npos;
}

TEST(Layout, FitsEveryWindow) {
  const Picture pictures[] = {Picture(), full_picture(0), full_picture(1), full_picture(500)};
  const std::string url = "http://" + std::string(300, 'h');
  for (const Picture& picture : pictures) {
    for (std::size_t rows = 0; rows < 60; ++rows) {
      for (const std::size_t columns : {0, 1, 2, 20, 79, 80, 81, 300}) {
        const auto lines = draw(picture, url, std::string(200, 'n'), {columns, rows});
        EXPECT_LE(lines.size(), rows == 0 ? 60u : rows);
        for (const std::string& line : lines) EXPECT_LE(line.size(), std::min(columns, 300ul));
      }
    }
  }
}

TEST(Layout, NeedsNoMoreThan80Columns) {
  for (const std::string& line : draw(full_picture(500), "http://h", "", {300, 0})) {
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(Layout, WhatANameHoldsIsShownEscaped) {
  Picture picture = full_picture(0);
  picture.methods.push_back({"a\x1b[2Jb\n\x7f\xc3\xa9\\", {1, 1}});
  picture.limits.push_back({"\x1b", {1, 1e15}});
  picture.limits.front() = picture.limits.back();
  const auto lines = draw(picture, "http://h/\x1b", "news\r", {300, 0});
  EXPECT_TRUE(holds(lines, R"(a\x1B[2Jb\n\x7F\xC3\xA9\\ )")) << joined(lines);
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }))
        << line;
  }
}

TEST(Layout, MethodsThatFindNoRowAreSummed) {
  Picture picture = full_picture(100);
  EXPECT_TRUE(holds(draw(picture, "u", "", {80, 0}), "(89 more)"));
  picture.methods.resize(12);
  const auto lines = draw(picture, "u", "", {80, 0});
  EXPECT_TRUE(holds(lines, "m11 "));
  EXPECT_FALSE(holds(lines, "(1 more)")) << "a row of one method shows that method";
}

TEST(Layout, ATallerWindowShowsMoreMethods) {
  const Picture picture = full_picture(100);
  EXPECT_TRUE(holds(draw(picture, "u", "", {80, 200}), "m99 "));
  const auto lines = draw(picture, "u", "", {80, 40});
  EXPECT_EQ(lines.size(), 40u);
  EXPECT_TRUE(holds(lines, "workers")) << "the rest is not pushed out";
}

TEST(Layout, CallsOfNoMethodHaveARowThatSaysSo) {
  Picture picture = full_picture(1);
  picture.methods.push_back({"", {1, 2}});
  EXPECT_TRUE(holds(draw(picture, "u", "", {80, 0}), "(no such method)"));
}

TEST(Layout, LimitsAndErrorsAreThereWhenTheyWereHit) {
  Picture picture;
  EXPECT_FALSE(holds(draw(picture, "u", "", {80, 0}), "limits hit"));
  picture.limits.push_back({"depth", {0, 3}});
  EXPECT_TRUE(holds(draw(picture, "u", "", {80, 0}), "limits hit  depth 3"));
}

TEST(Layout, WithoutRatesItShowsNone) {
  Picture picture = full_picture(1);
  picture.has_rates = false;
  picture.restarted = true;
  const auto lines = draw(picture, "u", "", {80, 0});
  EXPECT_FALSE(holds(lines, "/s ")) << joined(lines);
  EXPECT_TRUE(holds(lines, "started anew"));
}

TEST(Text, FiguresAreShortAndRounded) {
  EXPECT_EQ(amount(0), "0");
  EXPECT_EQ(amount(3.2), "3.2");
  EXPECT_EQ(amount(9.96), "10");
  EXPECT_EQ(amount(999.4), "999");
  EXPECT_EQ(amount(999.6), "1.0k");
  EXPECT_EQ(amount(999'940), "999.9k");
  EXPECT_EQ(amount(999'960), "1.0M");
  EXPECT_EQ(amount(std::numeric_limits<double>::quiet_NaN()), "?");
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1024), "1.0 KiB");
  EXPECT_EQ(bytes(1024.0 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(duration(850e-9), "850 ns");
  EXPECT_EQ(duration(12.5e-6), "12.5 us");
  EXPECT_EQ(duration(0.99999), "1.0 s");
  EXPECT_EQ(duration(Quantile{10, true}), "> 10.0 s");
  EXPECT_EQ(duration(std::nullopt), "-");
}

TEST(Text, CutTellsThatSomethingIsMissing) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab~");
  EXPECT_EQ(cut("abcd", 1), "~");
  EXPECT_EQ(cut("abcd", 0), "");
}

}  // namespace
}  // namespace ringtop
