// Goal: a reply is one line whatever is passed through in it, wherever the reply's memory ends, and
// what ends a connection is one well-formed error. Method: replies of every size around the room
// that there is, with breaks at every place.

#include "engine/serve/line_reply.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <string>

namespace ringrpc::serve {
namespace {

constexpr std::uint32_t slab_size = 8192;

struct Bench {
  ~Bench() { outbox.clear(out); }

  // Everything that waits, which goes then.
  std::string take() {
    std::string text;
    while (!out.empty()) {
      const Segment front = outbox.front(out);
      text.append(front.data, front.size);
      outbox.taken(out, front.size);
    }
    return text;
  }

  Outbox outbox{{.slab_size = slab_size,
                 .slab_count = 4,
                 .segment_count = 16,
                 .reply_size_max = 100'000,
                 .mapped_max = 8u << 20}};
  OutList out;
};

std::string without_breaks(std::string text) {
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
  return text;
}

void expect_line(Bench& bench, const std::string& json) {
  ReplyRoom room(bench.outbox, 100'000, 0);
  ASSERT_TRUE(room.exists());
  room.writer().bytes(json);
  const std::size_t size = end_line(room);
  ASSERT_TRUE(room.commit(bench.out, size));
  ASSERT_EQ(bench.take(), without_breaks(json) + "\n");
  ASSERT_TRUE(write_line(bench.outbox, bench.out, json));
  ASSERT_EQ(bench.take(), without_breaks(json) + "\n");
}

TEST(LineReply, BreaksAreDroppedWhereverTheyAre) {
  Bench bench;
  const std::string json = R"({"a":[1,2,"x\ny"]})";
  expect_line(bench, json);
  for (const char* breaks : {"\n", "\r", "\r\n", "\n\r", "\n\n\n"}) {
    for (std::size_t at = 0; at <= json.size(); ++at) {
      for (std::size_t second = at; second <= json.size(); ++second) {
        std::string text = json;
        text.insert(second, breaks);
        text.insert(at, breaks);
        expect_line(bench, text);
        ASSERT_FALSE(HasFatalFailure()) << at << " " << second;
      }
    }
  }
}

TEST(LineReply, TheEndHasRoomWhereverTheReplyEnds) {
  Bench bench;
  for (const std::uint32_t around : {slab_size, 2 * slab_size, 65'536u}) {
    for (std::uint32_t size = around - 70; size < around + 70; ++size) {
      expect_line(bench, "\"" + std::string(size - 2, 'x') + "\"");
      ASSERT_FALSE(HasFatalFailure()) << size;
    }
  }
}

TEST(LineReply, ALineThatFindsNoMemoryIsNone) {
  Outbox outbox({.slab_size = slab_size,
                 .slab_count = 2,
                 .segment_count = 4,
                 .reply_size_max = 1000,
                 .mapped_max = 4096});
  OutList out;
  EXPECT_FALSE(write_line(outbox, out, std::string(3 * slab_size, 'x')));
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(outbox.bytes_mapped(), 0u);
}

TEST(LineReply, WhatEndsAConnectionIsOneErrorWithItsReason) {
  EXPECT_EQ(line_error(503, "connections_max"),
            R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded",)"
            R"("data":{"reason":"connections_max","retryAfterMs":1000}},"id":null})");
  EXPECT_EQ(line_error(408, "body_rate_min"),
            R"({"jsonrpc":"2.0","error":{"code":-31003,"message":"Timed out",)"
            R"("data":{"reason":"body_rate_min"}},"id":null})");
  EXPECT_EQ(line_error(400, "http"),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error",)"
            R"("data":{"reason":"http"}},"id":null})");
}

}  // namespace
}  // namespace ringrpc::serve
