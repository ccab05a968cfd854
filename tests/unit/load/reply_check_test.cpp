// Goal:   the full check finds each way in which a reply can be wrong, and nothing in a good one;
//         the spectrum has HdrHistogram's layout.
// Method: one good reply, changed in one place at a time.

#include "tools/ringload/reply_check.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tools/ringload/framing.h"
#include "tools/ringload/spectrum.h"

namespace ringload {
namespace {

std::string http(const std::string& body, const std::string& status = "200 OK",
                 const std::string& fields = "Content-Type: application/json\r\n") {
  return "HTTP/1.1 " + status + "\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

Message call(const std::string& expected = {}) {
  return make_message(
      {.text = R"({"jsonrpc":"2.0","method":"m","id":7})", .weight = 1, .expected = expected});
}

TEST(ReplyCheckTest, GoodRepliesHaveNothingWrong) {
  for (const std::string body :
       {R"({"jsonrpc":"2.0","result":5,"id":7})", R"( {"id":7, "result" : 5 ,"jsonrpc":"2.0"} )"}) {
    EXPECT_EQ(check_reply(http(body), call(), ""), "");
    EXPECT_EQ(check_reply(http(body), call("5"), ""), "");
  }
  EXPECT_EQ(
      check_reply(http(R"({"jsonrpc":"2.0","result":[1, 2],"id":1234})"), call("[1,2]"), "1234"),
      "");
  const std::string error = R"({"jsonrpc":"2.0","error":{"code":-1,"message":"x"},"id":7})";
  EXPECT_EQ(check_reply(http(error), call(), ""), "");
}

TEST(ReplyCheckTest, EachWrongBodyIsNamed) {
  struct Case {
    std::string body, words;
  };
  const std::vector<Case> cases = {
      {R"({"jsonrpc":"2.0","result":5,"id":8})", "the reply's id is 8, not 7"},
      {R"({"jsonrpc":"2.0","result":5,"id":"7"})", "id is \"7\""},
      {R"({"jsonrpc":"2.0","result":5})", "id is , not 7"},
      {R"({"jsonrpc":"2.0","result":6,"id":7})", "the result is 6, not 5"},
      {R"({"jsonrpc":"2.0","error":{"code":1,"message":"x"},"id":7})", "should be 5"},
      {R"({"jsonrpc":"1.0","result":5,"id":7})", "jsonrpc is not"},
      {R"({"result":5,"id":7})", "jsonrpc is not"},
      {R"({"jsonrpc":"2.0","id":7})", "one of result and error"},
      {R"({"jsonrpc":"2.0","result":5,"error":{},"id":7})", "one of result and error"},
      {R"({"jsonrpc":"2.0","result":5,"id":7,"x":1})", "a member x"},
      {R"({"jsonrpc":"2.0","result":5,"id":7,"id":7})", "id twice"},
      {R"({"jsonrpc":"2.0","error":5,"id":7})", "error is no object"},
      {R"({"jsonrpc":"2.0","error":{"code":"1","message":"x"},"id":7})", "no integer"},
      {R"({"jsonrpc":"2.0","error":{"code":1},"id":7})", "no message"},
      {R"({"jsonrpc":"2.0","result":05,"id":7})", "no JSON object"},
      {R"({"jsonrpc":"2.0","result":5,"id":7}})", "no JSON object"},
      {R"([{"jsonrpc":"2.0","result":5,"id":7}])", "no JSON object"},
      {"", "application/json|no JSON object"}};
  for (const Case& c : cases) {
    const std::string wrong = check_reply(http(c.body), call("5"), "");
    const std::size_t bar = c.words.find('|');
    EXPECT_TRUE(
        wrong.find(c.words.substr(0, bar)) != std::string::npos ||
        (bar != std::string::npos && wrong.find(c.words.substr(bar + 1)) != std::string::npos))
        << c.body << "\n"
        << wrong;
  }
}

TEST(ReplyCheckTest, EachWrongHeadIsNamed) {
  const std::string body = R"({"jsonrpc":"2.0","result":5,"id":7})";
  const std::string type = "Content-Type: application/json\r\n";
  EXPECT_EQ(check_reply(http(body, "500 Oops"), call(), ""), "the status is 500");
  EXPECT_EQ(check_reply(http(body, "200 OK", ""), call(), ""),
            "the body's type is not application/json");
  EXPECT_EQ(check_reply(http(body, "200 OK", type + "A b: c\r\n"), call(), ""),
            "a field name is no token");
  EXPECT_EQ(check_reply(http(body, "200 OK", type + "A: \x01\r\n"), call(), ""),
            "a line of the head holds a control character");
  std::string older = http(body);
  older[7] = '0';
  EXPECT_EQ(check_reply(older, call(), ""), "the reply is not HTTP/1.1");
  EXPECT_EQ(check_reply(http(body) + "x", call(), ""), "the reply is not whole");
}

TEST(ReplyCheckTest, ANotificationIsAnsweredWithoutABody) {
  const Message notification = make_message({.text = R"({"method":"m"})"});
  EXPECT_EQ(check_reply("HTTP/1.1 204 No Content\r\n\r\n", notification, ""), "");
  EXPECT_EQ(check_reply(http("", "202 Accepted"), notification, ""), "");
  EXPECT_NE(check_reply(http("", "200 OK"), notification, ""), "");
  EXPECT_NE(check_reply(http("{}", "202 Accepted"), notification, ""), "");
}

TEST(ReplyCheckTest, ABatchNeedsEachReplyOnceInAnyOrder) {
  const Body body{.text = R"({"jsonrpc":"2.0","method":"m","id":0})", .weight = 1, .expected = "5"};
  const std::vector<const Body*> two = {&body, &body};
  const Message message = make_batch(two);
  const auto one = [](const std::string& id, const std::string& result = "5") {
    return R"({"jsonrpc":"2.0","result":)" + result + ",\"id\":" + id + "}";
  };
  const auto check = [&message](const std::string& text) {
    return check_reply(http(text), message, "");
  };
  EXPECT_EQ(check("[" + one("1") + "," + one("2") + "]"), "");
  EXPECT_EQ(check("[" + one("2") + "," + one("1") + "]"), "");
  EXPECT_EQ(check("[" + one("2") + "," + one("2") + "]"), "no call waits for the id 2");
  EXPECT_EQ(check("[" + one("2") + "]"), "1 responses to 2 calls");
  EXPECT_EQ(check("[" + one("2") + "," + one("1", "6") + "]"), "the result is 6, not 5");
  EXPECT_EQ(check("[" + one("2") + ",3]"), "a response is no JSON object");
  EXPECT_EQ(check(one("1")), "the body is no JSON array");
}

TEST(ReplyCheckTest, CodesOfErrorsAreCounted) {
  std::map<std::int64_t, std::uint64_t> codes;
  count_codes(R"([{"error":{"code":-32601}},{"result":1},{"error":{"code":7}}])", codes);
  count_codes(R"({"error":{"code":7}})", codes);
  count_codes(R"({"error":5})", codes);
  EXPECT_EQ(codes, (std::map<std::int64_t, std::uint64_t>{{-32601, 1}, {7, 2}, {0, 1}}));
}

TEST(ReplyCheckTest, AnExcerptIsPrintableAndShort) {
  EXPECT_EQ(excerpt(std::string("a\r\nb\x01\xFF")), "a\\r\\n\nb\\x01\\xff");
  EXPECT_LT(excerpt(std::string(100'000, 'x')).size(), 2000u);
}

// A reader of a tape, fed in pieces of one size.
class Tracked {
 public:
  Tracked(const Tape::Wish& wish, std::uint64_t check_every) {
    tape_.make(wish, [](std::string_view body) { return std::string(body); });
    reader_.follow(tape_, check_every);
  }
  bool feed(std::string_view bytes, std::size_t step) {
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      const std::string_view piece = bytes.substr(i, step);
      const std::vector<char> exact(piece.begin(), piece.end());
      if (reader_.feed_tracked(partial_, expect_, exact.data(), exact.size()).bad) return false;
    }
    return true;
  }
  [[nodiscard]] std::string id() const { return std::string(tape_.id(expect_)); }
  [[nodiscard]] const ReplyCounts& counts() const { return reader_.counts(); }
  [[nodiscard]] const ErrorKinds& kinds() const { return reader_.kinds(); }

 private:
  Tape tape_;
  ReplyReader reader_;
  Partial partial_;
  std::uint32_t expect_ = 0;
};

const Tape::Wish fresh = {
    .bodies = {{.text = R"({"jsonrpc":"2.0","method":"m","id":1})", .weight = 1, .expected = "5"}},
    .batch = 0,
    .fresh_ids = true};

std::string answer(const std::string& id, const std::string& result = "5") {
  return http(R"({"jsonrpc":"2.0","result":)" + result + ",\"id\":" + id + "}");
}

TEST(TrackedTest, EachReplyMustHaveTheIdOfItsRequest) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
    Tracked tracked(fresh, 0);
    for (int i = 0; i != 5000; ++i) ASSERT_TRUE(tracked.feed(answer(tracked.id()), step));
    EXPECT_EQ(tracked.counts().replies, 5000u);
    EXPECT_EQ(tracked.counts().wrong, 0u);
    const std::string old = tracked.id();
    ASSERT_TRUE(tracked.feed(answer(old), step));
    ASSERT_TRUE(tracked.feed(answer(old), step));
    EXPECT_EQ(tracked.counts().wrong, 1u);
    EXPECT_NE(tracked.kinds().first.find("the reply's id is not"), std::string::npos);
    EXPECT_NE(tracked.kinds().first.find("\"id\":" + old), std::string::npos);
  }
}

TEST(TrackedTest, TheFirstAndEachNthReplyAreCheckedInFull) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{10'000}}) {
    Tracked tracked(fresh, 10);
    for (int i = 1; i <= 100; ++i) {
      ASSERT_TRUE(tracked.feed(answer(tracked.id(), i == 51 ? "6" : "5"), step));
    }
    EXPECT_EQ(tracked.counts().full_checks, 10u);
    EXPECT_EQ(tracked.counts().wrong, 1u);
    EXPECT_EQ(tracked.kinds().first.find("the result is 6, not 5:\nHTTP/1.1 200 OK"), 0u);
  }
}

TEST(TrackedTest, LargeRepliesAreCheckedWhenTheirTurnComes) {
  Tape::Wish wish = fresh;
  wish.bodies[0].expected = '"' + std::string(100'000, 'x') + '"';
  Tracked tracked(wish, 2);
  for (int i = 1; i <= 10; ++i) {
    const std::string text(100'000 - (i == 7 ? 1 : 0), 'x');
    ASSERT_TRUE(tracked.feed(answer(tracked.id(), '"' + text + '"'), 4096));
  }
  EXPECT_EQ(tracked.counts().replies, 10u);
  EXPECT_EQ(tracked.counts().full_checks, 5u);
  EXPECT_EQ(tracked.counts().wrong, 1u);
}

TEST(TrackedTest, AReplyTooLargeToKeepIsPassedOverUnchecked) {
  Tracked tracked(fresh, 1);
  ASSERT_TRUE(tracked.feed("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                               std::to_string(ReplyReader::sampled_size_max + 1) + "\r\n\r\n",
                           10'000));
  const std::string piece(1u << 20, 'x');
  for (std::uint64_t i = 0; i != 64; ++i) ASSERT_TRUE(tracked.feed(piece, piece.size()));
  EXPECT_EQ(tracked.counts().replies, 0u);
  ASSERT_TRUE(tracked.feed("x" + answer("1001"), 10'000));
  EXPECT_EQ(tracked.counts().replies, 2u);
  EXPECT_EQ(tracked.counts().full_checks, 1u);
  EXPECT_EQ(tracked.counts().wrong, 0u);
}

TEST(SpectrumTest, ItHasTheLayoutOfHdrHistogram) {
  const auto histogram = std::make_unique<ringrpc::base::Histogram>();
  for (std::uint64_t i = 1; i <= 10'000; ++i) histogram->record(i * 1000);
  std::istringstream lines(spectrum(*histogram));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "       Value     Percentile TotalCount 1/(1-Percentile)");
  std::getline(lines, line);
  EXPECT_EQ(line, "");
  double value_before = 0;
  double share_before = -1;
  std::uint64_t count = 0;
  bool whole = false;
  while (std::getline(lines, line) && line.front() != '#') {
    double value = 0;
    double share = 0;
    double inverse = 0;
    std::istringstream parts(line);
    ASSERT_TRUE(parts >> value >> share >> count) << line;
    EXPECT_GE(value, value_before);
    EXPECT_GT(share, share_before);
    EXPECT_GE(static_cast<double>(count), share * 10'000 - 0.001) << line;
    EXPECT_NEAR(value, static_cast<double>(count), value * 0.002) << line;
    whole = share == 1;
    EXPECT_EQ(!whole, static_cast<bool>(parts >> inverse)) << line;
    if (!whole) {
      EXPECT_NEAR(inverse * (1 - share), 1, 0.01);
    }
    value_before = value;
    share_before = share;
  }
  EXPECT_TRUE(whole);
  EXPECT_EQ(count, 10'000u);
  EXPECT_TRUE(line.starts_with("#[Mean    =     500")) << line;
  EXPECT_NEAR(deviation(*histogram) / 1e6, 2.887, 0.01);
  std::getline(lines, line);
  EXPECT_EQ(line, "#[Max     =    10000.000, Total count    =        10000]");
}

TEST(SpectrumTest, AnEmptyOneAndOneValueAreWhole) {
  const auto histogram = std::make_unique<ringrpc::base::Histogram>();
  EXPECT_NE(spectrum(*histogram).find("Total count    =            0]"), std::string::npos);
  histogram->record(123'000);
  const std::string text = spectrum(*histogram);
  EXPECT_NE(text.find("     123.000 0.000000000000          1           1.00\n"),
            std::string::npos);
  EXPECT_NE(text.find("     123.000 1.000000000000          1\n"), std::string::npos);
}

}  // namespace
}  // namespace ringload
