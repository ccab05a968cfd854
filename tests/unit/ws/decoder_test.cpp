// Goal: frames say the same messages, control frames and refusals for every split, and as a plain
// reader of all bytes does. Method: conversations section by section of RFC 6455, each whole, cut
// in two everywhere and byte by byte; limits at n-1, n and n+1; random streams against the model.

#include "engine/ws/decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/ws_model.h"
#include "tests/unit/ws/drive.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::ws::test {
namespace {

using std::string_literals::operator""s;

// Says it in every way that it can come, and compares.
void expect_heard(const std::string& bytes, const Heard& expected, const Rules& rules = {}) {
  EXPECT_EQ(hear(bytes, rules), expected);
  EXPECT_EQ(hear_whole(bytes, rules), expected);
  EXPECT_EQ(hear(bytes, rules, 1, 1), expected);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    EXPECT_EQ(hear(bytes, rules, cut, bytes.size()), expected) << cut;
  }
  EXPECT_EQ(fuzz::read_frames(bytes, rules).heard, expected);
}

Heard messages(const std::vector<std::string>& texts) {
  Heard heard;
  for (const std::string& text : texts) heard.said.push_back({Opcode::text, text});
  return heard;
}

Heard refused(std::uint16_t code, std::vector<Said> before = {}) {
  return {.said = std::move(before), .close_code = code, .at_rest = false};
}

TEST(Decoder, ReadsTheExamplesOfTheStandard) {
  expect_heard("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", messages({"Hello"}));
  const Rules client{.reader = Side::client};
  expect_heard("\x81\x05Hello", messages({"Hello"}), client);
  expect_heard("\x01\x03Hel\x80\x02lo", messages({"Hello"}), client);
  Heard ping;
  ping.said.push_back({Opcode::ping, "Hello"});
  expect_heard("\x89\x05Hello", ping, client);
}

// A buffer that holds nothing may be nowhere; checkers see what is done with that.
TEST(Decoder, TakesNoInputAsNoInput) {
  for (const std::string& bytes : {"\x81\x05Hello"s, "\x89\x05Hello"s}) {
    Decoder decoder;
    const Rules rules{.reader = Side::client};
    for (const char c : bytes) {
      char* nowhere = nullptr;
      EXPECT_EQ(Decoder::Status::need_more, decoder.next(nowhere, nullptr, rules));
      char byte = c;
      char* cursor = &byte;
      while (cursor == &byte) (void)decoder.next(cursor, &byte + 1, rules);
    }
    char* nowhere = nullptr;
    EXPECT_NE(Decoder::Status::refused, decoder.next(nowhere, nullptr, rules));
  }
}

TEST(Decoder, ReadsMessagesOfEveryLengthEncoding) {
  for (const std::size_t size : {0u, 1u, 125u, 126u, 127u, 300u}) {
    const std::string text(size, 't');
    expect_heard(frame(first_text, text) + frame(first_text, "next"), messages({text, "next"}));
  }
  for (const std::size_t size : {65535u, 65536u, 70000u}) {
    const std::string text(size, 't');
    for (const std::size_t step : {1u, 7u, 4096u, 100000u}) {
      EXPECT_EQ(hear(frame(first_text, text), {}, step, step), messages({text})) << size;
    }
  }
}

TEST(Decoder, PutsFragmentsTogether) {
  expect_heard(opens("a") + more("b") + more("") + ends("c"), messages({"abc"}));
  expect_heard(opens("") + ends(""), messages({""}));
  expect_heard(opens("") + ends("x") + frame(first_text, "y"), messages({"x", "y"}));
}

TEST(Decoder, TakesControlFramesBetweenFragments) {
  Heard heard;
  heard.said = {{Opcode::ping, "1"}, {Opcode::pong, ""}, {Opcode::text, "ab"}, {Opcode::close, ""}};
  expect_heard(opens("a") + frame(first_ping, "1") + frame(first_pong, "") + ends("b") +
                   frame(first_close, ""),
               heard);
}

TEST(Decoder, TakesTheLargestControlFrame) {
  const std::string payload(control_size_max, 'p');
  Heard heard;
  heard.said = {{Opcode::ping, payload}, {Opcode::pong, payload}};
  expect_heard(frame(first_ping, payload) + frame(first_pong, payload), heard);
}

