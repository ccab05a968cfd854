// Goal:   the load generator counts each reply once, and sees each wrong one, however the bytes are
//         cut into receives.
// Method: streams of replies fed whole, at every single split, byte by byte, and at random splits.

#include "tools/ringload/framing.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/ringload/websocket.h"

namespace ringload {
namespace {

std::string reply(std::string_view body, std::string_view status = "200 OK",
                  std::string_view date = "Tue, 28 Jul 2026 10:00:00 GMT") {
  std::string text = "HTTP/1.1 ";
  text += status;
  text += "\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nDate: ";
  text += date;
  std::string size = std::to_string(body.size());
  size.insert(0, 9 - size.size(), ' ');
  text += "\r\nContent-Length: " + size + "\r\n\r\n";
  text += body;
  return text;
}

constexpr std::string_view good_body = R"({"jsonrpc":"2.0","result":5,"id":1})";
constexpr std::string_view error_body =
    R"({"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1})";

struct Seen {
  std::uint64_t replies = 0;
  std::uint64_t status_errors = 0;
  std::uint64_t rpc_errors = 0;
  bool bad = false;
  bool operator==(const Seen&) const = default;
};

// A reader that gets its bytes in pieces of memory of exactly their size, so that the address
// sanitizer sees a read behind them.
class Feeder {
 public:
  explicit Feeder(bool lines = false, bool frames = false) {
    if (lines) reader_.expect_lines();
    if (frames) reader_.expect_frames();
  }
  void feed(std::string_view bytes) {
    if (seen_.bad || bytes.empty()) return;
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const ReplyReader::Fed fed = reader_.feed(partial_, exact.data(), exact.size());
    seen_.replies += fed.replies;
    seen_.bad = fed.bad;
  }
  Seen seen() {
    seen_.status_errors = reader_.counts().status_errors;
    seen_.rpc_errors = reader_.counts().rpc_errors;
    EXPECT_EQ(reader_.counts().replies, seen_.replies);
    return seen_;
  }
  const ReplyCounts& counts() const { return reader_.counts(); }
  bool between_replies() const { return partial_.bytes.empty() && partial_.left == 0; }

 private:
  ReplyReader reader_;
  Partial partial_;
  Seen seen_;
};

Seen feed_whole(std::string_view stream, bool lines = false) {
  Feeder feeder(lines);
  feeder.feed(stream);
  return feeder.seen();
}

Seen feed_by_steps(std::string_view stream, std::size_t step, bool lines = false) {
  Feeder feeder(lines);
  for (std::size_t i = 0; i < stream.size(); i += step) feeder.feed(stream.substr(i, step));
  return feeder.seen();
}

// Feeds the stream whole, at every single split, and in equal steps: always with this outcome.
void expect_at_every_split(const std::string& stream, const Seen& expected, bool lines = false) {
  EXPECT_EQ(feed_whole(stream, lines), expected);
  for (std::size_t i = 1; i < stream.size(); ++i) {
    Feeder feeder(lines);
    feeder.feed(std::string_view(stream).substr(0, i));
    feeder.feed(std::string_view(stream).substr(i));
    ASSERT_EQ(feeder.seen(), expected) << "split at " << i;
  }
  for (const std::size_t step : {1u, 2u, 3u, 7u, 64u, 1023u, 1024u, 1025u}) {
    ASSERT_EQ(feed_by_steps(stream, step, lines), expected) << "steps of " << step;
  }
}

// A server's text frame.
std::string message(std::string_view text, unsigned first = 0x81) {
  std::string bytes(1, static_cast<char>(first));
  if (text.size() < 126) return bytes + static_cast<char>(text.size()) + std::string(text);
  bytes += '\x7e';
  bytes += static_cast<char>(text.size() >> 8);
  bytes += static_cast<char>(text.size() & 0xFF);
  return bytes + std::string(text);
}

TEST(FramingTest, MessagesOfAWebSocketAreCountedAtEverySplit) {
  const std::string long_body =
      R"({"jsonrpc":"2.0","result":")" + std::string(500, 'x') + R"(","id":1})";
  const std::string stream = message(good_body) + message(good_body) + message(error_body) +
                             message(long_body) + message(good_body);
  for (std::size_t i = 0; i <= stream.size(); ++i) {
    Feeder feeder(false, true);
    feeder.feed(std::string_view(stream).substr(0, i));
    feeder.feed(std::string_view(stream).substr(i));
    ASSERT_EQ(feeder.seen(), (Seen{.replies = 5, .rpc_errors = 1})) << i;
    EXPECT_TRUE(feeder.between_replies());
  }
}

TEST(FramingTest, WhatIsNoMessageInOneFrameIsBad) {
  for (const std::string& bytes :
       {message(good_body, 0x01), message(good_body, 0x82), message("", 0x83), message("", 0x08),
        message("", 0x09), message(std::string(126, 'x'), 0x89), std::string("\x81\x80\0\0\0\0", 6),
        std::string("HTTP/1.1 200 OK\r\n"), "\x81\x7f" + std::string(8, '\xff')}) {
    Feeder feeder(false, true);
    feeder.feed(message(good_body) + bytes);
    EXPECT_EQ(feeder.seen(), (Seen{.replies = 1, .bad = true})) << bytes;
  }
}

