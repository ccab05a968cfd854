// Goal: the response reader takes what servers send, wherever it is cut, and refuses what two
// readers could read differently; it says where a response that ends too early ends.
// Method: texts with what they hold, whole, cut at every offset, byte by byte, and ended at every
// offset.

#include <gtest/gtest.h>
#include <ringrpc/limits_client.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/client/http_response.h"

namespace ringrpc::client {
namespace {

struct Read {
  std::string body;
  std::string rest;  // behind the response
  std::string sentence;
  int status = 0;
  bool keep_alive = false;
  bool event_stream = false;
  bool done = false;

  bool operator==(const Read&) const = default;
};

// Reads the parts one after the other, then the end if it is to end.
Read read_parts(const std::vector<std::string_view>& parts, bool ends) {
  Read read;
  ResponseReader reader;
  ResponseReader::Status status = ResponseReader::Status::need_more;
  for (const std::string_view part : parts) {
    const std::string copy(part);
    const char* cursor = copy.data();
    const char* const end = cursor + copy.size();
    std::string_view piece;
    do {
      status = reader.next(cursor, end, piece);
      if (status == ResponseReader::Status::piece) read.body += piece;
    } while (status == ResponseReader::Status::piece || status == ResponseReader::Status::head);
    read.rest.append(cursor, end);
    EXPECT_TRUE(status != ResponseReader::Status::need_more || read.rest.empty());
  }
  if (status == ResponseReader::Status::need_more && ends) status = reader.finish();
  read.done = status == ResponseReader::Status::done;
  if (status == ResponseReader::Status::failed) {
    read.sentence = reader.sentence();
    read.rest.clear();
    return read;
  }
  read.status = reader.head().status;
  read.keep_alive = reader.head().keep_alive;
  read.event_stream = reader.head().event_stream;
  return read;
}

// All cuts must say the same as the whole.
Read read(std::string_view text, bool ends = true) {
  const Read whole = read_parts({text}, ends);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const Read parts = read_parts({text.substr(0, cut), text.substr(cut)}, ends);
    EXPECT_EQ(whole.body, parts.body) << cut;
    EXPECT_EQ(whole.sentence, parts.sentence) << cut;
    EXPECT_EQ(whole.rest, parts.rest) << cut;
    EXPECT_TRUE(whole == parts) << cut;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
  EXPECT_TRUE(whole == read_parts(bytes, ends)) << text;
  return whole;
}

const std::string ok = "HTTP/1.1 200 OK\r\n";

TEST(Response, ALengthEndsTheBodyAndTheConnectionStays) {
  const Read whole = read(ok + "Content-Length: 3\r\n\r\nabcHTTP", false);
  EXPECT_EQ("abc", whole.body);
  EXPECT_EQ("HTTP", whole.rest);
  EXPECT_EQ(200, whole.status);
  EXPECT_TRUE(whole.done && whole.keep_alive && !whole.event_stream);
}

TEST(Response, ChunksArePutTogether) {
  const Read whole =
      read(ok + "Transfer-Encoding: Chunked\r\n\r\n1;x=y\r\na\r\n0b\r\nbcdefghijkl\r\n0\r\nT: "
                "x\r\n\r\nrest",
           false);
  EXPECT_EQ("abcdefghijkl", whole.body);
  EXPECT_EQ("rest", whole.rest);
  EXPECT_TRUE(whole.done && whole.keep_alive);
}

TEST(Response, WithoutALengthTheEndIsTheEnd) {
  const Read whole = read(ok + "\r\nabc");
  EXPECT_EQ("abc", whole.body);
  EXPECT_TRUE(whole.done && !whole.keep_alive);
  EXPECT_FALSE(read(ok + "\r\nabc", false).done);
}

TEST(Response, SomeStatusesHaveNoBody) {
  for (const std::string_view status : {"204 No Content", "304 Not Modified"}) {
    const Read whole =
        read("HTTP/1.1 " + std::string(status) + "\r\nContent-Length: 5\r\n\r\nHTTP/", false);
    EXPECT_EQ("", whole.body);
    EXPECT_EQ("HTTP/", whole.rest);
    EXPECT_TRUE(whole.done && whole.keep_alive);
  }
}

TEST(Response, InterimResponsesArePassedOver) {
  std::string text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
  text += ok + "Content-Length: 1\r\n\r\nx";
  EXPECT_EQ("x", read(text, false).body);
  std::string many;
  for (unsigned i = 0; i < limits::interim_responses_max; ++i) many += "HTTP/1.1 100 x\r\n\r\n";
  EXPECT_TRUE(read_parts({many + ok + "Content-Length: 0\r\n\r\n"}, false).done);
  EXPECT_EQ("too many interim responses",
            read_parts({many + "HTTP/1.1 100 x\r\n\r\n"}, false).sentence);
}

TEST(Response, WhatDiffersWithoutHarmIsTaken) {
  for (const std::string_view text :
       {"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 200 \r\nContent-Length:1\r\n\r\nx",
        "HTTP/1.1 200 \xE9\r\nContent-Length:\t1 \r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 0001\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nX: a\r\n folded: b\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: "
        "9\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.9 200 OK\r\ncontent-length: 1\r\n\r\nx"}) {
    const Read whole = read(text, false);
    EXPECT_TRUE(whole.done) << text << whole.sentence;
    EXPECT_EQ("x", whole.body) << text;
  }
}

TEST(Response, WhatCanBeReadTwoWaysIsRefused) {
  for (const std::string_view text :
       {"SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.x 200 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n\r\n",
        "HTTP/1.1 2000\r\n\r\n",
        "HTTP/1.1 099 x\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\nX: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\rZ: a\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nnone\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"}) {
    const Read whole = read(text, false);
    EXPECT_NE("", whole.sentence) << text;
    EXPECT_FALSE(whole.done);
  }
  EXPECT_NE("", read(std::string("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", 26), false).sentence);
}

TEST(Response, EachWayOfEndingTheConnectionIsSeen) {
  const std::string length = "Content-Length: 0\r\n";
  EXPECT_TRUE(read(ok + length + "\r\n").keep_alive);
  EXPECT_FALSE(read(ok + length + "Connection: x, Close\r\n\r\n").keep_alive);
  EXPECT_FALSE(read("HTTP/1.0 200 OK\r\n" + length + "\r\n").keep_alive);
  EXPECT_TRUE(read("HTTP/1.0 200 OK\r\n" + length + "Connection: Keep-Alive\r\n\r\n").keep_alive);
  EXPECT_FALSE(read(ok + length + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").keep_alive);
}

TEST(Response, AnEventStreamIsToldByItsType) {
  for (const std::string_view type : {"text/event-stream", "Text/Event-Stream ; charset=utf-8"}) {
    EXPECT_TRUE(read(ok + "Content-Type: " + std::string(type) + "\r\n\r\n").event_stream);
  }
  EXPECT_FALSE(read(ok + "Content-Type: text/event-streams\r\n\r\n").event_stream);
}

TEST(Response, AnEndAtAnyByteIsSaidToBeOne) {
  for (const std::string& text : {ok + "Content-Length: 3\r\n\r\nabc",
                                  ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"}) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      const Read part = read_parts({std::string_view(text).substr(0, size)}, true);
      EXPECT_FALSE(part.done) << size;
      const std::string_view expected =
          size == 0                          ? "the server closed the connection without a response"
          : size < text.find("\r\n\r\n") + 4 ? "the response ends inside its head"
                                             : "the response ends inside its body";
      EXPECT_EQ(expected, part.sentence) << size;
    }
  }
}

TEST(Response, AHeadHasALimit) {
  const std::string before = ok + "Content-Length: 0\r\nX: ";
  for (const std::size_t size :
       {limits::response_head_size_max - 1, limits::response_head_size_max}) {
    const std::string text = before + std::string(size - before.size() - 4, 'x') + "\r\n\r\n";
    EXPECT_TRUE(read_parts({text}, false).done) << size;
    EXPECT_TRUE(read_parts({text.substr(0, 1000), text.substr(1000)}, false).done) << size;
  }
  const std::string text =
      before + std::string(limits::response_head_size_max + 1 - before.size() - 4, 'x') +
      "\r\n\r\n";
  EXPECT_EQ("the response's head is too large", read_parts({text}, false).sentence);
  EXPECT_EQ("the response's head is too large",
            read_parts({before, std::string(limits::response_head_size_max, 'x')}, false).sentence);
}

TEST(Response, FieldsAreFoundByName) {
  ResponseHead head;
  head.text = "HTTP/1.1 429 Too Many\r\nretry-After:  7 \r\nX: a:b\r\nX: c\r\n";
  EXPECT_EQ("7", head.field("Retry-After"));
  EXPECT_EQ("a:b", head.field("x"));
  EXPECT_EQ("", head.field("y"));
  EXPECT_EQ("HTTP/1.1 429 Too Many", head.status_line());
  EXPECT_EQ("", ResponseHead().field("x"));
}

}  // namespace
}  // namespace ringrpc::client
