// Goal: what was read before changes nothing but the time that reading takes.
// Method: a message makes its beginning known; then other texts with that beginning, whole and cut,
// are read by readers that know it and by the twin, which has no memory.

#include "tests/unit/rpc/envelope_subjects.h"

namespace ringrpc::rpc {
namespace {

// Up to the colon behind "params".
std::vector<std::string> beginnings() {
  return {
      R"({"jsonrpc":"2.0","method":"sum","params":)",
      R"({"jsonrpc": "2.0", "method": "sum", "params" :)",
      R"({"method":"sum","jsonrpc":"2.0","params":)",
      R"({"method":"sum","params":)",
      R"({"method":"s","params":)",
      R"({"jsonrpc":"2.0","extra":[1,{"method":"inner"}],"method":"sum","params":)",
      R"({"jsonrpc":"2.0","method":"a name that is longer than what is kept of it, by far",)"
      R"("params":)",
  };
}

std::vector<std::string> endings() {
  return {
      R"({"a":2,"b":3},"id":1})",
      R"([7, "x"] , "id" : "long enough" })",
      R"({})"
      "}",
      R"([],"jsonrpc":"2.0","id":null})",
      R"([],"id":1,"jsonrpc":"2.0"})",
      R"([],"id":1,"id":2})",
      R"([],"id":1,"method":"other"})",
      R"([],"params":{},"id":1})",
      R"([],"params":{})",
      R"([],"result":1,"id":1})",
      R"([],"id":1,"x":{"id":2}})",
      R"([],"id":01})",
      R"([],"id":1]})",
      R"([],"id":[1]})",
      R"([],"idd":1})",
      R"([],"id"})",
      R"([],"id":})",
      R"([],})",
      R"(3,"id":1})",
      R"("text","id":1})",
      R"(nul,"id":1})",
      R"(,"id":1})",
      R"({"a":1,},"id":1})",
      R"(["\u0041"],"i\u0064":1})",
      R"(["\x"],"id":1})",
      R"([],"id":1} {})",
      R"([],"id":1},)",
      "}",
      "]",
  };
}

TEST(EnvelopeMemo, WhatBeganAlikeIsReadAsIfItWereTheFirst) {
  Subjects subjects;
  for (const std::string& beginning : beginnings()) {
    for (const std::string& ending : endings()) {
      subjects.read(beginning + R"([1],"id":5})");
      subjects.read(beginning + ending);
    }
  }
}

TEST(EnvelopeMemo, WhatBeganAlmostAlikeIsReadAsItIs) {
  Subjects subjects;
  for (const std::string& beginning : beginnings()) {
    for (std::size_t i = 0; i < beginning.size(); ++i) {
      for (const char other : {'"', 'x', '0', ' ', '\\', '{'}) {
        std::string changed = beginning;
        changed[i] = other;
        subjects.read(beginning + R"([1],"id":5})");
        // Of what is no JSON nothing is learnt, whatever was read before it.
        subjects.read(changed + R"([1],"id":5)");
        subjects.read(changed + R"([1],"id"})");
        subjects.read(changed + R"([1],"id":5})");
      }
    }
  }
}

// As in a receive buffer that has another request behind this one.
TEST(EnvelopeMemo, ATextThatEndsEarlyIsNotReadBeyondItsEnd) {
  Subjects subjects;
  for (const std::string& beginning : beginnings()) {
    const std::string whole = beginning + R"([1],"id":5})";
    for (std::size_t size = 1; size < whole.size(); ++size) {
      for (const char last : {'\0', '}', ']'}) {
        std::string text = whole.substr(0, size);
        if (last != '\0') text.back() = last;
        const std::string behind = whole.substr(size);
        const Answer expected = subjects.all().back().read(PaddedText(text, behind));
        for (Subject& subject : subjects.all()) {
          subject.read(PaddedText(whole, " "));
          EXPECT_EQ(subject.read(PaddedText(text, behind)), expected) << subject.name() << text;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ringrpc::rpc