TEST(Decoder, RefusesFramesThatCannotBe) {
  const std::vector<std::string> cases = {
      "\x81\x05hello",  // unmasked
      "\xc1\x80",       // reserved bits
      "\xa1\x80",
      "\x91\x80",
      "\xf1\x80",  //
      "\x83\x80",
      "\x87\x80",  // opcodes that are not defined
      "\x8b\x80",
      "\x8f\x80",  //
      "\x09\x80",
      "\x08\x80",
      "\x0a\x80",  // control frames in fragments
      "\x89\xfe\x00\x7e"s,
      "\x88\xff"s,  // and too long
      "\x80\x80",
      "\x00\x80"s,                          // a continuation of nothing
      "\x81\xfe\x00\x05"s,                  // longer lengths than needed
      "\x81\xff\x00\x00\x00\x00\x00\x00"s,  //
      "\x81\xff\x80"s,                      // the top bit
  };
  for (const std::string& bytes : cases) expect_heard(bytes, refused(1002));
  expect_heard(opens("a") + "\x81", refused(1002));
  expect_heard(opens("a") + "\x82", refused(1002));
  expect_heard(opens("a") + ends("b") + "\x80", refused(1002, {{Opcode::text, "ab"}}));
  expect_heard("\x89\x80\x01\x02\x03\x04\x89", {.said = {{Opcode::ping, ""}}, .at_rest = false});
}

TEST(Decoder, RefusesBinaryMessages) {
  expect_heard(frame(first_binary, "x"), refused(1003));
  expect_heard("\x02", refused(1003));
}

TEST(Decoder, ReadsCodePointsThatAreSplitOverFrames) {
  const std::string text = "\xe2\x82\xac\xf0\x9f\x98\x80";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    expect_heard(opens(text.substr(0, cut)) + frame(first_ping, "\xff") + ends(text.substr(cut)),
                 {.said = {{Opcode::ping, "\xff"}, {Opcode::text, text}}});
  }
}

TEST(Decoder, RefusesTextThatIsNoUtf8AsSoonAsItIsSeen) {
  expect_heard(frame(first_text, "\xff"), refused(1007));
  expect_heard(frame(first_text, "ok \xe2\x82"), refused(1007));
  expect_heard(opens("\xe2") + ends("("), refused(1007));
  expect_heard(opens("\xe2\x82") + ends(""), refused(1007));
  // A bad byte early in a long frame whose rest does not come.
  const std::string early = frame(first_text, "a\xed\xa0" + std::string(5000, 'b')).substr(0, 11);
  EXPECT_EQ(hear(early, {}), refused(1007));
  EXPECT_EQ(hear(early, {}, 1, 1), refused(1007));
  EXPECT_EQ(hear(early.substr(0, 10), {}).close_code, 0);
}

TEST(Decoder, BoundsTheMessageBeforeItsBytesCome) {
  const Rules rules{.message_size_max = 300};
  for (const std::size_t size : {299u, 300u}) {
    const std::string text(size, 't');
    expect_heard(frame(first_text, text), messages({text}), rules);
    expect_heard(opens(text.substr(7)) + ends(text.substr(0, 7)), messages({text}), rules);
  }
  const std::string over = frame(first_text, std::string(301, 't'));
  expect_heard(over, refused(1009), rules);
  expect_heard(over.substr(0, 8), refused(1009), rules);
  expect_heard(opens(std::string(300, 't')) + more("x"), refused(1009), rules);
  expect_heard("\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"s, refused(1009), rules);
  // The next message begins anew.
  expect_heard(frame(first_text, std::string(300, 't')) + frame(first_text, "x"),
               messages({std::string(300, 't'), "x"}), rules);
}

TEST(Decoder, BoundsTheFramesOfAMessage) {
  const Rules rules{.frames_max = 4};
  expect_heard(opens("a") + more("b") + ends("c"), messages({"abc"}), rules);
  expect_heard(opens("a") + more("b") + more("c") + ends("d"), messages({"abcd"}), rules);
  expect_heard(opens("a") + more("b") + more("c") + more("d") + ends("e"), refused(1008), rules);
  std::string many;
  std::vector<std::string> texts;
  for (int i = 0; i < 10; ++i) {
    many += frame(first_text, "x");
    texts.push_back("x");
  }
  expect_heard(many, messages(texts), rules);
}

TEST(Decoder, BoundsTheOverheadOfAMessage) {
  const Rules rules{.overhead_max = 30};
  // Five headers of 6 bytes; a sixth makes 36.
  std::string empty = opens("");
  for (int i = 0; i < 3; ++i) empty += more("");
  expect_heard(empty + ends(""), messages({""}), rules);
  expect_heard(empty + more("") + ends(""), refused(1008), rules);
  // What the message itself has counts against it.
  expect_heard(empty + more("abcdef") + ends(""), messages({"abcdef"}), rules);
  // Control frames in between count whole, those outside do not.
  expect_heard(opens("") + frame(first_ping, std::string(12, 'p')) + ends(""),
               {.said = {{Opcode::ping, std::string(12, 'p')}, {Opcode::text, ""}}}, rules);
  expect_heard(opens("") + frame(first_ping, std::string(13, 'p')) + ends(""),
               refused(1008, {{Opcode::ping, std::string(13, 'p')}}), rules);
  std::string pings;
  Heard heard;
  for (int i = 0; i < 20; ++i) {
    pings += frame(first_ping, "ping");
    heard.said.push_back({Opcode::ping, "ping"});
  }
  expect_heard(pings, heard, rules);
}

