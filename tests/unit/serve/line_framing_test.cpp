// Goal: the same lines come out of the framer however their bytes are cut, and however often the
// connection was paused between two of them; a line over the limit is refused once and costs
// nothing. Method: a stream of every kind of line with what must come out of it; cut at every
// place, byte by byte, and at random with pauses. Each piece lies in memory of its own size and
// padding, so that a checker sees who reads on.

#include "engine/serve/line_framing.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

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
  explicit Bench(std::size_t pool_size = 1u << 20) : pool(pool_size, message_size_max) {}
  ~Bench() {
    if (connection.partial != nullptr) pool.give(connection.partial);
  }

  // Feeds one piece and notes what comes out. `keep_percent`: how often a pause comes before a
  // line, so that the rest of the piece is kept. As the worker does, what was kept is looked at
  // before anything new.
  void feed(std::string_view text, std::mt19937* random = nullptr, std::uint32_t keep_percent = 0) {
    Piece nothing("");
    Piece piece(text);
    for (Input* input : {&nothing.input, &piece.input}) {
      for (;;) {
        if (random != nullptr && (*random)() % 100 < keep_percent) {
          ASSERT_TRUE(framer.keep(connection, piece.input));
          ++pauses;
          return;
        }
        if (!note(framer.next(connection, *input, request, now_ms))) break;
      }
    }
  }

  // The peer's end. Afterwards nothing may be held.
  void finish() {
    feed("");
    while (note(framer.end(connection, request))) feed("");
    EXPECT_EQ(connection.partial, nullptr);
    EXPECT_EQ(pool.blocks_taken(), 0u);
  }

  // Returns: whether there may be more.
  bool note(Step step) {
    switch (step) {
      case Step::message:
        said.push_back("message " + std::string(request.body));
        EXPECT_EQ(request.admission.target, Target::rpc);
        EXPECT_EQ(request.admission.mount, 3);
        EXPECT_FALSE(request.last);
        return true;
      case Step::refused:
        said.push_back("refused " + std::to_string(request.admission.status));
        EXPECT_EQ(request.admission.code, rpc::ErrorCode::request_too_large);
        EXPECT_FALSE(request.last);
        return true;
      case Step::broken:
        said.push_back("broken " + std::to_string(request.status));
        EXPECT_TRUE(request.last);
        return false;
      default:
        EXPECT_EQ(step, Step::need_input);
        return false;
    }
  }

  PartialPool pool;
  base::Counters counters;
  LineFramer framer{
      {.pool = &pool, .counters = &counters, .mount = 3, .message_size_max = message_size_max}};
  Connection connection;
  Request request;
  std::vector<std::string> said;
  std::uint64_t now_ms = 1'000'000;
  std::uint32_t pauses = 0;
};

struct Stream {
  std::string bytes;
  std::vector<std::string> says;
};

Stream every_line() {
  const std::string longest(message_size_max, 'L');
  const std::string over(message_size_max + 1, 'O');
  Stream stream;
  stream.bytes = "{\"a\":1}\n\n[2]\r\n\r\n \t \n  {\"b\": 2} \n" + longest + "\n" + over + "\n" +
                 longest + "\r\n" + over + "\r\n" + over + "y\n" + longest + "\rz\n" + "x\r\r\n" +
                 "\n\n\n{}\n" + over + over + over + "\n3\n\r\nlast";
  stream.says = {"message {\"a\":1}",  "message [2]", "message   {\"b\": 2} ",
                 "message " + longest, "refused 413", "message " + longest,
                 "refused 413",        "refused 413", "refused 413",
                 "message x\r",        "message {}",  "refused 413",
                 "message 3",          "message last"};
  return stream;
}

TEST(LineFramer, AStreamInOnePieceGivesItsLinesAndNothingIsCopiedButTheLast) {
  const Stream stream = every_line();
  Bench bench;
  bench.feed(stream.bytes);
  EXPECT_EQ(bench.counters.get(base::Counter::bytes_copied), 4u);
  bench.finish();
  EXPECT_EQ(bench.said, stream.says);
}

TEST(LineFramer, AStreamCutInTwoAnywhereGivesTheSame) {
  const Stream stream = every_line();
  for (std::size_t cut = 1; cut < stream.bytes.size(); ++cut) {
    Bench bench;
    bench.feed(std::string_view(stream.bytes).substr(0, cut));
    bench.feed(std::string_view(stream.bytes).substr(cut));
    bench.finish();
    ASSERT_EQ(bench.said, stream.says) << "cut at " << cut;
  }
}

TEST(LineFramer, AStreamByteByByteGivesTheSame) {
  const Stream stream = every_line();
  Bench bench;
  for (const char& byte : stream.bytes) bench.feed(std::string_view(&byte, 1));
  bench.finish();
  EXPECT_EQ(bench.said, stream.says);
}

TEST(LineFramer, PausesBetweenLinesChangeNothing) {
  const Stream stream = every_line();
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed: %u\n", seed);
  std::mt19937 random(seed);
  std::uint32_t pauses = 0;
  for (int run = 0; run < 2000; ++run) {
    Bench bench;
    const std::uint32_t piece_max = run % 2 == 0 ? 5000 : 60;
    const std::uint32_t keep_percent = static_cast<std::uint32_t>(random() % 60);
    for (std::size_t at = 0; at < stream.bytes.size();) {
      const std::size_t size =
          std::min<std::size_t>(1 + random() % piece_max, stream.bytes.size() - at);
      bench.feed(std::string_view(stream.bytes).substr(at, size), &random, keep_percent);
      ASSERT_FALSE(HasFatalFailure());
      at += size;
    }
    bench.finish();
    ASSERT_EQ(bench.said, stream.says) << "run " << run;
    pauses += bench.pauses;
  }
  EXPECT_GT(pauses, 1000u);
}