TEST(FramingTest, ControlFramesAreNoReplies) {
  const std::string ping = message("hi", 0x89);
  for (std::size_t split = 0; split != ping.size(); ++split) {
    ReplyReader reader;
    reader.expect_frames();
    Partial partial;
    const std::string bytes = message(good_body) + ping + message("", 0x8A) + message(good_body);
    const std::size_t first = message(good_body).size() + split;
    const ReplyReader::Fed one = reader.feed(partial, bytes.data(), first);
    EXPECT_FALSE(one.pinged);
    const ReplyReader::Fed two = reader.feed(partial, bytes.data() + first, bytes.size() - first);
    EXPECT_TRUE(two.pinged && !two.closed && !two.bad);
    EXPECT_EQ(reader.counts().replies, 2u);
    EXPECT_EQ(reader.pong(), make_pong("hi"));
  }
}

TEST(FramingTest, NothingIsReadBehindACloseFrame) {
  for (const auto& [payload, words] :
       {std::pair{std::string("\x03\xe9") + "bye", "closed the WebSocket: 1001 bye"},
        std::pair{std::string(), "closed the WebSocket: without a code"}}) {
    ReplyReader reader;
    reader.expect_frames();
    Partial partial;
    const std::string bytes = message(good_body) + message(payload, 0x88) + "garbage";
    const ReplyReader::Fed fed = reader.feed(partial, bytes.data(), bytes.size());
    EXPECT_TRUE(fed.closed && !fed.bad);
    EXPECT_EQ(fed.replies, 1u);
    EXPECT_NE(reader.kinds().first.find(words), std::string::npos) << reader.kinds().first;
  }
}

TEST(FramingTest, AFrameIsWhatTheStandardSays) {
  // RFC 6455, 5.2: masked, and its lengths in their shortest form.
  for (const auto& [size, head] : {std::pair{5u, 6u}, std::pair{125u, 6u}, std::pair{126u, 8u},
                                   std::pair{65'535u, 8u}, std::pair{65'536u, 14u}}) {
    const std::string text(size, 't');
    const std::string frame = make_frame(text);
    ASSERT_EQ(frame.size(), head + size);
    EXPECT_EQ(frame[0], '\x81');
    EXPECT_NE(frame[1] & 0x80, 0);
    const std::string_view key = std::string_view(frame).substr(head - 4, 4);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(frame[head + i] ^ key[i % 4], 't');
  }
}

TEST(FramingTest, EqualRepliesAreCountedAtEverySplit) {
  std::string stream;
  for (int i = 0; i < 3; ++i) stream += reply(good_body);
  expect_at_every_split(stream, {.replies = 3});
}

TEST(FramingTest, ChangingDatesBodiesAndSizesAreCountedAtEverySplit) {
  const std::string stream =
      reply(good_body) + reply(good_body, "200 OK", "Tue, 28 Jul 2026 10:00:01 GMT") +
      reply(R"({"jsonrpc":"2.0","result":"a longer one","id":1})") + reply(good_body);
  expect_at_every_split(stream, {.replies = 4});
}

TEST(FramingTest, LinesAreCountedAndReadAtEverySplit) {
  const std::string good = std::string(good_body) + "\n";
  const std::string error = std::string(error_body) + "\n";
  expect_at_every_split(good + good + good, {.replies = 3}, true);
  expect_at_every_split(good + error + "{\"jsonrpc\":\"2.0\",\"result\":[],\"id\":1}\n" + good,
                        {.replies = 4, .rpc_errors = 1}, true);
  expect_at_every_split(good + "no JSON\n\n" + good, {.replies = 4, .rpc_errors = 2}, true);
  const std::string large =
      R"({"jsonrpc":"2.0","result":")" + std::string(20'000, 'x') + "\",\"id\":1}\n";
  EXPECT_EQ(feed_by_steps(large + large + good, 1000, true), (Seen{.replies = 3}));
}

TEST(FramingTest, AnErrorAmongGoodRepliesIsSeenAtEverySplit) {
  const std::string stream = reply(good_body) + reply(error_body) + reply(good_body);
  expect_at_every_split(stream, {.replies = 3, .rpc_errors = 1});
}

TEST(FramingTest, AResultThatIsNoJsonRpcAnswerIsAnError) {
  const std::string stream = reply(good_body) + reply(R"({"jsonrpc":"2.0","reslut":5,"id":1})");
  expect_at_every_split(stream, {.replies = 2, .rpc_errors = 1});
}

TEST(FramingTest, OtherStatusesAreCountedAndFramedAtEverySplit) {
  const std::string stream = reply(good_body) + reply(error_body, "503 Service Unavailable") +
                             "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" +
                             reply(good_body);
  expect_at_every_split(stream, {.replies = 4, .status_errors = 2, .rpc_errors = 1});
}

TEST(FramingTest, ABodylessNotificationReplyIsGood) {
  const std::string stream =
      "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n"
      "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" +
      reply(good_body);
  expect_at_every_split(stream, {.replies = 3});
}

