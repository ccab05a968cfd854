// Goal: the same requests come out of the framer however their bytes are cut, and however often the
// connection was paused between two of them.
// Method: a stream of requests of every framing, with what must come out of it; cut at every place,
// byte by byte, and at random with pauses. Each piece lies in memory of its own size and padding,
// so that a checker sees who reads on.

#include "engine/serve/framing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/serve/framing_piece.h"

namespace ringrpc::serve {
namespace {

using testing::Piece;

constexpr std::uint32_t message_size_max = 2048;

struct Bench {
  explicit Bench(std::size_t pool_size = 1u << 20) : pool(pool_size) {}
  ~Bench() { framer.forget(connection); }

  // Feeds one piece and notes what comes out. `keep_percent`: how often a pause comes between two
  // requests, so that the rest of the piece is kept. As the worker does, what was kept is looked at
  // before anything new.
  void feed(std::string_view text, std::mt19937* random = nullptr, std::uint32_t keep_percent = 0) {
    Piece nothing("");
    Piece piece(text);
    for (Input* input : {&nothing.input, &piece.input}) {
      while (!ended) {
        if (random != nullptr && may_keep && (*random)() % 100 < keep_percent) {
          ASSERT_TRUE(framer.keep(connection, piece.input));
          kept = true;
          return;
        }
        const Step step = framer.next(connection, *input, request, now_ms);
        may_keep = step == Step::message || step == Step::refused;
        if (step == Step::need_input) break;
        note(step);
      }
    }
  }

  void note(Step step) {
    switch (step) {
      case Step::message:
        said.push_back("message " + std::string(request.body));
        break;
      case Step::refused:
        said.push_back("refused " + std::to_string(request.admission.status));
        break;
      case Step::broken:
        said.push_back("broken " + std::to_string(request.status));
        break;
      default:
        break;  // Whether a client is told to go on depends on what has come.
    }
    if (step != Step::go_on && request.last) ended = true;
  }

  PartialPool pool;
  base::Counters counters;
  http::HostPolicy hosts;
  Mount mount{.path = "/rpc"};
  Framer framer{{.pool = &pool,
                 .counters = &counters,
                 .hosts = &hosts,
                 .mounts = {&mount, 1},
                 .message_size_max = message_size_max}};
  Connection connection;
  Request request;
  std::vector<std::string> said;
  std::uint64_t now_ms = 1'000'000;
  bool ended = false;
  bool may_keep = true;
  bool kept = false;
};

std::string post(const std::string& body, const std::string& more = {}) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chunked(const std::string& chunks) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
         "Content-Type: application/json\r\n\r\n" +
         chunks;
}

struct Stream {
  std::string bytes;
  std::vector<std::string> says;
};

Stream every_framing() {
  const std::string long_body(300, 'L');
  Stream stream;
  stream.bytes = post("{\"a\":1}") + chunked("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n") + post("") +
                 "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" +
                 "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\n" +
                 "GET /rpc HTTP/1.1\r\nHost: a\r\n\r\n" + post(long_body) + "\r\n" +
                 post("x", "Expect: 100-continue\r\n") + chunked("0\r\nT: v\r\n\r\n") +
                 post("last", "Connection: close\r\n") + post("never");
  stream.says = {"message {\"a\":1}",    "message abcde", "message ", "refused 404", "refused 404",
                 "message " + long_body, "message x",     "message ", "message last"};
  return stream;
}

TEST(Framer, AStreamInOnePieceGivesItsRequests) {
  const Stream stream = every_framing();
  Bench bench;
  bench.feed(stream.bytes);
  EXPECT_EQ(bench.said, stream.says);
  EXPECT_TRUE(bench.ended);
}

TEST(Framer, AStreamCutInTwoAnywhereGivesTheSame) {
  const Stream stream = every_framing();
  for (std::size_t cut = 1; cut < stream.bytes.size(); ++cut) {
    Bench bench;
    bench.feed(std::string_view(stream.bytes).substr(0, cut));
    bench.feed(std::string_view(stream.bytes).substr(cut));
    ASSERT_EQ(bench.said, stream.says) << "cut at " << cut;
  }
}

TEST(Framer, AStreamByteByByteGivesTheSame) {
  const Stream stream = every_framing();
  Bench bench;
  for (const char& byte : stream.bytes) bench.feed(std::string_view(&byte, 1));
  EXPECT_EQ(bench.said, stream.says);
}

TEST(Framer, PausesBetweenRequestsChangeNothing) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const Stream stream = every_framing();
  std::uint32_t kept = 0;
  for (int round = 0; round < 3000; ++round) {
    Bench bench;
    const std::uint32_t percent = static_cast<std::uint32_t>(random() % 80);
    const std::size_t most = 1 + random() % 900;
    for (std::size_t at = 0; at < stream.bytes.size();) {
      const std::size_t size = 1 + random() % most;
      bench.feed(std::string_view(stream.bytes).substr(at, size), &random, percent);
      at += size;
      kept += bench.kept;
    }
    bench.feed("");
    ASSERT_EQ(bench.said, stream.says);
  }
  EXPECT_GT(kept, 0u);
}

TEST(Framer, AMessageInOnePieceIsNotCopied) {
  Bench bench;
  bench.feed(post("{}"));
  EXPECT_EQ(bench.counters.get(base::Counter::bytes_copied), 0u);
  EXPECT_EQ(bench.pool.bytes_mapped(), 0u);
}

TEST(Framer, AMessageInTwoPiecesIsCopiedOnceAndItsNeighboursAreNot) {
  const std::string text = post(std::string(500, 'b'));
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Bench bench;
    bench.feed(text + text.substr(0, cut));
    bench.feed(text.substr(cut) + text);
    ASSERT_EQ(bench.said.size(), 3u);
    ASSERT_EQ(bench.counters.get(base::Counter::bytes_copied), text.size()) << cut;
    EXPECT_EQ(bench.connection.partial, nullptr);
  }
}

