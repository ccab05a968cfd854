// Goal: what the writer writes is JSON without white space, or it says that it is not.
// Method: every byte and position of strings, every capacity, every misuse.

#include <ringrpc/json_writer.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::JsonWriter;

std::string written(const std::function<void(JsonWriter&)>& write) {
  std::vector<char> memory(1u << 16);
  JsonWriter writer(memory.data(), memory.data() + memory.size());
  write(writer);
  EXPECT_FALSE(writer.overflowed());
  return writer.invalid() ? "invalid" : std::string(writer.view());
}

std::string as_string(std::string_view text) {
  return written([&](JsonWriter& w) { w.string(text); });
}

TEST(JsonWriter, PutsCommasAndColons) {
  EXPECT_EQ(written([](JsonWriter& w) {
              w.begin_object();
              w.member("a");
              w.integer(-1);
              w.member("b");
              w.begin_array();
              w.boolean(true);
              w.null();
              w.begin_object();
              w.end_object();
              w.begin_array();
              w.end_array();
              w.raw("[ 1 ]");
              w.string("x");
              w.end_array();
              w.member("c");
              w.unsigned_integer(std::numeric_limits<std::uint64_t>::max());
              w.end_object();
            }),
            R"({"a":-1,"b":[true,null,{},[],[ 1 ],"x"],"c":18446744073709551615})");
}

TEST(JsonWriter, KnowsWhenAValueIsWhole) {
  char memory[256];
  JsonWriter w(memory, memory + sizeof memory);
  EXPECT_FALSE(w.complete());
  w.begin_array();
  EXPECT_FALSE(w.complete());
  w.end_array();
  EXPECT_TRUE(w.complete());
  w.bytes(",");
  w.begin_value();
  EXPECT_FALSE(w.complete());
  w.null();
  EXPECT_TRUE(w.complete());
  EXPECT_EQ(w.view(), "[],null");
  EXPECT_TRUE(w.ok());
}

TEST(JsonWriter, TellsMisuse) {
  const std::function<void(JsonWriter&)> misuses[] = {
      [](JsonWriter& w) { w.null(), w.null(); },
      [](JsonWriter& w) { w.begin_object(), w.null(); },
      [](JsonWriter& w) { w.begin_object(), w.begin_array(); },
      [](JsonWriter& w) { w.begin_array(), w.member("a"); },
      [](JsonWriter& w) { w.member("a"); },
      [](JsonWriter& w) { w.begin_object(), w.member("a"), w.member("b"); },
      [](JsonWriter& w) { w.begin_object(), w.member("a"), w.end_object(); },
      [](JsonWriter& w) { w.begin_object(), w.end_array(); },
      [](JsonWriter& w) { w.begin_array(), w.end_object(); },
      [](JsonWriter& w) { w.end_object(); },
      [](JsonWriter& w) { w.end_array(); },
      [](JsonWriter& w) { w.raw(""); },
      [](JsonWriter& w) { w.begin_object(), w.member("a"), w.null(), w.null(); },
  };
  for (std::size_t i = 0; i < std::size(misuses); ++i) {
    EXPECT_EQ(written(misuses[i]), "invalid") << "misuse " << i;
  }
}

TEST(JsonWriter, OpensSixtyFourBracketsAndNoMore) {
  const auto nested = [](int depth) {
    return written([depth](JsonWriter& w) {
      for (int i = 0; i < depth; ++i) w.begin_array();
      for (int i = 0; i < depth; ++i) w.end_array();
    });
  };
  EXPECT_EQ(nested(64), std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(nested(65), "invalid");
}

TEST(JsonWriter, EscapesEveryByteAtEveryPosition) {
  for (int c = 0; c < 0x80; ++c) {
    std::string escape(1, static_cast<char>(c));
    if (c == '"' || c == '\\') escape.insert(0, "\\");
    if (c < 0x20) {
      char text[8];
      std::snprintf(text, sizeof text, "\\u%04x", c);
      escape = text;
      const std::string_view shorts = "\bb\tt\nn\ff\rr";
      for (std::size_t i = 0; i < shorts.size(); i += 2) {
        if (shorts[i] == c) escape = {'\\', shorts[i + 1]};
      }
    }
    for (std::size_t before = 0; before < 34; ++before) {
      for (std::size_t behind : {0u, 1u, 3u, 7u, 8u, 15u, 16u, 17u}) {
        const std::string text =
            std::string(before, 'x') + static_cast<char>(c) + std::string(behind, 'y');
        ASSERT_EQ(as_string(text),
                  "\"" + std::string(before, 'x') + escape + std::string(behind, 'y') + "\"");
      }
    }
  }
}

TEST(JsonWriter, CopiesValidUtf8AndRefusesTheRest) {
  for (const char* valid : {"\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff",
                            "\U00010000", "\U0010FFFF", "caf\u00e9 \u20ac \U0001F600 text"}) {
    for (std::size_t before = 0; before < 18; ++before) {
      const std::string text = std::string(before, 'x') + valid + "z";
      EXPECT_EQ(as_string(text), "\"" + text + "\"");
    }
  }
  for (const char* invalid :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
        "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x28\xa1"}) {
    for (std::size_t before = 0; before < 18; ++before) {
      EXPECT_EQ(as_string(std::string(before, 'x') + invalid), "invalid");
      EXPECT_EQ(as_string(std::string(before, 'x') + invalid + "yyy"), "invalid");
    }
  }
}

