// Goal: the public JSON parsing test suite holds wherever its cases may stand in a message.
// Method: each file as the whole body, as params, as a member that nobody reads, as an element of a
// batch and, where it is a scalar, as the id; through every reader.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/unit/rpc/envelope_subjects.h"

namespace ringrpc::rpc {
namespace {

// What the suite leaves open and this engine decides: numbers of any size pass as bytes. All other
// open cases are refused: lone surrogates, bad UTF-8, UTF-16, a byte order mark, deep nesting.
const std::set<std::string> open_and_accepted = {
    "i_number_double_huge_neg_exp.json", "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json",    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",   "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json",      "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",     "i_number_very_big_negative_int.json",
};
const std::set<std::string> open_and_refused = {
    "i_object_key_lone_2nd_surrogate.json",
    "i_string_1st_surrogate_but_2nd_missing.json",
    "i_string_1st_valid_surrogate_2nd_invalid.json",
    "i_string_UTF-16LE_with_BOM.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_string_incomplete_surrogate_and_escape_valid.json",
    "i_string_incomplete_surrogate_pair.json",
    "i_string_incomplete_surrogates_escape_valid.json",
    "i_string_invalid_lonely_surrogate.json",
    "i_string_invalid_surrogate.json",
    "i_string_invalid_utf-8.json",
    "i_string_inverted_surrogates_U+1D11E.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_second_surrogate.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
    "i_string_utf16BE_no_BOM.json",
    "i_string_utf16LE_no_BOM.json",
    "i_structure_500_nested_arrays.json",
    "i_structure_UTF-8_BOM_empty_object.json",
};

std::map<std::string, std::string> suite() {
  std::map<std::string, std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(RINGRPC_JSON_TEST_SUITE)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    cases[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return cases;
}

bool is_accepted(const std::string& name) {
  return name.starts_with("y_") || open_and_accepted.contains(name);
}

TEST(JsonTestSuite, every_case_has_a_verdict) {
  const std::map<std::string, std::string> cases = suite();
  EXPECT_EQ(cases.size(), 318u);
  for (const auto& [name, text] : cases) {
    if (!name.starts_with("i_")) continue;
    EXPECT_NE(open_and_accepted.contains(name), open_and_refused.contains(name)) << name;
  }
}

TEST(JsonTestSuite, a_case_as_the_whole_body_is_json_or_not) {
  Subjects subjects;
  for (const auto& [name, text] : suite()) {
    const Answer answer = subjects.read(text);
    EXPECT_EQ(answer.status != ReadStatus::parse_error, is_accepted(name)) << name;
    // None of them is a message. Scalars are JSON, and one invalid message each.
    for (const Message& message : answer.messages) {
      EXPECT_EQ(message.kind, EnvelopeKind::invalid) << name;
    }
  }
}

TEST(JsonTestSuite, a_case_as_params_is_json_or_not) {
  Subjects subjects;
  for (const auto& [name, text] : suite()) {
    const Answer answer =
        subjects.read(R"({"jsonrpc":"2.0","method":"echo","params":)" + text + R"(,"id":7})");
    ASSERT_EQ(answer.status != ReadStatus::parse_error, is_accepted(name)) << name;
    if (is_accepted(name)) {
      EXPECT_EQ(answer.messages[0].kind, EnvelopeKind::call) << name;
      EXPECT_EQ(answer.messages[0].id, "7") << name;
      EXPECT_NE(answer.messages[0].params, ParamsKind::absent) << name;
    }
  }
}

TEST(JsonTestSuite, a_case_that_nobody_reads_is_json_or_not) {
  Subjects subjects;
  for (const auto& [name, text] : suite()) {
    for (const std::string& body :
         {R"({"jsonrpc":"2.0","method":"echo","unread":)" + text + R"(,"id":7})",
          R"({"jsonrpc":"2.0","method":"echo","id":7,"unread":)" + text + "}"}) {
      const Answer answer = subjects.read(body);
      ASSERT_EQ(answer.status != ReadStatus::parse_error, is_accepted(name)) << name;
      if (is_accepted(name)) {
        EXPECT_EQ(answer.messages[0].kind, EnvelopeKind::call) << name;
        EXPECT_EQ(answer.messages[0].params, ParamsKind::absent) << name;
      }
    }
  }
}

TEST(JsonTestSuite, a_case_in_a_batch_is_json_or_not) {
  Subjects subjects;
  const std::string call = R"({"jsonrpc":"2.0","method":"echo","id":7})";
  for (const auto& [name, text] : suite()) {
    const Answer answer = subjects.read("[" + call + "," + text + "," + call + "]");
    ASSERT_EQ(answer.status != ReadStatus::parse_error, is_accepted(name)) << name;
    if (is_accepted(name)) {
      ASSERT_EQ(answer.messages.size(), 3u) << name;
      EXPECT_EQ(answer.messages[0].kind, EnvelopeKind::call) << name;
      EXPECT_EQ(answer.messages[1].kind, EnvelopeKind::invalid) << name;
      EXPECT_EQ(answer.messages[2].kind, EnvelopeKind::call) << name;
    }
  }
}

TEST(JsonTestSuite, a_case_as_the_id_is_echoed_when_it_may_be_an_id) {
  Subjects subjects;
  for (const auto& [name, text] : suite()) {
    const Answer answer =
        subjects.read(R"({"jsonrpc":"2.0","id":)" + text + R"(,"method":"echo"})");
    ASSERT_EQ(answer.status != ReadStatus::parse_error, is_accepted(name)) << name;
    if (!is_accepted(name)) continue;
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    const std::string token = text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
    const bool usable = token.find_first_of("[{tf") != 0 && token.size() <= limits::id_size_max;
    EXPECT_EQ(answer.messages[0].kind, usable ? EnvelopeKind::call : EnvelopeKind::invalid) << name;
    EXPECT_EQ(answer.messages[0].id, usable ? token : "") << name;
  }
}

}  // namespace
}  // namespace ringrpc::rpc
