// Goal: what is written as an event is read back, split anywhere and with every kind of line end;
// nothing that a caller gives can begin a field of its own; the reader follows the standard.
// Method: texts with their events, cut at every offset and byte by byte; random events there and
// back.

#include "engine/http/sse.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::http {
namespace {

constexpr std::size_t size_max = 1000;

// Each event as "name|id|data"; "!" when the reader has had enough.
using Events = std::vector<std::string>;

void read_piece(EventReader& reader, std::string_view piece, Events& events) {
  const std::string copy(piece);  // of its own, so that a checker sees reads behind it
  const char* cursor = copy.data();
  const char* const end = cursor + copy.size();
  while (true) {
    const EventReader::Status status = reader.next(cursor, end);
    if (status == EventReader::Status::need_more) {
      EXPECT_EQ(end, cursor);
      return;
    }
    if (status == EventReader::Status::too_large) {
      if (events.empty() || events.back() != "!") events.emplace_back("!");
      return;
    }
    events.push_back(std::string(reader.name()) + "|" + std::string(reader.id()) + "|" +
                     std::string(reader.data()));
  }
}

// Reads the text whole, cut at each offset, and byte by byte; all must say the same.
Events read(std::string_view text) {
  Events whole;
  EventReader reader(size_max);
  read_piece(reader, text, whole);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Events parts;
    EventReader other(size_max);
    read_piece(other, text.substr(0, cut), parts);
    read_piece(other, text.substr(cut), parts);
    EXPECT_EQ(whole, parts) << "cut at " << cut;
  }
  Events bytes;
  EventReader slow(size_max);
  for (const char& c : text) read_piece(slow, {&c, 1}, bytes);
  EXPECT_EQ(whole, bytes);
  return whole;
}

std::string written(const Event& event) {
  std::string text(event_size(event), '?');
  if (text.empty()) return text;
  EXPECT_EQ(text.data() + text.size(), write_event(event, text.data()));
  return text;
}

TEST(Sse, EventsAreWrittenWithAFieldForEachLine) {
  EXPECT_EQ("data: x\n\n", written({.data = "x"}));
  EXPECT_EQ("data: \n\n", written({.data = ""}));
  EXPECT_EQ("event: a\nid: 7\ndata: x\n\n", written({.data = "x", .name = "a", .id = "7"}));
  EXPECT_EQ("data: a\ndata: b\ndata: c\ndata: d\n\n", written({.data = "a\nb\rc\r\nd"}));
  EXPECT_EQ("data: \ndata: \ndata: \n\n", written({.data = "\n\r"}));
  EXPECT_EQ("data: \ndata: \n\n", written({.data = "\r\n"}));
}

TEST(Sse, WhatWouldBeginAFieldOfItsOwnIsRefused) {
  for (const std::string_view bad : {"a\nb", "a\rb", "\n", "a\r\n"}) {
    EXPECT_EQ(0u, event_size({.data = "x", .name = bad}));
    EXPECT_EQ(0u, event_size({.data = "x", .id = bad}));
  }
  EXPECT_EQ(0u, event_size({.data = "x", .id = std::string_view("a\0b", 3)}));
  EXPECT_NE(0u, event_size({.data = "x", .name = std::string_view("a\0b", 3)}));
}

TEST(Sse, EachKindOfLineEndIsRead) {
  for (const std::string_view end : {"\n", "\r", "\r\n"}) {
    std::string text;
    for (const std::string_view line : {"data: a", "data:b", "", "event:n", "id: 1", "data", ""}) {
      text.append(line).append(end);
    }
    EXPECT_EQ((Events{"||a\nb", "n|1|"}), read(text));
  }
  EXPECT_EQ((Events{"||a", "||b"}), read("data: a\r\n\ndata: b\n\r\n"));
}

TEST(Sse, CommentsAndUnknownFieldsArePassedOver) {
  EXPECT_EQ((Events{"||x"}), read(":\n\n: hello\ndata: x\n:data: y\nother: z\ndatax: 1\n\n:\n\n"));
  EXPECT_EQ((Events{"||x"}), read(":" + std::string(5 * size_max, 'c') + "\ndata: x\n\n"));
}

TEST(Sse, AnEventNeedsDataAndAnEmptyLine) {
  EXPECT_EQ(Events{}, read("event: a\nid: 4\n\n"));
  EXPECT_EQ(Events{}, read("data: a\n"));
  EXPECT_EQ(Events{}, read("data: a"));
  EXPECT_EQ((Events{"|4|x"}), read("event: a\nid: 4\n\ndata: x\n\n"));
}

TEST(Sse, OneSpaceBehindTheColonIsNotPartOfTheValue) {
  EXPECT_EQ((Events{"||  x: y"}), read("data:   x: y\n\n"));
}

TEST(Sse, AByteOrderMarkIsIgnoredAtTheBeginningOnly) {
  EXPECT_EQ((Events{"||x"}), read("\xEF\xBB\xBF"
                                  "data: x\n\n\xEF\xBB\xBF"
                                  "data: y\n\n"));
}

TEST(Sse, AnIdStaysUntilAnotherOneAndAnIdWithNulIsIgnored) {
  const std::string text =
      std::string("id: 1\ndata: a\n\ndata: b\n\nid: x") + '\0' + "y\ndata: c\n\nid\ndata: d\n\n";
  EXPECT_EQ((Events{"|1|a", "|1|b", "|1|c", "||d"}), read(text));
}

TEST(Sse, RetryIsANumberOfDigits) {
  EventReader reader(size_max);
  Events events;
  EXPECT_EQ(-1, reader.retry_ms());
  read_piece(reader, "retry: 250\nretry: -1\nretry: 1x\nretry:\nretry: 99999999999999999999\n",
             events);
  EXPECT_EQ(250, reader.retry_ms());
}

TEST(Sse, TooLargeIsFinal) {
  const std::string most(size_max, 'x');
  // "data: " counts as part of the line.
  EXPECT_EQ((Events{"||" + most.substr(6)}), read("data: " + most.substr(6) + "\n\n"));
  EXPECT_EQ((Events{"!"}), read("data: " + most.substr(5) + "\n\ndata: y\n\n"));
  std::string lines;
  for (int i = 0; i < 10; ++i) lines += "data: " + most.substr(0, 99) + "\n";
  EXPECT_EQ(1u, read(lines + "\n").size());
  EXPECT_EQ((Events{"!"}), read(lines + "data: yy\n\n"));
}

TEST(Sse, RandomEventsComeBack) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto text_of = [&](std::size_t size, std::string_view alphabet) {
    std::string text;
    while (text.size() < size) text += alphabet[random() % alphabet.size()];
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    const std::string data = text_of(random() % 40, "ab: \n\r");
    const std::string name = text_of(random() % 3, "ab: ");
    const std::string id = text_of(random() % 3, "12: ");
    std::string plain;  // with LF for each line end
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] == '\n' && i > 0 && data[i - 1] == '\r') continue;
      plain += data[i] == '\r' ? '\n' : data[i];
    }
    EXPECT_EQ((Events{name + "|" + id + "|" + plain}),
              read(written({.data = data, .name = name, .id = id})))
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace ringrpc::http
