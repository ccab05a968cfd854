// Goal: a header is taken exactly as RFC 6455, 5.2 says, refused at its first impossible byte, and
// read back as it was written. Method: all first and second bytes; lengths around their borders;
// each header at every size.

#include "engine/ws/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace ringrpc::ws::test {
namespace {

using std::string_literals::operator""s;

HeaderResult read(const std::string& bytes, Side reader, bool in_message, FrameHeader& out) {
  const std::vector<char> block(bytes.begin(), bytes.end());  // A sanitizer sees what is beyond.
  return read_header(block.data(), block.data() + block.size(), reader, in_message, out);
}

HeaderResult read(const std::string& bytes, Side reader = Side::server, bool in_message = false) {
  FrameHeader header;
  return read(bytes, reader, in_message, header);
}

constexpr HeaderResult incomplete{HeaderStatus::incomplete, 0};
constexpr HeaderResult protocol_error{HeaderStatus::refused, close_code::protocol_error};
constexpr HeaderResult unsupported{HeaderStatus::refused, close_code::unsupported_data};

TEST(FrameHeader, HasOnlyFirstBytesThatMayBe) {
  for (int first = 0; first < 256; ++first) {
    for (const bool in_message : {false, true}) {
      const int opcode = first & 15;
      const bool final = first >= 128;
      bool good = (first & 0x70) == 0;
      if (opcode > 10 || (opcode > 2 && opcode < 8)) good = false;
      if (opcode >= 8 && !final) good = false;
      if (opcode < 8 && (opcode == 0) != in_message) good = false;
      const HeaderResult result =
          read(std::string(1, static_cast<char>(first)), Side::server, in_message);
      if (!good) {
        EXPECT_EQ(result, protocol_error) << first << in_message;
      } else {
        EXPECT_EQ(result, opcode == 2 ? unsupported : incomplete) << first << in_message;
      }
    }
  }
}

TEST(FrameHeader, IsMaskedByClientsAndByNoServer) {
  EXPECT_EQ(read("\x81\x05"s), protocol_error);
  EXPECT_EQ(read("\x81\x85"s), incomplete);
  EXPECT_EQ(read("\x81\x85"s, Side::client), protocol_error);
  EXPECT_EQ(read("\x81\x05"s, Side::client).status, HeaderStatus::complete);
}

TEST(FrameHeader, OfAControlFrameHasAShortLength) {
  for (const char* first : {"\x88", "\x89", "\x8a"}) {
    EXPECT_EQ(read(first + "\xfd"s), incomplete);
    EXPECT_EQ(read(first + "\xfe"s), protocol_error);
    EXPECT_EQ(read(first + "\xff"s), protocol_error);
  }
}

TEST(FrameHeader, HasTheShortestLength) {
  EXPECT_EQ(read("\x81\xfe\x00"s), incomplete);
  EXPECT_EQ(read("\x81\xfe\x00\x7d"s), protocol_error);
  EXPECT_EQ(read("\x81\xfe\x00\x7e"s), incomplete);
  EXPECT_EQ(read("\x81\xff\x80"s), protocol_error);
  EXPECT_EQ(read("\x81\xff\x7f"s), incomplete);
  EXPECT_EQ(read("\x81\xff\0\0\0\0\0"s), incomplete);
  EXPECT_EQ(read("\x81\xff\0\0\0\0\0\0"s), protocol_error);
  EXPECT_EQ(read("\x81\xff\0\0\0\0\0\1\0\0"s), incomplete);
}

TEST(FrameHeader, IsReadAsItIsWrittenAndNotSooner) {
  const std::uint64_t lengths[] = {0,      1,       125,        126,         127,
                                   0xFFFF, 0x10000, 0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF};
  for (const std::uint64_t length : lengths) {
    for (const bool masked : {false, true}) {
      for (const bool final : {false, true}) {
        char bytes[header_size_max];
        const std::uint32_t size =
            masked ? write_masked_header(bytes, Opcode::text, final, length, 0x04030201)
                   : write_header(bytes, Opcode::text, final, length);
        ASSERT_EQ(size, header_size(length, masked));
        const Side reader = masked ? Side::server : Side::client;
        for (std::uint32_t cut = 0; cut < size; ++cut) {
          EXPECT_EQ(read({bytes, cut}, reader), incomplete) << length << " " << cut;
        }
        FrameHeader header;
        EXPECT_EQ(read({bytes, size}, reader, false, header).status, HeaderStatus::complete);
        EXPECT_EQ(header.length, length);
        EXPECT_EQ(header.size, size);
        EXPECT_EQ(header.final, final);
        EXPECT_EQ(header.opcode, Opcode::text);
        EXPECT_EQ(header.key, masked ? 0x04030201u : 0u);
      }
    }
  }
}

TEST(FrameHeader, IsTheBytesOfTheStandardsExamples) {
  char bytes[header_size_max];
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::text, true, 5)), "\x81\x05");
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::text, false, 3)), "\x01\x03");
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::continuation, true, 2)), "\x80\x02");
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::pong, true, 5)), "\x8a\x05");
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::binary, true, 256)),
            "\x82\x7e\x01\x00"s);
  EXPECT_EQ(std::string(bytes, write_header(bytes, Opcode::binary, true, 65536)),
            "\x82\x7f\0\0\0\0\0\1\0\0"s);
  std::uint32_t key;
  std::memcpy(&key, "\x37\xfa\x21\x3d", 4);
  EXPECT_EQ(std::string(bytes, write_masked_header(bytes, Opcode::text, true, 5, key)),
            "\x81\x85\x37\xfa\x21\x3d");
}

}  // namespace
}  // namespace ringrpc::ws::test
