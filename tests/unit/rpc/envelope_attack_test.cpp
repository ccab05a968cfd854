// Goal: hostile and malformed messages get the verdict that the protocol page gives them, and the
// specification's own examples read as it says.
// Method: one test for each kind of attack; all readers, with misleading bytes behind the text.

#include <initializer_list>

#include "tests/unit/rpc/envelope_subjects.h"

namespace ringrpc::rpc {
namespace {

const std::string good = R"({"jsonrpc":"2.0","id":7,"method":"echo","params":[1]})";

std::string params(const std::string& value) {
  return R"({"jsonrpc":"2.0","id":7,"method":"echo","params":)" + value + "}";
}

void expect_no_json(Subjects& subjects, std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    EXPECT_EQ(subjects.read(text).status, ReadStatus::parse_error) << text.substr(0, 200);
  }
}

TEST(EnvelopeAttack, deep_nesting_is_refused_without_recursion) {
  Subjects subjects;
  std::string arrays(100'000, '[');
  std::string objects;
  for (int i = 0; i < 50'000; ++i) objects += R"({"a":)";
  std::string closed = arrays + std::string(100'000, ']');
  expect_no_json(subjects, {arrays, objects, closed, params(closed), params(arrays),
                            objects + "1" + std::string(50'000, '}')});
}

TEST(EnvelopeAttack, batches_of_odd_shapes_get_an_entry_for_each_element) {
  Subjects subjects;
  EXPECT_EQ(subjects.single("[]").kind, EnvelopeKind::invalid);
  const Answer numbers = subjects.read("[1,2]");
  ASSERT_EQ(numbers.status, ReadStatus::batch);
  ASSERT_EQ(numbers.messages.size(), 2u);
  EXPECT_EQ(numbers.messages[1].kind, EnvelopeKind::invalid);
  const Answer inner = subjects.read("[[" + good + "]]");
  ASSERT_EQ(inner.status, ReadStatus::batch);
  ASSERT_EQ(inner.messages.size(), 1u);
  EXPECT_EQ(inner.messages[0].kind, EnvelopeKind::invalid);
  const Answer silent = subjects.read(R"([{"jsonrpc":"2.0","method":"n"}])");
  ASSERT_EQ(silent.messages.size(), 1u);
  EXPECT_EQ(silent.messages[0].kind, EnvelopeKind::notification);
}

TEST(EnvelopeAttack, a_member_spelled_with_escapes_only_is_that_member) {
  Subjects subjects;
  const Message message = subjects.single(R"({"jsonrpc":"2.0","id":7,"m\u0065thod":"echo"})");
  EXPECT_EQ(message.kind, EnvelopeKind::call);
  EXPECT_EQ(message.method, "echo");
  const Message all = subjects.single(
      R"({"\u006asonrpc":"2.0","\u0069\u0064":7,"\u006D\u0065\u0074\u0068\u006F\u0064":"echo",)"
      R"("param\u0073":[1]})");
  EXPECT_EQ(all.kind, EnvelopeKind::call);
  EXPECT_EQ(all.id, "7");
  EXPECT_EQ(all.params, ParamsKind::array);
}

TEST(EnvelopeAttack, long_ids_and_methods_cost_no_more_than_their_bytes) {
  Subjects subjects;
  const std::string digits(10'000, '7');
  EXPECT_EQ(subjects.single(R"({"jsonrpc":"2.0","id":)" + digits + R"(,"method":"m"})").id_kind,
            IdKind::too_long);
  const std::string megabyte(1'000'000, 'x');
  EXPECT_EQ(subjects.single(R"({"jsonrpc":"2.0","id":")" + megabyte + R"(","method":"m"})").id_kind,
            IdKind::too_long);
  const Message message =
      subjects.single(R"({"jsonrpc":"2.0","id":7,"method":")" + megabyte + "\"}");
  EXPECT_EQ(message.kind, EnvelopeKind::call);
  EXPECT_TRUE(message.method_too_long);
}

TEST(EnvelopeAttack, bad_utf8_is_no_json_wherever_it_stands) {
  Subjects subjects;
  for (const std::string bad :
       {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe6\xb5", "\x80", "\xc3",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xe0\x9f\xbf", "\xf0\x9f\x98", "\xed\xbf\xbf"}) {
    expect_no_json(subjects, {params("[\"" + bad + "\"]"), params("{\"" + bad + "\":1}"),
                              params("[" + bad + "]"),
                              R"({"jsonrpc":"2.0","id":")" + bad + R"(","method":"echo"})",
                              R"({"jsonrpc":"2.0","id":7,"method":")" + bad + "\"}",
                              R"({"jsonrpc":"2.0","id":7,"method":"echo",")" + bad + "\":1}",
                              good + bad, bad + good, "\"" + bad + "\"", "[1,\"\\" + bad + "\"]"});
  }
  for (const std::string fine : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(subjects.single(params("[\"" + fine + "\"]")).kind, EnvelopeKind::call);
  }
}

TEST(EnvelopeAttack, encoding_marks_and_other_encodings_are_no_json) {
  Subjects subjects;
  std::string little;
  std::string big;
  for (const char c : good) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  expect_no_json(subjects, {"\xef\xbb\xbf" + good, "\xef\xbb\xbf", little, big, "\xff\xfe" + little,
                            "\xfe\xff" + big, good + "\xef\xbb\xbf"});
}

TEST(EnvelopeAttack, raw_control_characters_are_no_json) {
  Subjects subjects;
  for (int byte = 0; byte < 0x20; ++byte) {
    const std::string c(1, static_cast<char>(byte));
    expect_no_json(subjects, {params("[\"" + c + "\"]"), params("{\"a" + c + "\":1}"),
                              R"({"jsonrpc":"2.0","id":"a)" + c + R"(","method":"echo"})"});
    const bool blank = c == "\t" || c == "\n" || c == "\r";
    EXPECT_EQ(subjects.read(params("[1" + c + "]")).status != ReadStatus::parse_error, blank)
        << byte;
    EXPECT_EQ(subjects.read(params("[" + c + "]")).status != ReadStatus::parse_error, blank)
        << byte;
    EXPECT_EQ(subjects.read(c + good + c).status != ReadStatus::parse_error, blank) << byte;
  }
  EXPECT_EQ(subjects.single(params("[\"\x7f\"]")).kind, EnvelopeKind::call);
}

TEST(EnvelopeAttack, trailing_content_is_no_json) {
  Subjects subjects;
  for (const std::string rest : {" x", "x", "{}", "]", "}", ",", ":", "1", "\"\"", "null", "[]",
                                 "//", "\x0c", "\\", "\xc2\xa0"}) {
    expect_no_json(subjects, {good + rest, "[" + good + "]" + rest, good + " " + rest});
  }
  expect_no_json(subjects, {good + good, good + "\n" + good, std::string(good) + '\0'});
  EXPECT_EQ(subjects.read(good + " \t\r\n").status, ReadStatus::single);
}

TEST(EnvelopeAttack, loose_syntax_is_no_json) {
  Subjects subjects;
  for (const std::string loose : {"[1,]",
                                  R"({"a":1,})",
                                  "{a:1}",
                                  "{'a':1}",
                                  "/**/[]",
                                  "[]//",
                                  "[1 2]",
                                  "tru",
                                  "[tru]",
                                  "[,1]",
                                  "[1,,2]",
                                  "[1,2}",
                                  R"({"a":1])",
                                  R"({"a"})",
                                  R"({"a":})",
                                  R"({"a" 1})",
                                  R"({:1})",
                                  R"({"a":1 "b":2})",
                                  R"({"a"::1})",
                                  R"({1:2})",
                                  R"({"a":1,,"b":2})",
                                  "[1:2]",
                                  "[\"a\":1]",
                                  R"(["\q"])",
                                  R"(["\u12g4"])",
                                  R"(["\ud800"])",
                                  R"(["\udc00"])",
                                  R"(["\ud800\ud800"])",
                                  R"(["\ud800x"])",
                                  R"(["\ud800\n"])",
                                  "[01]",
                                  "[1.]",
                                  "[.1]",
                                  "[1e]",
                                  "[+1]",
                                  "[-]",
                                  "[NaN]",
                                  "[Infinity]",
                                  "[0x10]",
                                  "[1_000]",
                                  "[TRUE]",
                                  "[nulll]",
                                  "[\"a\" \"b\"]",
                                  "[\"a",
                                  "[}",
                                  "{]",
                                  "[[]",
                                  "{}}",
                                  "",
                                  " ",
                                  "{null:1}",
                                  R"({"a":1}{"b":2})",
                                  "[\\\"a\"]",
                                  "[1\\]",
                                  "[\"a\"\\]",
                                  "[1\"a\"]",
                                  "[true\"a\"]"}) {
    expect_no_json(subjects,
                   {params(loose), "[" + good + "," + loose + "]", R"({"unread":)" + loose + "}"});
  }
}

TEST(EnvelopeAttack, an_empty_body_is_no_json) {
  Subjects subjects;
  expect_no_json(subjects, {"", " ", "\r\n\r\n", std::string(1000, ' ')});
}

TEST(EnvelopeAttack, digits_behind_the_body_never_join_a_number) {
  Subjects subjects;
  // "1" is JSON and "1." is not, whatever stands in the padding (Subjects tries digits and "e").
  EXPECT_EQ(subjects.single("1").kind, EnvelopeKind::invalid);
  expect_no_json(subjects, {"1.", "1e", "-", "[1", R"({"a":1)", "tru", "fals", "nul", "\"a"});
}

TEST(EnvelopeAttack, unclosed_brackets_are_not_closed_by_what_follows) {
  Subjects subjects;
  expect_no_json(subjects, {"[[]", R"({"a":[])", R"({"a":{})", "[{}", R"([{"a":1})",
                            R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1})",
                            R"([{"jsonrpc":"2.0","id":1,"method":"m"})", "[[[]]"});
}

TEST(EnvelopeAttack, the_examples_of_the_specification_read_as_it_says) {
  Subjects subjects;
  EXPECT_EQ(
      subjects.single(R"({"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1})"),
      subjects.single(R"({"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1} )"));
  EXPECT_EQ(subjects
                .single(R"({"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, )"
                        R"("minuend": 42}, "id": 3})")
                .params,
            ParamsKind::object);
  EXPECT_EQ(
      subjects.single(R"({"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]})").kind,
      EnvelopeKind::notification);
  EXPECT_EQ(subjects.single(R"({"jsonrpc": "2.0", "method": "foobar"})").kind,
            EnvelopeKind::notification);
  expect_no_json(subjects, {R"({"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz])",
                            R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},)"
                            R"({"jsonrpc": "2.0", "method"])"});
  EXPECT_EQ(subjects.single(R"({"jsonrpc": "2.0", "method": 1, "params": "bar"})").kind,
            EnvelopeKind::invalid);
  EXPECT_EQ(subjects.single("[]").kind, EnvelopeKind::invalid);
  const Answer mixed = subjects.read(
      R"([{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},)"
      R"({"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},)"
      R"({"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},)"
      R"({"foo": "boo"},)"
      R"({"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},)"
      R"({"jsonrpc": "2.0", "method": "get_data", "id": "9"}])");
  ASSERT_EQ(mixed.messages.size(), 6u);
  const EnvelopeKind kinds[] = {EnvelopeKind::call, EnvelopeKind::notification,
                                EnvelopeKind::call, EnvelopeKind::invalid,
                                EnvelopeKind::call, EnvelopeKind::call};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(mixed.messages[i].kind, kinds[i]) << i;
}

}  // namespace
}  // namespace ringrpc::rpc
