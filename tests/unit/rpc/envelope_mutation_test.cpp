// Goal: two programs that share no code give one answer to every text.
// Method: seeded random mutations of real messages, every truncation of them, and random bytes
// behind the text, read over the index and byte by byte. The seed is printed; RINGRPC_TEST_SEED
// sets another, RINGRPC_TEST_ROUNDS another number of texts.

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/unit/rpc/envelope_subjects.h"

namespace ringrpc::rpc {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<std::string> seeds() {
  return {
      R"({"jsonrpc":"2.0","method":"sum","params":{"a":2,"b":3},"id":1})",
      R"({"jsonrpc":"2.0","id":"x\"y","method":"e\u0063ho","params":[1,-2.5e3,true,false,null]})",
      R"([{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b"},[],3])",
      R"({"jsonrpc":"2.0","id":9007199254740993,"result":{"content":[{"type":"text"},"x"]}})",
      R"({ "id" : null , "params" : { "s" : "\ud83d\ude00 \n" , "t" : [ [ ] , { } ] } , "m" : 0 })",
      "{\"jsonrpc\":\"2.0\",\"method\":\"\xe6\xb5\x8b\xf0\x9f\x98\x80\",\"id\":\"\xc3\xa9\"}",
      R"({"id":1,"i\u0064":2,"method":"m","method":"n","jsonrpc":"2.0","params":0})",
      R"([[[[{"a":[{"b":[]}]}]]],"s",1e5,-0,{"error":{"code":-32600,"message":"m"},"id":7}])",
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":)"
      R"({"query":"quarterly revenue","limit":10,"tags":["a","b"],"deep":{"x":{"y":[1,2,3]}}}}})",
      R"("just a string \\ with \"escapes\"")",
      "-12.5E+3",
  };
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::string piece() {
    static constexpr std::string_view pieces[] = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ":",
                                                  ",",
                                                  "\"",
                                                  "\\",
                                                  " ",
                                                  "\n",
                                                  "\t",
                                                  "0",
                                                  "1",
                                                  "-",
                                                  ".",
                                                  "e",
                                                  "true",
                                                  "null",
                                                  "false",
                                                  "\"id\":",
                                                  "\"method\":\"m\",",
                                                  "\"jsonrpc\":\"2.0\",",
                                                  "\"params\":[],",
                                                  "\\u0069",
                                                  "\\ud800",
                                                  "\\udc00",
                                                  "\\\\",
                                                  "\\\"",
                                                  "\x0c",
                                                  "\x1a",
                                                  "\x01",
                                                  "\xc3\xa9",
                                                  "\xff",
                                                  "\xe2\x82",
                                                  "[[[[[[[[",
                                                  "]]]]]]]]",
                                                  "{\"a\":",
                                                  "\"result\":1,",
                                                  "00",
                                                  "/",
                                                  "x"};
    if (below(8) == 0) return std::string(1, static_cast<char>(random_()));
    return std::string(pieces[below(std::size(pieces))]);
  }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t size = std::min(text.size() - at, below(4) == 0 ? below(40) : 1);
    switch (below(5)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.replace(at, size, piece());
        break;
      case 2:
        text.insert(at, text.substr(at, size));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      default:
        text.insert(at, piece());
        break;
    }
    if (text.size() > 2000) text.resize(2000);
  }

  std::string padding() {
    std::string filler(limits::padding, '\0');
    for (char& c : filler) c = static_cast<char>(random_());
    return filler;
  }

 private:
  std::mt19937_64 random_;
};

TEST(EnvelopeMutation, both_readers_agree_on_mutated_messages) {
  const std::uint64_t seed = number_from("RINGRPC_TEST_SEED", 20261130);
  const std::uint64_t rounds = number_from("RINGRPC_TEST_ROUNDS", 300'000);
  std::cout << "seed " << seed << ", " << rounds << " texts\n";
  Mutator mutator(seed);
  Subjects subjects(1u << 16, 3);
  std::vector<Subject>& all = subjects.all();
  const std::vector<std::string> originals = seeds();
  std::uint64_t accepted = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::string text = originals[mutator.below(originals.size())];
    for (std::size_t i = 0, n = mutator.below(4); i <= n; ++i) mutator.mutate(text);
    const Answer expected = all.back().read(PaddedText(text, mutator.padding()));
    // One kernel in turn: each of them sees its share of the texts.
    Subject& subject = all[round % (all.size() - 1)];
    const Answer answer = subject.read(PaddedText(text, mutator.padding()));
    ASSERT_EQ(answer, expected) << subject.name() << ", seed " << seed << ", round " << round
                                << ", the text: " << text;
    accepted += expected.status == ReadStatus::parse_error ? 0 : 1;
  }
  std::cout << accepted << " of them JSON\n";
  EXPECT_GT(accepted, rounds / 50) << "mutations that break everything test little";
  EXPECT_LT(accepted, rounds - rounds / 50);
}

TEST(EnvelopeMutation, every_reader_agrees_on_every_truncation) {
  const std::uint64_t seed = number_from("RINGRPC_TEST_SEED", 20261130);
  std::cout << "seed " << seed << "\n";
  Mutator mutator(seed);
  Subjects subjects(1u << 16, 3);
  for (const std::string& original : seeds()) {
    for (std::size_t size = 0; size <= original.size(); ++size) {
      const std::string text = original.substr(0, size);
      // What was cut off, as it would follow in a buffer, is the most misleading padding.
      const std::string rest = original.substr(size) + " ";
      const Answer expected = subjects.all().back().read(PaddedText(text, " "));
      for (Subject& subject : subjects.all()) {
        EXPECT_EQ(subject.read(PaddedText(text, rest)), expected) << subject.name() << text;
        EXPECT_EQ(subject.read(PaddedText(text, mutator.padding())), expected) << text;
      }
    }
  }
}

TEST(EnvelopeMutation, texts_of_every_size_around_a_vector_read_alike) {
  Subjects subjects(1u << 16, 3);
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string fill(size, 'x');
    const std::string blank(size, ' ');
    const std::string digits(size, '4');
    EXPECT_EQ(subjects.single(R"({"a":")" + fill + "\"}").kind, EnvelopeKind::invalid);
    EXPECT_EQ(subjects.single("{\"a\":1" + digits + blank + "}").kind, EnvelopeKind::invalid);
    EXPECT_EQ(subjects.single(blank + "{\"" + fill + "\\\\\":\"\\n\"}" + blank).kind,
              EnvelopeKind::invalid);
    EXPECT_EQ(subjects.read("{\"a\":\"" + fill + "\\x\"}").status, ReadStatus::parse_error);
    EXPECT_EQ(subjects.read("{\"a\":\"" + fill + "\xff\"}").status, ReadStatus::parse_error);
  }
}

}  // namespace
}  // namespace ringrpc::rpc