TEST(JsonWriter, ReadsNoByteBehindAString) {
  for (std::size_t size = 0; size < 40; ++size) {
    const auto exact = std::make_unique<char[]>(size == 0 ? 1 : size);  // ASan watches its end.
    std::fill_n(exact.get(), size, 'q');
    EXPECT_EQ(as_string({exact.get(), size}), "\"" + std::string(size, 'q') + "\"");
  }
}

TEST(JsonWriter, WritesTheShortestNumber) {
  const auto number = [](double value) {
    return written([value](JsonWriter& w) { w.number(value); });
  };
  EXPECT_EQ(number(2), "2");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(-0.0), "-0");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(-2.2250738585072014e-308), "-2.2250738585072014e-308");
  EXPECT_EQ(number(std::nan("")), "invalid");
  EXPECT_EQ(number(HUGE_VAL), "invalid");
  EXPECT_EQ(number(-HUGE_VAL), "invalid");
  EXPECT_EQ(written([](JsonWriter& w) { w.short_number(0.1f); }), "0.1");
  EXPECT_EQ(written([](JsonWriter& w) { w.short_number(HUGE_VALF); }), "invalid");
  EXPECT_EQ(written([](JsonWriter& w) { w.integer(INT64_MIN); }), "-9223372036854775808");
}

// Everything that the writer can do, about 500 bytes.
void write_all(JsonWriter& w) {
  w.begin_object();
  for (int i = 0; i < 4; ++i) {
    w.member("name\n" + std::to_string(i));
    w.begin_array();
    w.integer(INT64_MIN);
    w.unsigned_integer(7);
    w.number(0.1);
    w.boolean(false);
    w.string(std::string(20, '"') + "\u00e9\u20ac\U0001F600 and plain text");
    w.raw("{\"raw\":[1,2,3]}");
    w.end_array();
    w.member_fragment(",\"fragment\":\0\0\0\0", 12);
    w.string("");
  }
  w.end_object();
  w.bytes("tail");
}

// Memory that grows by no more than it must, each time at a new place.
struct Growing {
  std::vector<std::unique_ptr<char[]>> pieces;
  std::size_t grown = 0;
  std::size_t extra = 0;

  static bool grow(void* owner, JsonWriter& writer, std::size_t need) {
    Growing& self = *static_cast<Growing*>(owner);
    const std::size_t size = writer.size() + need + self.extra;
    self.pieces.push_back(std::make_unique<char[]>(size));
    std::copy_n(writer.begin(), writer.size(), self.pieces.back().get());
    writer.relocate(self.pieces.back().get(), self.pieces.back().get() + size);
    ++self.grown;
    return true;
  }
};

TEST(JsonWriter, GrowsAtEverySize) {
  const std::string expected = written(write_all);
  ASSERT_GT(expected.size(), 400u);
  for (std::size_t size = 0; size <= expected.size() + 64; ++size) {
    for (const std::size_t extra : {0u, 1u, 40u}) {
      const auto first = std::make_unique<char[]>(size + 1);
      Growing memory;
      memory.extra = extra;
      JsonWriter writer(first.get(), first.get() + size, &Growing::grow, &memory);
      write_all(writer);
      ASSERT_TRUE(writer.ok());
      ASSERT_EQ(writer.view(), expected);
    }
  }
}

TEST(JsonWriter, OverflowsAtEverySizeAndStaysSo) {
  const std::string expected = written(write_all);
  bool fitted = false;
  for (std::size_t size = 0; size <= expected.size() + 64; ++size) {
    const auto memory = std::make_unique<char[]>(size + 1);
    JsonWriter writer(memory.get(), memory.get() + size);
    write_all(writer);
    ASSERT_LE(writer.size(), size);
    fitted = !writer.overflowed();
    if (fitted) {
      ASSERT_EQ(writer.view(), expected);
      ASSERT_GE(size, expected.size());
    } else {
      const std::size_t before = writer.size();
      writer.null();
      ASSERT_EQ(writer.size(), before) << "nothing fits after an overflow";
    }
  }
  EXPECT_TRUE(fitted);
}

TEST(JsonWriter, TakesBackWhatItWrote) {
  char memory[64];
  JsonWriter w(memory, memory + sizeof memory);
  w.bytes("head:");
  const std::size_t mark = w.size();
  w.begin_array();
  w.string(std::string(100, 'x'));
  EXPECT_TRUE(w.overflowed());
  w.fail();
  w.rewind(mark);
  EXPECT_TRUE(w.ok());
  w.begin_object();
  w.member("a");
  w.string("0123456789");
  w.end_object();
  EXPECT_TRUE(w.complete());
  EXPECT_EQ(w.view(), R"(head:{"a":"0123456789"})");
}

TEST(JsonWriter, LooksAtRawTextInDebugBuilds) {
#ifdef RINGRPC_DEBUG_CHECKS
  constexpr bool looks = true;
#else
  constexpr bool looks = false;
#endif
  for (const char* wrong : {"[1", "1 2", "nul", "\"\xff\"", "{\"a\"}"}) {
    char memory[64];
    JsonWriter writer(memory, memory + sizeof memory);
    writer.raw(wrong);
    EXPECT_EQ(writer.invalid(), looks) << wrong;
  }
  char memory[64];
  JsonWriter writer(memory, memory + sizeof memory);
  writer.raw(" [1, {\"a\" : null}] ");
  EXPECT_TRUE(writer.ok());
}

}  // namespace