TEST(Decoder, EndsMessagesCutIntoCrumbsLongBeforeTheyCost) {
  std::string bytes = opens("x");
  for (int i = 0; i < 130'000; ++i) bytes += more("y");
  const fuzz::WsVerdict verdict = fuzz::read_frames(bytes, {});
  EXPECT_EQ(verdict.heard, refused(1008));
  EXPECT_LT(verdict.decided, 8000u);
  EXPECT_EQ(hear(bytes, {}, 4096, 4096), refused(1008));
  std::string empty = opens("x");
  for (int i = 0; i < 1000; ++i) empty += more("");
  EXPECT_EQ(hear(empty, {}, 4096, 4096), refused(1008));
}

TEST(Decoder, TakesMessagesInHonestFragments) {
  std::string bytes = opens("[");
  for (int i = 0; i < 16'000; ++i) bytes += more("0123456789, ");
  bytes += ends("0]");
  EXPECT_EQ(hear(bytes, {}, 4096, 4096).close_code, 0);
}

// Streams of good frames with some odd ones.
std::string random_stream(std::mt19937_64& random) {
  const std::vector<std::string> texts = {"",     "a",        "text", "\xe2\x82\xac",
                                          "\xe2", "\x82\xac", "\xff", std::string(130, 'l')};
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  std::string bytes;
  bool open = false;
  for (std::size_t i = pick(8); i < 8; ++i) {
    const std::string& text = texts[pick(pick(2) == 0 ? 4 : texts.size())];
    const std::uint8_t control = static_cast<std::uint8_t>(first_close + pick(3));
    if (pick(12) == 0) {
      bytes += frame(static_cast<std::uint8_t>(random()), text);
    } else if (pick(3) == 0) {
      bytes += frame(control, std::string(pick(126), 'c'));
    } else {
      const bool final = pick(2) == 0;
      bytes += frame(static_cast<std::uint8_t>((final ? 0x80 : 0) | (open ? 0 : 1)), text,
                     pick(30) == 0 ? "" : test_key);
      open = !final;
    }
  }
  if (pick(4) == 0 && !bytes.empty()) bytes[pick(bytes.size())] = static_cast<char>(random());
  return bytes.substr(0, pick(5) == 0 ? pick(bytes.size() + 1) : bytes.size());
}

TEST(Decoder, SaysWhatAPlainReaderOfAllBytesSays) {
  constexpr std::uint64_t seed = 6455;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = random_stream(random);
    const Rules rules{.message_size_max = random() % 4 == 0 ? random() % 200 : 4096,
                      .frames_max = 1 + static_cast<std::uint32_t>(random() % 10),
                      .overhead_max = 14 + static_cast<std::uint32_t>(random() % 200)};
    const Heard expected = fuzz::read_frames(bytes, rules).heard;
    ASSERT_EQ(hear(bytes, rules), expected) << i;
    ASSERT_EQ(hear_whole(bytes, rules), expected) << i;
    ASSERT_EQ(hear(bytes, rules, 1, 1), expected) << i;
    const std::size_t cut = random() % (bytes.size() + 1);
    ASSERT_EQ(hear(bytes, rules, cut, 1 + random() % 50), expected) << i << " " << cut;
  }
}

TEST(WholeFrame, IsTakenOnlyWhenNothingIsMissing) {
  for (const std::string& bytes : {frame(first_text, "text"), frame(first_ping, "p"),
                                   frame(first_text, std::string(200, 'x'))}) {
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      std::string part = bytes.substr(0, cut);
      const std::string before = part;
      const WholeFrame whole = read_whole(part.data(), part.data() + part.size(), {});
      EXPECT_EQ(whole.kind, WholeFrame::Kind::other);
      EXPECT_EQ(part, before);
    }
    std::string all = bytes + "behind";
    const WholeFrame whole = read_whole(all.data(), all.data() + all.size(), {});
    EXPECT_EQ(whole.size, bytes.size());
    EXPECT_EQ(all.substr(bytes.size()), "behind");
  }
}

}  // namespace
}  // namespace ringrpc::ws::test