TEST(FramingTest, ABodyOfAnotherTypeIsNotReadAsJson) {
  const std::string stream =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
  expect_at_every_split(stream, {.replies = 1});
}

TEST(FramingTest, WhatCannotBeFramedIsBad) {
  const std::vector<std::string> streams = {
      "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200\tOK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nDate: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
  };
  for (const std::string& stream : streams) {
    SCOPED_TRACE(stream);
    expect_at_every_split(stream, {.bad = true});
    Seen after_a_good_one{.replies = 1, .bad = true};
    expect_at_every_split(reply(good_body) + stream, after_a_good_one);
  }
}

TEST(FramingTest, AHeadMayBeAsLongAsItsLimitAndNotLonger) {
  const std::string tail = "\r\nContent-Length: 0\r\n\r\n";
  const std::string start = "HTTP/1.1 200 OK\r\nX: ";
  std::string head = start;
  head.append(ReplyReader::head_size_max - start.size() - tail.size(), 'x');
  EXPECT_EQ(feed_by_steps(head + tail, 100), (Seen{.replies = 1}));
  EXPECT_EQ(feed_whole(head + tail), (Seen{.replies = 1}));
  EXPECT_EQ(feed_by_steps(head + "x" + tail, 100), (Seen{.bad = true}));
  EXPECT_EQ(feed_whole(head + "x" + tail), (Seen{.bad = true}));
  EXPECT_EQ(feed_by_steps(std::string(2 * ReplyReader::head_size_max, 'x'), 100),
            (Seen{.bad = true}));
}

TEST(FramingTest, FieldNamesAndTypesAreReadInAnyCase) {
  const std::string body(error_body);
  const std::string stream =
      "HTTP/1.1 200 OK\r\ncontent-TYPE:Application/JSON; charset=utf-8\r\n"
      "CONTENT-length:\t" +
      std::to_string(body.size()) + " \r\n\r\n" + body;
  expect_at_every_split(stream, {.replies = 1, .rpc_errors = 1});
}

TEST(FramingTest, LargeBodiesAreFramedAndTheFirstIsChecked) {
  const std::string large = R"({"jsonrpc":"2.0","result":")" +
                            std::string(3 * ReplyReader::checked_size_max, 'x') + R"(","id":1})";
  const std::string one = reply(large);
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}, std::size_t{4096}}) {
    Feeder feeder;
    const std::string stream = one + one + one + reply(good_body);
    for (std::size_t i = 0; i < stream.size(); i += step) {
      feeder.feed(std::string_view(stream).substr(i, step));
    }
    EXPECT_EQ(feeder.seen(), (Seen{.replies = 4}));
    EXPECT_TRUE(feeder.between_replies());
    EXPECT_EQ(feeder.counts().bodies_checked, 2u);
    EXPECT_EQ(feeder.counts().bodies_unchecked, 2u);
  }
}

TEST(FramingTest, OneInAThousandLargeBodiesIsChecked) {
  const std::string text(2 * ReplyReader::checked_size_max, 'x');
  const std::string good = reply(R"({"jsonrpc":"2.0","result":")" + text + R"(","id":1})");
  const std::string wrong = reply(R"({"jsonrpc":"2.0","error":")" + text + R"(","id":1})");
  Feeder feeder;
  const auto feed = [&feeder](std::string_view bytes) {
    feeder.feed(bytes.substr(0, 4096));
    feeder.feed(bytes.substr(4096));
  };
  for (std::uint64_t i = 0; i < ReplyReader::sample_every; ++i) feed(good);
  feed(wrong);
  EXPECT_EQ(feeder.seen(), (Seen{.replies = ReplyReader::sample_every + 1, .rpc_errors = 1}));
}

TEST(FramingTest, RandomStreamsGiveTheSameCountsAtRandomSplits) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> kinds = {
      reply(good_body),
      reply(good_body, "200 OK", "Wed, 29 Jul 2026 10:00:00 GMT"),
      reply(error_body),
      reply(error_body, "500 Internal Server Error"),
      reply(R"({"jsonrpc":"2.0","result":")" + std::string(5000, 'y') + R"(","id":1})"),
      std::string("HTTP/1.1 204 No Content\r\n\r\n")};
  for (int round = 0; round < 300; ++round) {
    std::string stream;
    Seen expected;
    for (std::size_t count = 1 + random() % 12; count != 0; --count) {
      const std::size_t kind = random() % kinds.size();
      stream += kinds[kind];
      ++expected.replies;
      if (kind == 2 || kind == 3) ++expected.rpc_errors;
      if (kind == 3) ++expected.status_errors;
    }
    Feeder feeder;
    for (std::size_t i = 0; i < stream.size();) {
      const std::size_t step = 1 + random() % (random() % 2 == 0 ? 40 : 4096);
      feeder.feed(std::string_view(stream).substr(i, step));
      i += step;
    }
    ASSERT_EQ(feeder.seen(), expected);
    ASSERT_TRUE(feeder.between_replies());
  }
}

}  // namespace
}  // namespace ringload
