// Goal: the rules of a message, one by one: members, ids, methods, params, batches and limits.
// Method: every text goes through all readers at once (envelope_subjects.h).

#include "engine/rpc/envelope.h"

#include "tests/unit/rpc/envelope_subjects.h"

namespace ringrpc::rpc {
namespace {

std::string repeat(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string nested(std::string_view open, std::string_view close, std::size_t depth) {
  return repeat(open, depth - 1) + (open == "[" ? "[" : "{") + (close == "]" ? "]" : "}") +
         repeat(close, depth - 1);
}

std::string with_id(const std::string& id) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"echo"})";
}

TEST(Envelope, a_call_gives_its_id_method_and_params) {
  Subjects subjects;
  const std::string text = R"({"jsonrpc":"2.0","method":"sum","params":{"a":2,"b":3},"id":1})";
  const Message message = subjects.single(text);
  EXPECT_EQ(message.kind, EnvelopeKind::call);
  EXPECT_EQ(message.method, "sum");
  EXPECT_EQ(message.id, "1");
  EXPECT_EQ(message.id_kind, IdKind::number);
  EXPECT_EQ(message.params, ParamsKind::object);
  const std::vector<std::uint32_t> entries = subjects.read(text).entries;
  ASSERT_EQ(entries.size(), 25u);
  EXPECT_EQ(text[entries[message.params_first]], '{');
  EXPECT_EQ(entries[message.params_first], text.find(R"({"a")"));
  EXPECT_EQ(text[entries[message.params_end - 1]], '}');
  EXPECT_EQ(message.first, 0u);
  EXPECT_EQ(message.end, 25u);
}

TEST(Envelope, members_come_in_any_order_with_any_white_space) {
  Subjects subjects;
  const Message message = subjects.single(
      " \t\r\n{ \"id\" : \"x\" \n,\t\"params\" : [ 1 ] , \"method\"\r:\r\"m\" , \"jsonrpc\" : "
      "\"2.0\" } \n");
  EXPECT_EQ(message.kind, EnvelopeKind::call);
  EXPECT_EQ(message.id, "\"x\"");
  EXPECT_EQ(message.method, "m");
  EXPECT_EQ(message.params, ParamsKind::array);
}

TEST(Envelope, a_message_without_id_is_a_notification) {
  Subjects subjects;
  const Message message = subjects.single(R"({"jsonrpc":"2.0","method":"tick"})");
  EXPECT_EQ(message.kind, EnvelopeKind::notification);
  EXPECT_EQ(message.id_kind, IdKind::absent);
  EXPECT_EQ(message.params, ParamsKind::absent);
}

TEST(Envelope, each_type_of_params_is_told_apart) {
  Subjects subjects;
  const auto params = [&subjects](const std::string& value) {
    return subjects.single(R"({"jsonrpc":"2.0","method":"m","id":1,"params":)" + value + "}")
        .params;
  };
  EXPECT_EQ(params("{}"), ParamsKind::object);
  EXPECT_EQ(params("[]"), ParamsKind::array);
  for (const char* const other : {"null", "true", "false", "0", "-1.5e3", "\"x\""}) {
    EXPECT_EQ(params(other), ParamsKind::other) << other;
  }
}

TEST(Envelope, ids_are_echoed_as_their_bytes) {
  Subjects subjects;
  for (const std::string id : {"0",
                               "-0",
                               "1.0",
                               "1.5",
                               "1e2",
                               "1e999",
                               "9007199254740993",
                               "9223372036854775808",
                               "18446744073709551616",
                               "-1E-9",
                               R"("")",
                               R"("abc")",
                               R"("123")",
                               R"("\u0061")",
                               R"("a\"b")",
                               R"("\u0000")",
                               R"("\ud83d\ude00")",
                               "\"\xc3\xa9\"",
                               R"("a b ")",
                               "null"}) {
    for (const std::string& spaced : {id, " " + id + " ", "\n" + id + "\r\n"}) {
      const Message message = subjects.single(with_id(spaced));
      EXPECT_EQ(message.kind, EnvelopeKind::call) << id;
      EXPECT_EQ(message.id, id);
    }
  }
  EXPECT_EQ(subjects.single(with_id("null")).id_kind, IdKind::null);
  EXPECT_EQ(subjects.single(with_id("\"\"")).id_kind, IdKind::string);
  EXPECT_EQ(subjects.single(with_id("-0")).id_kind, IdKind::number);
}