TEST(Framer, BodiesAtTheLimitPassAndAboveItAreRefused) {
  for (const std::uint32_t size : {message_size_max - 1, message_size_max, message_size_max + 1}) {
    const std::string body(size, 'x');
    Bench sized;
    sized.feed(post(body));
    const bool fits = size <= message_size_max;
    EXPECT_EQ(sized.said.at(0), fits ? "message " + body : "refused 413") << size;
    char digits[16];
    std::snprintf(digits, sizeof(digits), "%x\r\n", size);
    Bench chunks;
    chunks.feed(chunked(digits + body + "\r\n0\r\n\r\n"));
    EXPECT_EQ(chunks.said.at(0), fits ? "message " + body : "refused 413") << size;
  }
}

TEST(Framer, ChunksKeptDuringAPauseAreBoundedToo) {
  Bench bench;
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%x\r\n", message_size_max + 1);
  Piece piece(chunked(digits + std::string(message_size_max + 1, 'x') + "\r\n0\r\n\r\n"));
  ASSERT_TRUE(bench.framer.keep(bench.connection, piece.input));
  bench.feed("");
  ASSERT_EQ(bench.said.size(), 1u);
  EXPECT_EQ(bench.said[0], "refused 413");
}

TEST(Framer, AChunkSizeIsJudgedWhenItsLineHasEndedHoweverItWasCut) {
  const std::string head =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (const auto& [chunk, said] :
       {std::pair{"fffffz", "broken 400"}, std::pair{"fffff;\r", "broken 400"},
        std::pair{"fffff\r\n", "refused 413"}}) {
    for (std::size_t cut = 0; cut < std::string_view(chunk).size(); ++cut) {
      Bench bench;
      bench.feed(head + std::string(chunk).substr(0, cut));
      ASSERT_TRUE(bench.said.empty()) << chunk << ", cut at " << cut;
      bench.feed(std::string_view(chunk).substr(cut));
      ASSERT_EQ(bench.said, std::vector<std::string>{said}) << chunk << ", cut at " << cut;
    }
  }
}

TEST(Framer, TheTimeOfAKeptHeadBeginsWhenItIsLookedAt) {
  Bench bench;
  Piece piece(post("{}") + "POST /rpc HT");
  ASSERT_TRUE(bench.framer.keep(bench.connection, piece.input));
  bench.now_ms += 50'000;
  bench.feed("");
  ASSERT_EQ(bench.said.size(), 1u);
  ASSERT_NE(bench.connection.partial, nullptr);
  EXPECT_EQ(bench.connection.partial->started_ms, bench.now_ms);
}

TEST(Framer, TheTimeOfASplitHeadBeginsWithItsOwnFirstByte) {
  Bench bench;
  const std::string text = post("{}");
  bench.feed(text.substr(0, 20));
  bench.now_ms += 9'000;
  bench.feed(text.substr(20) + text.substr(0, 20));
  ASSERT_NE(bench.connection.partial, nullptr);
  EXPECT_EQ(bench.connection.partial->started_ms, bench.now_ms);
}

TEST(Framer, AConnectionIsNotPausedInABody) {
  const std::string text = post(std::string(200, 'b'), "Expect: 100-continue\r\n");
  Bench bench;
  EXPECT_TRUE(Framer::may_keep(bench.connection));
  bench.feed(text.substr(0, 30));
  EXPECT_TRUE(Framer::may_keep(bench.connection)) << "in a head";
  bench.feed(text.substr(30, text.size() - 230));
  EXPECT_FALSE(Framer::may_keep(bench.connection)) << "told to go on";
  Piece piece(text.substr(text.size() - 200));
  ASSERT_EQ(bench.framer.next(bench.connection, piece.input, bench.request, 0), Step::message);
  EXPECT_TRUE(Framer::may_keep(bench.connection)) << "whole";
}

TEST(Framer, WithoutMemoryAnUnfinishedRequestIs503) {
  for (const std::string& text : {post(std::string(200, 'b')).substr(0, 30),
                                  post(std::string(200, 'b')).substr(0, 200), chunked("5\r\nab")}) {
    Bench bench(1000);
    bench.feed(text);
    ASSERT_EQ(bench.said.size(), 1u);
    EXPECT_EQ(bench.said[0], "broken 503");
    EXPECT_GT(bench.counters.get(base::Counter::limit_partial_pool), 0u);
  }
}

TEST(Framer, AHeadThatNeverEndsIs431) {
  for (const std::size_t piece : {1u, 100u, 5000u, 40'000u}) {
    Bench bench;
    std::string head = "POST /rpc HTTP/1.1\r\n";
    while (head.size() < 40'000)
      head += "X-A: bcdefghijklmnopqrstuvwxyz" + std::string(800, 'v') + "\r\n";
    for (std::size_t at = 0; at < head.size() && !bench.ended; at += piece) {
      bench.feed(std::string_view(head).substr(at, piece));
    }
    ASSERT_EQ(bench.said.size(), 1u) << piece;
    EXPECT_EQ(bench.said[0], "broken 431");
  }
}

TEST(Framer, ARefusedBodyOverTheDrainLimitEndsTheConnection) {
  for (const std::uint32_t size :
       {limits::drain_size_max - 1, limits::drain_size_max, limits::drain_size_max + 1}) {
    Bench bench;
    bench.feed("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
               std::to_string(size) + "\r\n\r\n");
    EXPECT_EQ(bench.said.at(0), "refused 404");
    EXPECT_EQ(bench.ended, size > limits::drain_size_max) << size;
  }
}

}  // namespace
}  // namespace ringrpc::serve
