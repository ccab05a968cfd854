// Goal: a chunked body decodes to the same bytes and the same end for every split, and is refused
// at its first bad byte. Method: a table, each body whole, cut in two everywhere, and byte by byte.

#include "engine/http/chunks.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <random>
#include <string>
#include <vector>

namespace ringrpc::http::test {

using std::string_literals::operator""s;
using Status = ChunkDecoder::Status;

namespace {

struct Decoded {
  std::string body;
  int verdict = 1;           // 0: done; 1: needs more; else the HTTP status
  std::size_t consumed = 0;  // bytes up to the end or behind the bad byte
  bool operator==(const Decoded&) const = default;
};

// Feeds the parts one after the other.
Decoded decode(const std::vector<std::string>& parts) {
  ChunkDecoder decoder;
  Decoded decoded;
  for (const std::string& part : parts) {
    // A block of its own, so that a sanitizer sees reads beyond it.
    const std::vector<char> block(part.begin(), part.end());
    const char* cursor = block.data();
    const char* const end = cursor + block.size();
    std::string_view piece;
    Status status = Status::piece;
    while (status == Status::piece) {
      const char* const before = cursor;
      status = decoder.next(cursor, end, piece);
      decoded.consumed += static_cast<std::size_t>(cursor - before);
      if (status == Status::piece) decoded.body += piece;
    }
    if (status == Status::done) decoded.verdict = 0;
    if (status == Status::refused) decoded.verdict = decoder.http_status();
    if (status != Status::need_more) break;
    EXPECT_EQ(cursor, end);
  }
  return decoded;
}

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> parts;
  for (const char c : text) parts.emplace_back(1, c);
  return parts;
}

struct ChunkCase {
  std::string bytes;
  int verdict;
  std::string body;  // when good
};

const std::string tail = "\r\nhello\r\n0\r\n\r\n";

std::vector<ChunkCase> chunk_cases() {
  std::vector<ChunkCase> cases = {
      {"0\r\n\r\n", 0, ""},
      {"5\r\nhello\r\n0\r\n\r\n", 0, "hello"},
      {"05\r\nhello\r\n000\r\n\r\n", 0, "hello"},
      {"0000000000000005\r\nhello\r\n0\r\n\r\n", 0, "hello"},
      {"1\r\nh\r\n1\r\ne\r\n2\r\nll\r\n0001\r\no\r\n0\r\n\r\n", 0, "hello"},
      {"a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", 0, "01234567890123456789a"},
      {"2\r\n\r\n\r\n0\r\n\r\n", 0, "\r\n"},
      {"0\r\nContent-Length: 9\r\nHost: evil\r\nAuthorization: Bearer x\r\n\r\n", 0, ""},
      {"0\r\nX:\r\n\r\n", 0, ""},
      {"0;a\r\n\r\n", 0, ""},
      {"0;a=\"\"\r\nX: \t\x80\r\n\r\n", 0, ""},
      // F19: data that is longer or shorter than it says.
      {"5\r\nhelloXX0\r\n\r\n", 400, ""},
      {"5\r\nhello\n0\r\n\r\n", 400, ""},
      {"5\r\nhello0\r\n\r\n", 400, ""},
      {"5\r\nhello\r0\r\n\r\n", 400, ""},
      {"5\r\nAAAAAXXX\r\n0\r\n\r\n", 400, ""},
      {"5\r\nhello\r\n\r\n0\r\n\r\n", 400, ""},
      {"5\r\nhello\r\n5;\r\nhello\r\n0\r\n\r\n", 400, ""},
      {"5\r\nhello\r\n00000\r\n\r\n", 0, "hello"},
      {"5\r\nhello\r\n12345\n", 400, ""},
      // F21: trailers have the rules of header lines.
      {"0\r\nX : a\r\n\r\n", 400, ""},
      {"0\r\n a\r\n\r\n", 400, ""},
      {"0\r\n: a\r\n\r\n", 400, ""},
      {"0\r\nX\r\n\r\n", 400, ""},
      {"0\r\nX: a\n\r\n", 400, ""},
      {"0\r\nX: a\0\r\n\r\n"s, 400, ""},
      {"0\r\nX: a\r\r\n\r\n", 400, ""},
      {"0\r\n\n", 400, ""},
      {"0\r\n\rX", 400, ""},
      {"0\r\nX: a\r\n b\r\n\r\n", 400, ""},
  };
  for (const std::string& size :
       {"0x5"s, "+5"s, "-5"s, " 5"s, "5 "s, "5\t"s, "5_0"s, ""s, "g"s, "\r5"s, "5\n"s, "5\r5"s,
        "00000000000000005"s, "fffffffffffffffff"s, "5\0"s, "5h"s, "\x85"s, ";a"s, "5,5"s}) {
    cases.push_back({size + tail, 400, ""});
  }
  for (const std::string& extension :
       {";a"s, ";a=b"s, ";a=b;c;d=\"e f\""s, ";a=\"\\\"\\\\\""s, ";a=\";\x80\t\""s, ";!=#"s}) {
    cases.push_back({"5" + extension + tail, 0, "hello"});
  }
  for (const std::string& extension : {";"s,
                                       ";a="s,
                                       ";a=\0"s,
                                       ";a\nX"s,
                                       ";\rX"s,
                                       ";a b"s,
                                       "; a"s,
                                       " ;a"s,
                                       ";a =b"s,
                                       ";a= b"s,
                                       ";a=b "s,
                                       ";;a"s,
                                       ";a;"s,
                                       ";a=b=c"s,
                                       ";a=\"b"s,
                                       ";a=\"b\"c"s,
                                       ";a=b\"c\""s,
                                       ";a=\"\n\""s,
                                       ";a=\"\\\x01\""s,
                                       ";a=\"\x7f\""s,
                                       ";a=\"\r\n\""s,
                                       ";(=1"s,
                                       ";a=("
                                       ""s,
                                       ";\x80=1"s}) {
    cases.push_back({"5" + extension + tail, 400, ""});
  }
  return cases;
}

TEST(Chunks, EveryCaseHasItsVerdictForEverySplit) {
  for (const ChunkCase& c : chunk_cases()) {
    const Decoded whole = decode({c.bytes});
    EXPECT_EQ(whole.verdict, c.verdict) << c.bytes;
    if (c.verdict == 0) {
      EXPECT_EQ(whole.body, c.body) << c.bytes;
      EXPECT_EQ(whole.consumed, c.bytes.size()) << c.bytes;
      EXPECT_EQ(decode({c.bytes + "GET / HTTP/1.1"}), whole) << c.bytes;
    }
    EXPECT_EQ(decode(bytes_of(c.bytes)), whole) << c.bytes;
    for (std::size_t cut = 0; cut <= c.bytes.size(); ++cut) {
      EXPECT_EQ(decode({c.bytes.substr(0, cut), c.bytes.substr(cut)}), whole) << c.bytes << cut;
      if (c.verdict != 0 && cut < whole.consumed) {
        EXPECT_EQ(decode({c.bytes.substr(0, cut)}).verdict, 1) << c.bytes << cut;
      }
    }
  }
}

TEST(Chunks, ExtensionsOfAllChunksShareOneLimit) {
  const std::uint32_t max = limits::chunk_extension_size_max;
  for (const std::uint32_t size : {max - 1, max, max + 1}) {
    const std::string one = "5;" + std::string(size - 1, 'a') + tail;
    EXPECT_EQ(decode({one}).verdict, size <= max ? 0 : 400) << size;
    EXPECT_EQ(decode(bytes_of(one)).verdict, size <= max ? 0 : 400) << size;
    std::string many;
    for (std::uint32_t i = 0; i < size / 2; ++i) many += "1;a\r\nx\r\n";
    many += size % 2 == 0 ? "0\r\n\r\n" : "0;\r\n\r\n";
    EXPECT_EQ(decode({many}).verdict, size % 2 == 0 && size <= max ? 0 : 400) << size;
  }
  EXPECT_EQ(decode({"5;" + std::string(64 << 10, 'a') + tail}).verdict, 400);
  std::string chunks;
  for (int i = 0; i < 10'000; ++i) chunks += "1;a=b\r\nx\r\n";
  EXPECT_EQ(decode({chunks + "0\r\n\r\n"}).verdict, 400);
}

TEST(Chunks, TrailersHaveLimitsOfSizeAndCount) {
  const std::uint32_t max = limits::trailer_size_max;
  for (const std::uint32_t size : {max - 1, max, max + 1}) {
    // "X:" + value + CR LF + CR LF
    const std::string one = "0\r\nX:" + std::string(size - 6, 'a') + "\r\n\r\n";
    EXPECT_EQ(decode({one}).verdict, size <= max ? 0 : 431) << size;
    EXPECT_EQ(decode(bytes_of(one)).verdict, size <= max ? 0 : 431) << size;
  }
  const std::uint32_t fields = limits::head_fields_max;
  for (const std::uint32_t count : {fields - 1, fields, fields + 1}) {
    std::string many = "0\r\n";
    for (std::uint32_t i = 0; i < count; ++i) many += "X: a\r\n";
    EXPECT_EQ(decode({many + "\r\n"}).verdict, count <= fields ? 0 : 431) << count;
  }
}

TEST(Chunks, TheLargestSizeIsReadWhole) {
  ChunkDecoder decoder;
  const std::string bytes = "ffffffffffffffff\r\nx";
  const char* cursor = bytes.data();
  std::string_view piece;
  EXPECT_EQ(decoder.next(cursor, bytes.data() + bytes.size(), piece), Status::piece);
  EXPECT_EQ(piece, "x");
  EXPECT_EQ(decoder.remaining(), UINT64_MAX - 1);
}

TEST(Chunks, AnAnnouncedChunkIsKnownBeforeItComes) {
  ChunkDecoder decoder;
  const std::string bytes = "80000000\r\n";
  const char* cursor = bytes.data();
  std::string_view piece;
  EXPECT_EQ(decoder.next(cursor, bytes.data() + bytes.size(), piece), Status::need_more);
  EXPECT_EQ(decoder.remaining(), 0x80000000u);
}

TEST(Chunks, TheEndIsFinal) {
  for (const std::string& bytes : {"0\r\n\r\n"s, "x"s}) {
    ChunkDecoder decoder;
    const char* cursor = bytes.data();
    std::string_view piece;
    const Status status = decoder.next(cursor, bytes.data() + bytes.size(), piece);
    const std::string more = "5\r\nhello\r\n";
    cursor = more.data();
    EXPECT_EQ(decoder.next(cursor, more.data() + more.size(), piece), status);
    EXPECT_EQ(cursor, more.data());
  }
}

TEST(Chunks, AMegabyteInOneByteChunksDecodes) {
  std::string bytes;
  for (int i = 0; i < 1 << 20; ++i) bytes += "1\r\nx\r\n";
  bytes += "0\r\n\r\n";
  const Decoded decoded = decode({bytes});
  EXPECT_EQ(decoded.verdict, 0);
  EXPECT_EQ(decoded.body, std::string(1 << 20, 'x'));
}

TEST(Chunks, RandomBodiesDecodeForRandomSplits) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    std::string body;
    std::string bytes;
    for (std::uint64_t chunks = random() % 6; chunks > 0; --chunks) {
      std::string data(1 + random() % (random() % 8 == 0 ? 5'000 : 20), '\0');
      for (char& c : data) c = "\r\n0;a5"[random() % 6];
      char size[40];
      const char* const form = random() % 2 == 0 ? "%zx%s\r\n" : "%05zX%s\r\n";
      std::snprintf(size, sizeof size, form, data.size(), random() % 4 == 0 ? ";a=\"\\\"\"" : "");
      bytes += size + data + "\r\n";
      body += data;
    }
    bytes += random() % 2 == 0 ? "0\r\n\r\n" : "00\r\nX: a\r\n\r\n";
    const bool broken = random() % 3 == 0;
    if (broken) bytes[random() % bytes.size()] = "\r\n;0\t"[random() % 5];
    const Decoded whole = decode({bytes});
    if (!broken) {
      ASSERT_EQ(whole.verdict, 0) << bytes;
      ASSERT_EQ(whole.body, body) << bytes;
    }
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % (random() % 2 == 0 ? 3 : 100);
      parts.push_back(bytes.substr(at, size));
      at += size;
    }
    ASSERT_EQ(decode(parts), whole) << bytes;
  }
}

}  // namespace

}  // namespace ringrpc::http::test