TEST(Envelope, ids_of_other_types_are_invalid_and_not_echoed) {
  Subjects subjects;
  for (const char* const id : {"true", "false", "[]", "{}", "[1]", R"({"id":1})"}) {
    const Message message = subjects.single(with_id(id));
    EXPECT_EQ(message.kind, EnvelopeKind::invalid) << id;
    EXPECT_EQ(message.id_kind, IdKind::invalid) << id;
    EXPECT_EQ(message.id, "") << id;
  }
}

TEST(Envelope, an_id_may_have_256_bytes_with_its_quotes) {
  Subjects subjects;
  for (const std::size_t size : {255u, 256u, 257u, 10'000u}) {
    for (const std::string& id :
         {"\"" + std::string(size - 2, 'x') + "\"", std::string(size, '7'),
          "0." + std::string(size - 2, '3'),
          "\"" + repeat("\\n", size / 2 - 1) + std::string(size % 2, 'x') + "\""}) {
      ASSERT_EQ(id.size(), size);
      const Message message = subjects.single(with_id(id));
      if (size <= limits::id_size_max) {
        EXPECT_EQ(message.kind, EnvelopeKind::call) << size;
        EXPECT_EQ(message.id, id);
      } else {
        EXPECT_EQ(message.kind, EnvelopeKind::invalid) << size;
        EXPECT_EQ(message.id_kind, IdKind::too_long);
        EXPECT_EQ(message.id, "");
      }
    }
  }
}

TEST(Envelope, a_number_that_is_none_is_no_id_but_no_json_either) {
  Subjects subjects;
  for (const char* const id :
       {"1e",  "nul", "01",        "-",     "1.",    ".5",     "+1",     "0x1",
        "1e+", "NaN", "-Infinity", "tru",   "nulll", "1 2",    "--1",    "1_0",
        "00",  "-01", "1a",        "truex", "null0", "\"a\"b", "1\"a\"", "\"a\"\"b\""}) {
    EXPECT_EQ(subjects.read(with_id(id)).status, ReadStatus::parse_error) << id;
  }
}

TEST(Envelope, the_version_is_the_string_2_0_and_nothing_else) {
  Subjects subjects;
  const auto kind = [&subjects](const std::string& version) {
    return subjects.single(R"({"jsonrpc":)" + version + R"(,"method":"m","id":1})").kind;
  };
  EXPECT_EQ(kind(R"("2.0")"), EnvelopeKind::call);
  EXPECT_EQ(kind(R"("2\u002e0")"), EnvelopeKind::call);
  EXPECT_EQ(kind(R"("\u0032.0")"), EnvelopeKind::call);
  for (const char* const version :
       {R"("1.0")", "2.0", R"("2.0 ")", R"(" 2.0")", R"("2.00")", "null", R"("2")", R"("")", "2",
        R"(["2.0"])", R"({"2.0":1})", "true", R"("2\u002e1")", R"("2.0\u0000")", R"("2.\n")"}) {
    EXPECT_EQ(kind(version), EnvelopeKind::invalid) << version;
  }
  EXPECT_EQ(subjects.single(R"({"method":"m","id":1})").kind, EnvelopeKind::invalid);
  EXPECT_EQ(subjects.single(R"({"method":"m","id":1})").id, "1");
}

TEST(Envelope, a_method_is_a_string_that_is_not_empty) {
  Subjects subjects;
  for (const char* const method : {R"("")", "1", "null", "[]", R"({"a":1})", "true"}) {
    const Message message =
        subjects.single(std::string(R"({"jsonrpc":"2.0","id":7,"method":)") + method + "}");
    EXPECT_EQ(message.kind, EnvelopeKind::invalid) << method;
    EXPECT_EQ(message.id, "7");
    EXPECT_EQ(message.method, "");
  }
}

TEST(Envelope, methods_are_compared_after_unescaping) {
  Subjects subjects;
  const auto method = [&subjects](const std::string& token) {
    return subjects.single(R"({"jsonrpc":"2.0","id":7,"method":)" + token + "}").method;
  };
  EXPECT_EQ(method(R"("ec\u0068o")"), "echo");
  EXPECT_EQ(method(R"("a\/b\\c\"d\b\f\n\r\t")"), "a/b\\c\"d\b\f\n\r\t");
  EXPECT_EQ(method(R"("\u00e9\u20ac\ud83d\ude00")"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(method(R"("\uDBFF\uDFFF\uffff\u0080\u07FF\u0800")"),
            "\xf4\x8f\xbf\xbf\xef\xbf\xbf\xc2\x80\xdf\xbf\xe0\xa0\x80");
  EXPECT_EQ(method(R"("echo\u0000x")"), std::string("echo\0x", 6));
  EXPECT_EQ(method(R"("__proto__")"), "__proto__");
  EXPECT_EQ(method(R"("%n%s")"), "%n%s");
  EXPECT_EQ(method("\"\xe6\xb5\x8b\""), "\xe6\xb5\x8b");
}

TEST(Envelope, a_method_may_have_256_bytes_after_unescaping) {
  Subjects subjects;
  for (const std::size_t size : {1u, 255u, 256u, 257u, 100'000u}) {
    const std::string plain(size, 'm');
    const std::string escaped = repeat("\\u006d", size);
    const std::string mixed = escaped.substr(0, escaped.size() - 6) + "m";
    for (const std::string& token : {plain, escaped, mixed}) {
      const Message message =
          subjects.single(R"({"jsonrpc":"2.0","id":7,"method":")" + token + "\"}");
      EXPECT_EQ(message.kind, EnvelopeKind::call) << size;
      EXPECT_EQ(message.method_too_long, size > limits::method_size_max) << size;
      EXPECT_EQ(message.method, size > limits::method_size_max ? "" : plain) << size;
    }
  }
}

TEST(Envelope, a_duplicate_member_is_invalid_however_it_is_spelled) {
  Subjects subjects;
  const std::pair<const char*, const char*> members[] = {
      {R"("jsonrpc":"2.0")", R"("json\u0072pc":"2.0")"},
      {R"("method":"echo")", R"("m\u0065thod":"admin.stop")"},
      {R"("params":[1])", R"("\u0070arams":[2])"},
  };
  for (const auto& [plain, escaped] : members) {
    for (const char* const second : {plain, escaped}) {
      for (const std::string& text :
           {R"({"jsonrpc":"2.0","id":7,"method":"echo","params":[1],)" + std::string(second) + "}",
            "{" + std::string(second) +
                R"(,"jsonrpc":"2.0","id":7,"method":"echo","params":[1]})"}) {
        const Message message = subjects.single(text);
        EXPECT_EQ(message.kind, EnvelopeKind::invalid) << text;
        EXPECT_EQ(message.id, "7") << text;
        EXPECT_EQ(message.method, "") << text;
      }
    }
  }
}

TEST(Envelope, a_duplicate_id_is_not_echoed) {
  Subjects subjects;
  for (const char* const ids : {R"("id":1,"id":2)", R"("id":1,"id":1)", R"("id":1,"\u0069d":2)",
                                R"("i\u0064":1,"id":2)", R"("id":1,"id":[])", R"("id":true,"id":1)",
                                R"("id":1,"id":2,"id":3)", R"("id":null,"id":null)"}) {
    const Message message =
        subjects.single(R"({"jsonrpc":"2.0","method":"m",)" + std::string(ids) + "}");
    EXPECT_EQ(message.kind, EnvelopeKind::invalid) << ids;
    EXPECT_EQ(message.id_kind, IdKind::invalid) << ids;
    EXPECT_EQ(message.id, "") << ids;
  }
  const std::string long_id(300, '1');
  EXPECT_EQ(subjects.single(R"({"jsonrpc":"2.0","method":"m","id":)" + long_id + R"(,"id":1})").id,
            "");
  EXPECT_EQ(subjects.single(R"({"jsonrpc":"2.0","method":"m","id":1,"id":)" + long_id + "}").id,
            "");
}

TEST(Envelope, names_that_resemble_members_are_unknown_members) {
  Subjects subjects;
  const Message message = subjects.single(
      R"({"jsonrpc":"2.0","method":"m","id":1,"i":0,"":0,"idx":0,"Id":0,"ID":0,"jsonrpc2":0,)"
      R"("jsonrp":0,"methods":0,"metho":0,"Method":0,"param":0,"paramsx":0,"res":0,"id ":0,)"
      R"(" id":0,"id\"":0,"method\"":0,"id\u0022":0,"id\u0000":0,)"
      R"("method\n":0,"\u006a":0,"jsonrpc\u0000":0,)"
      R"("\\id":0,"result":{},)"
      R"("error":null,"x":{"id":5,"method":"n","jsonrpc":"1","params":0,"method":"o"}})");
  EXPECT_EQ(message.kind, EnvelopeKind::call);
  EXPECT_EQ(message.method, "m");
  EXPECT_EQ(message.id, "1");
  EXPECT_EQ(message.params, ParamsKind::absent);
}

TEST(Envelope, a_result_or_an_error_without_a_method_is_a_response) {
  Subjects subjects;
  for (const char* const text :
       {R"({"jsonrpc":"2.0","id":1,"result":1})", R"({"jsonrpc":"2.0","id":1,"result":null})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}})",
        R"({"id":1,"r\u0065sult":[]})", R"({"id":1,"result":1,"error":2})",
        R"({"id":1,"result":1,"result":2})"}) {
    const Message message = subjects.single(text);
    EXPECT_EQ(message.kind, EnvelopeKind::response) << text;
    EXPECT_EQ(message.id, "1") << text;
  }
  EXPECT_EQ(subjects.single(R"({"result":1,"id":1,"id":2})").id, "");
  EXPECT_EQ(subjects.single(R"({"id":1,"result":1,"method":5})").kind, EnvelopeKind::invalid);
  EXPECT_EQ(subjects.single(R"({"jsonrpc":"2.0","id":1})").kind, EnvelopeKind::invalid);
}

TEST(Envelope, json_that_is_no_object_is_one_invalid_message) {
  Subjects subjects;
  for (const char* const text : {"1", " -0.5e+7 ", "\"x\"", "\t\"\\ud83d\\ude00\\n\"\n", "true",
                                 "false ", " null", "[]", " [ ] ", "{}", "{ }", "0", "1E400"}) {
    const Message message = subjects.single(text);
    EXPECT_EQ(message.kind, EnvelopeKind::invalid) << text;
    EXPECT_EQ(message.id_kind, IdKind::absent) << text;
  }
}

TEST(Envelope, what_looks_like_a_scalar_and_is_none_is_no_json) {
  Subjects subjects;
  for (const char* const text :
       {"",    " ",  "\n\n",   "nul",       "truee",       "01",      "1.",      "-", "1e",
        "1 1", "\"", "\"\\\"", "\"\\u12\"", "\"\\ud800\"", "\"\\x\"", "\"a\" 1", ",", ":",
        "1,",  "\\", "\\u",    "'a'",       "a",           "\x0c",    "1\x0c",   "+1"}) {
    EXPECT_EQ(subjects.read(text).status, ReadStatus::parse_error) << text;
  }
}

TEST(Envelope, a_batch_gives_each_element_its_envelope) {
  Subjects subjects;
  const Answer answer = subjects.read(
      R"([ {"jsonrpc":"2.0","method":"a","id":1}, 1, "x", [], [[1]], {}, )"
      R"({"jsonrpc":"2.0","method":"\u0062"} , {"id":"9","error":1},{"id":2,"method":"c"}])");
  ASSERT_EQ(answer.status, ReadStatus::batch);
  ASSERT_EQ(answer.messages.size(), 9u);
  EXPECT_EQ(answer.messages[0].kind, EnvelopeKind::call);
  EXPECT_EQ(answer.messages[0].method, "a");
  for (const std::size_t i : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_EQ(answer.messages[i].kind, EnvelopeKind::invalid) << i;
    EXPECT_EQ(answer.messages[i].id, "") << i;
  }
  EXPECT_EQ(answer.messages[6].kind, EnvelopeKind::notification);
  EXPECT_EQ(answer.messages[6].method, "b");
  EXPECT_EQ(answer.messages[7].kind, EnvelopeKind::response);
  EXPECT_EQ(answer.messages[7].id, "\"9\"");
  EXPECT_EQ(answer.messages[8].kind, EnvelopeKind::invalid);
  EXPECT_EQ(answer.messages[8].id, "2");
}

TEST(Envelope, escaped_methods_of_a_batch_all_stay_readable) {
  constexpr std::uint32_t batch = 40;
  Subjects subjects(1u << 20, batch);
  // Every element uses all the room that one may use, and some name their method many times.
  std::string text = "[";
  for (std::uint32_t i = 0; i < batch; ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    const std::string name = "\"\\u0041" + std::string(limits::method_size_max - 1, letter) + "\"";
    text += i > 0 ? "," : "";
    text += R"({"jsonrpc":"2.0","id":1)" + repeat(",\"method\":" + name, i % 3 == 2 ? 50 : 1) + "}";
  }
  const Answer answer = subjects.read(text + "]");
  ASSERT_EQ(answer.status, ReadStatus::batch);
  for (std::uint32_t i = 0; i < batch; ++i) {
    const Message& message = answer.messages[i];
    if (i % 3 == 2) {
      EXPECT_EQ(message.kind, EnvelopeKind::invalid);
    } else {
      const char letter = static_cast<char>('a' + i % 26);
      EXPECT_EQ(message.method, "A" + std::string(limits::method_size_max - 1, letter));
    }
  }
}

TEST(Envelope, a_batch_beyond_its_limit_is_still_checked_to_its_end) {
  for (const std::uint32_t limit : {1u, 5u, 1000u}) {
    Subjects subjects(1u << 20, limit);
    const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"\u0061"})";
    for (const std::uint32_t length : {limit - 1, limit, limit + 1, 3 * limit + 7}) {
      if (length == 0) continue;
      const std::string body = repeat(one + ",", length - 1) + one;
      const Answer answer = subjects.read("[" + body + "]");
      if (length <= limit) {
        EXPECT_EQ(answer.status, ReadStatus::batch);
        EXPECT_EQ(answer.messages.size(), length);
      } else {
        EXPECT_EQ(answer.status, ReadStatus::batch_too_large);
        EXPECT_TRUE(answer.messages.empty());
      }
      EXPECT_EQ(subjects.read("[" + body + ",tru]").status, ReadStatus::parse_error);
      EXPECT_EQ(subjects.read("[" + body + ",]").status, ReadStatus::parse_error);
      EXPECT_EQ(subjects.read("[" + body + "]]").status, ReadStatus::parse_error);
    }
  }
}

