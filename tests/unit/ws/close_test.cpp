// Goal: close payloads are taken and refused as RFC 6455, 5.5.1 and 7.4 say.
// Method: every code, and a table of payloads.

#include "engine/ws/close.h"

#include <gtest/gtest.h>

#include <string>

namespace ringrpc::ws::test {
namespace {

std::string payload_of(std::uint16_t code, std::string_view reason = {}) {
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  return payload += reason;
}

TEST(Close, CarriesNothingOrACodeAndAReason) {
  Close close;
  EXPECT_EQ(read_close("", close), 0);
  EXPECT_EQ(close.code, close_code::none);
  const std::string normal = payload_of(1000);
  EXPECT_EQ(read_close(normal, close), 0);
  EXPECT_EQ(close.code, 1000);
  EXPECT_EQ(close.reason, "");
  const std::string payload = payload_of(4999, "caf\xc3\xa9");  // the reason points into it
  EXPECT_EQ(read_close(payload, close), 0);
  EXPECT_EQ(close.code, 4999);
  EXPECT_EQ(close.reason, "caf\xc3\xa9");
}

TEST(Close, WithHalfACodeIsRefused) {
  Close close;
  EXPECT_EQ(read_close("\x03", close), close_code::protocol_error);
}

TEST(Close, HasOnlyCodesThatMayBeSent) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const bool good = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                      (code >= 3000 && code <= 4999);
    Close close;
    const std::uint16_t refusal = good ? 0 : close_code::protocol_error;
    ASSERT_EQ(read_close(payload_of(static_cast<std::uint16_t>(code)), close), refusal) << code;
    ASSERT_EQ(may_be_sent(static_cast<std::uint16_t>(code)), good) << code;
  }
}

TEST(Close, HasAReasonInUtf8) {
  Close close;
  EXPECT_EQ(read_close(payload_of(1000, "\xff"), close), close_code::bad_text);
  EXPECT_EQ(read_close(payload_of(1000, "cut \xe2\x82"), close), close_code::bad_text);
  EXPECT_EQ(read_close(payload_of(999, "\xff"), close), close_code::protocol_error);
}

TEST(Close, IsWrittenAsItIsRead) {
  for (const std::size_t size : {0u, 1u, 100u, close_reason_size_max}) {
    char bytes[2 + control_size_max];
    const std::string reason(size, 'r');
    const std::uint32_t written = write_close(bytes, 1008, reason);
    EXPECT_EQ(written, 4 + size);
    FrameHeader header;
    const HeaderResult result = read_header(bytes, bytes + written, Side::client, false, header);
    EXPECT_EQ(result.status, HeaderStatus::complete);
    EXPECT_EQ(header.opcode, Opcode::close);
    EXPECT_TRUE(header.final);
    Close close;
    EXPECT_EQ(read_close({bytes + header.size, written - header.size}, close), 0);
    EXPECT_EQ(close.code, 1008);
    EXPECT_EQ(close.reason, reason);
  }
}

}  // namespace
}  // namespace ringrpc::ws::test