TEST(LineFramer, ALineInOnePieceIsReadWhereItLies) {
  Bench bench;
  Piece piece("{}\n{\"b\":1}\n");
  ASSERT_EQ(bench.framer.next(bench.connection, piece.input, bench.request, 0), Step::message);
  EXPECT_EQ(bench.request.body.data(), piece.bytes.get());
  ASSERT_EQ(bench.framer.next(bench.connection, piece.input, bench.request, 0), Step::message);
  EXPECT_EQ(bench.request.body.data(), piece.bytes.get() + 3);
  EXPECT_EQ(bench.counters.get(base::Counter::bytes_copied), 0u);
  EXPECT_EQ(bench.pool.blocks_taken(), 0u);
}

TEST(LineFramer, ALineInPiecesIsCopiedOnceAndALittle) {
  constexpr std::uint32_t size = 1u << 20;
  base::Counters counters;
  PartialPool pool(8u << 20, 2 * size);
  LineFramer framer(
      {.pool = &pool, .counters = &counters, .mount = 0, .message_size_max = 2 * size});
  Connection connection;
  Request request;
  const std::string text(size, 'x');
  for (std::size_t at = 0; at < size; at += 4096) {
    Piece piece(std::string_view(text).substr(at, 4096));
    ASSERT_EQ(framer.next(connection, piece.input, request, 0), Step::need_input);
  }
  Piece end("\n");
  ASSERT_EQ(framer.next(connection, end.input, request, 0), Step::message);
  EXPECT_EQ(request.body, text);
  EXPECT_LT(counters.get(base::Counter::bytes_copied), size + size / 3);
  pool.give(connection.partial);
}

TEST(LineFramer, ALineOverTheLimitHoldsNoMemoryWhileItsRestComes) {
  Bench bench;
  bench.feed(std::string(message_size_max + 2, 'x'));
  EXPECT_EQ(bench.said, std::vector<std::string>{"refused 413"});
  for (int i = 0; i < 100; ++i) {
    bench.feed(std::string(4096, 'x'));
    ASSERT_EQ(bench.pool.blocks_taken(), 0u);
  }
  EXPECT_EQ(bench.said.size(), 1u);
  bench.feed("x\n{}\n");
  bench.finish();
  EXPECT_EQ(bench.said, (std::vector<std::string>{"refused 413", "message {}"}));
}

TEST(LineFramer, ALineOverTheLimitThatNeverEndsIsRefusedOnce) {
  Bench bench;
  bench.feed(std::string(message_size_max, 'x'));
  EXPECT_TRUE(bench.said.empty());
  bench.feed("x");
  EXPECT_EQ(bench.said, std::vector<std::string>{"refused 413"});
  bench.feed("xxx");
  bench.finish();
  EXPECT_EQ(bench.said.size(), 1u);
}

TEST(LineFramer, WhatIsKeptBehindAnEndlessLineIsDroppedWithIt) {
  Bench bench;
  bench.feed(std::string(message_size_max + 2, 'x'));
  Piece rest("xxx");
  ASSERT_TRUE(bench.framer.keep(bench.connection, rest.input));
  EXPECT_EQ(bench.pool.blocks_taken(), 0u);
  Piece more("xx\n{}\n");
  ASSERT_TRUE(bench.framer.keep(bench.connection, more.input));
  EXPECT_EQ(bench.pool.blocks_taken(), 1u);
  bench.finish();
  EXPECT_EQ(bench.said, (std::vector<std::string>{"refused 413", "message {}"}));
}

TEST(LineFramer, APoolWithoutRoomBreaksTheConnectionAndIsCounted) {
  Bench bench(4096);
  Partial* all = bench.pool.take(100);
  bench.feed("{}\n{");
  EXPECT_EQ(bench.said, (std::vector<std::string>{"message {}", "broken 503"}));
  EXPECT_EQ(bench.counters.get(base::Counter::limit_partial_pool), 1u);
  Piece piece("{");
  EXPECT_FALSE(bench.framer.keep(bench.connection, piece.input));
  EXPECT_EQ(bench.counters.get(base::Counter::limit_partial_pool), 2u);
  bench.pool.give(all);
}

TEST(LineFramer, TheTimeOfALineBeginsWithItsFirstByteOrWhenItIsReadAgain) {
  Bench bench;
  bench.feed("{");
  ASSERT_NE(bench.connection.partial, nullptr);
  EXPECT_EQ(bench.connection.partial->started_ms, bench.now_ms);
  bench.now_ms += 500;
  bench.feed("}");
  EXPECT_EQ(bench.connection.partial->started_ms, bench.now_ms - 500);
  Piece more("\n{");
  ASSERT_TRUE(bench.framer.keep(bench.connection, more.input));
  bench.now_ms += 500;
  bench.feed("");
  EXPECT_EQ(bench.connection.partial->started_ms, bench.now_ms);
  bench.feed("}");
  bench.finish();
  EXPECT_EQ(bench.said, (std::vector<std::string>{"message {}", "message {}"}));
}

}  // namespace
}  // namespace ringrpc::serve