TEST(Envelope, sixty_four_brackets_may_be_open_inside_a_message) {
  Subjects subjects;
  const std::pair<const char*, const char*> shapes[] = {
      {"[", "]"}, {R"({"a":)", "}"}, {R"([{"a":)", "}]"}};
  for (const auto& [open, close] : shapes) {
    const std::size_t step = std::string_view(open).starts_with("[{") ? 2 : 1;
    for (const std::size_t depth : {62u, 63u, 64u, 65u, 66u}) {
      if (depth % step != 0) continue;
      const std::string value = step == 2 ? repeat(open, depth / 2) + "1" + repeat(close, depth / 2)
                                          : nested(open, close, depth);
      const ReadStatus single = depth <= 64 ? ReadStatus::single : ReadStatus::parse_error;
      const ReadStatus batch = depth <= 64 ? ReadStatus::batch : ReadStatus::parse_error;
      const std::string message = R"({"jsonrpc":"2.0","id":7,"method":"echo","params":)";
      EXPECT_EQ(subjects.read(message + value + "}").status, single) << depth;
      EXPECT_EQ(subjects.read(R"({"unread":)" + value + "}").status, single) << depth;
      EXPECT_EQ(subjects.read(R"({"id":)" + value + "}").status, single) << depth;
      EXPECT_EQ(subjects.read("[1," + message + value + "},1]").status, batch) << depth;
      EXPECT_EQ(subjects.read("[" + value + ",1]").status,
                open[0] == '[' ? batch : subjects.read("[" + value + ",1]").status);
    }
  }
  // An element's own object is a message, and is not counted either.
  EXPECT_EQ(subjects.read("[" + nested(R"({"a":)", "}", 65) + "]").status, ReadStatus::batch);
  EXPECT_EQ(subjects.read("[" + nested(R"({"a":)", "}", 66) + "]").status, ReadStatus::parse_error);
  EXPECT_EQ(subjects.read(nested("[", "]", 65)).status, ReadStatus::batch);
  EXPECT_EQ(subjects.read(nested("[", "]", 66)).status, ReadStatus::parse_error);
}

TEST(Envelope, a_reader_tells_the_memory_it_takes) {
  EXPECT_EQ(json::Index::memory(1000), (1000 + 64 + 9) * 4u);
  EXPECT_GT(Reader::memory(4u << 20, 1000), (16u << 20) + 1000 * sizeof(Envelope));
}

TEST(Envelope, a_kernel_that_is_not_there_is_refused_in_words) {
  Reader reader;
  const base::Status status = reader.reserve(1000, 10, "abacus");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.sentence().find("kernel"), std::string::npos);
}

}  // namespace
}  // namespace ringrpc::rpc
