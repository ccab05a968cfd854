// Replies in any order, on lines and WebSockets: whose they are, and what becomes of the rest.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ringload/framing.h"
#include "tools/ringload/websocket.h"

namespace ringload {
namespace {

TEST(InFlightTest, WhatIsTakenLeavesTheOthersInOrder) {
  InFlight in_flight;
  std::vector<std::uint32_t> model;
  std::uint32_t pushed = 0;
  for (std::uint32_t step = 0; step != 10'000; ++step) {
    const bool grows = model.empty() || (model.size() < 50 && step % 3 != 2);
    if (grows) {
      in_flight.push(1000 + pushed, pushed);
      model.push_back(pushed++);
    } else {
      const std::size_t i = step * 7 % model.size();
      EXPECT_EQ(in_flight.take(i), 1000 + model[i]);
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(in_flight.size(), model.size());
    for (std::size_t i = 0; i != model.size(); ++i) ASSERT_EQ(in_flight.position(i), model[i]);
  }
  in_flight.clear();
  EXPECT_EQ(in_flight.size(), 0u);
}

// A text as the server sends it.
std::string line(std::string_view text) { return std::string(text) + '\n'; }

std::string frame(std::string_view text) {
  const std::string masked = make_frame(text);  // the same, but for the mask and its key
  const std::size_t head_size = masked.size() - text.size() - 4;
  std::string bytes = masked.substr(0, head_size);
  bytes[1] = static_cast<char>(bytes[1] & 0x7F);
  return bytes + std::string(text);
}

std::string answer(std::string_view id, std::string_view result = "5") {
  return R"({"jsonrpc":"2.0","result":)" + std::string(result) + ",\"id\":" + std::string(id) + "}";
}

struct Transport {
  const char* name;
  std::string (*pack)(std::string_view);
  bool frames;
};

class MatchedTest : public testing::TestWithParam<Transport> {
 protected:
  void make(const Tape::Wish& wish, std::uint64_t check_every) {
    tape_.make(wish, [](std::string_view body) { return std::string(body); });
    if (GetParam().frames) {
      reader_.expect_frames();
    } else {
      reader_.expect_lines();
    }
    reader_.follow(tape_, check_every);
  }
  void ask(std::uint32_t count) {
    for (std::uint32_t i = 0; i != count; ++i, ++asked_) in_flight_.push(asked_, asked_);
  }
  // Returns: false when the bytes are bad.
  bool feed(std::string_view text, std::size_t step = 10'000'000) {
    const std::string bytes = GetParam().pack(text);
    for (std::size_t i = 0; i < bytes.size(); i += step) {
      const std::string_view piece = std::string_view(bytes).substr(i, step);
      const std::vector<char> exact(piece.begin(), piece.end());
      const std::size_t before = times_.size();
      const ReplyReader::Fed fed =
          reader_.feed_matched(partial_, in_flight_, exact.data(), exact.size(), times_);
      EXPECT_EQ(fed.replies, times_.size() - before);
      if (fed.bad) return false;
    }
    return true;
  }
  [[nodiscard]] std::string id(std::uint32_t position) const {
    return std::string(tape_.id(position));
  }

  Tape tape_;
  ReplyReader reader_;
  Partial partial_;
  InFlight in_flight_;
  std::uint32_t asked_ = 0;
  std::vector<std::uint64_t> times_;
};

const Tape::Wish fresh = {
    .bodies = {{.text = R"({"jsonrpc":"2.0","method":"m","id":1})", .weight = 1, .expected = "5"}},
    .batch = 0,
    .fresh_ids = true};

TEST_P(MatchedTest, AReplyBelongsToTheRequestWithItsId) {
  make(fresh, 2);
  ask(6);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{10'000}}) {
    const std::uint32_t first = in_flight_.position(0);
    for (const std::uint32_t i : {2u, 0u, 1u}) ASSERT_TRUE(feed(answer(id(first + i)), step));
    ask(3);
  }
  EXPECT_EQ(times_, (std::vector<std::uint64_t>{2, 0, 1, 5, 3, 4, 8, 6, 7}));
  EXPECT_EQ(reader_.counts().replies, 9u);
  EXPECT_EQ(reader_.counts().full_checks, 5u);
  EXPECT_EQ(reader_.counts().wrong, 0u) << reader_.kinds().first;
}

TEST_P(MatchedTest, AReplyOfNobodyIsWrongAndAnswersNobody) {
  make(fresh, 1);
  ask(2);
  ASSERT_TRUE(feed(answer("7")));
  ASSERT_TRUE(feed(answer(id(5))));
  ASSERT_TRUE(feed(answer("null")));
  ASSERT_TRUE(feed(R"({"jsonrpc":"2.0","result":5})"));
  ASSERT_TRUE(feed("[" + answer(id(0)) + "]"));
  EXPECT_TRUE(times_.empty());
  EXPECT_EQ(reader_.counts().wrong, 5u);
  EXPECT_EQ(reader_.kinds().first.find("no request waits for the id 7:"), 0u);
  ASSERT_TRUE(feed(answer(id(1))));
  ASSERT_TRUE(feed(answer(id(1))));
  EXPECT_EQ(times_, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(reader_.counts().wrong, 6u);
  ASSERT_TRUE(feed(answer(id(0))));
  EXPECT_FALSE(feed(answer(id(0))));
}

TEST_P(MatchedTest, WhatHasNoIdForAReasonBelongsToTheOldest) {
  make(fresh, 0);
  ask(3);
  ASSERT_TRUE(
      feed(R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null})"));
  ASSERT_TRUE(feed(R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid"}})"));
  ASSERT_TRUE(feed("no JSON"));
  EXPECT_EQ(times_, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(reader_.counts().rpc_errors, 3u);
}

TEST_P(MatchedTest, AWrongResultIsFoundWhereverItsReplyStands) {
  make(fresh, 1);
  ask(4);
  for (const std::uint32_t i : {3u, 1u, 0u, 2u}) {
    ASSERT_TRUE(feed(answer(id(i), i == 1 ? "6" : "5")));
  }
  EXPECT_EQ(reader_.counts().wrong, 1u);
  EXPECT_EQ(reader_.kinds().first.find("the result is 6, not 5:"), 0u);
}

TEST_P(MatchedTest, BatchesAreToldApartByAnyOfTheirIds) {
  Tape::Wish wish = {.bodies = {fresh.bodies[0], fresh.bodies[0]}, .batch = 2};
  wish.bodies[1].text = R"({"jsonrpc":"2.0","method":"n","id":1})";
  make(wish, 1);
  ask(3);
  for (const std::uint32_t i : {2u, 0u, 1u}) {
    const std::vector<Call>& calls = tape_.message(i).calls;
    ASSERT_TRUE(feed("[" + answer(calls[1].id) + "," + answer(calls[0].id) + "]"));
  }
  EXPECT_EQ(times_, (std::vector<std::uint64_t>{2, 0, 1}));
  EXPECT_EQ(reader_.counts().wrong, 0u) << reader_.kinds().first;
}

TEST_P(MatchedTest, LargeRepliesAreBroughtToTheirRequestsToo) {
  Tape::Wish wish = fresh;
  const std::string large = '"' + std::string(100'000, 'x') + '"';
  wish.bodies[0].expected = large;
  make(wish, 3);
  ask(4);
  for (const std::uint32_t i : {1u, 0u, 3u, 2u}) ASSERT_TRUE(feed(answer(id(i), large), 4096));
  EXPECT_EQ(times_, (std::vector<std::uint64_t>{1, 0, 3, 2}));
  EXPECT_EQ(reader_.counts().wrong, 0u) << reader_.kinds().first;
  EXPECT_EQ(reader_.counts().full_checks, 2u);
}

INSTANTIATE_TEST_SUITE_P(Transports, MatchedTest,
                         testing::Values(Transport{"lines", line, false},
                                         Transport{"frames", frame, true}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace ringload
