// Goal: heads are right to the byte, with every length and every status that the engine sends.

#include "engine/http/response.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace ringrpc::http::test {

namespace {

constexpr std::int64_t sunday = 784'111'777;  // the date of RFC 9110, 5.6.7
const std::string date_lines =
    "X-Content-Type-Options: nosniff\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

std::string written(const ResponseHead& head) {
  Heads heads;
  heads.set_time(sunday);
  std::string out(Heads::size_max + 256, '#');
  const std::uint32_t size = heads.write(out.data(), static_cast<std::uint32_t>(out.size()), head);
  EXPECT_EQ(out.find_first_not_of('#', size), out.npos);
  return out.substr(0, size);
}

TEST(Heads, TheFrequentHeadIsRightToTheByte) {
  Heads heads;
  heads.set_time(sunday);
  std::string out(Heads::ok_size, '#');
  heads.write_ok(out.data());
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + date_lines +
                     "Content-Length:          \r\n\r\n");
  Heads::patch_length(out.data() + out.size(), 62);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + date_lines +
                     "Content-Length:        62\r\n\r\n");
  EXPECT_EQ(out, written({.length = 62}));
}

TEST(Heads, EveryLengthIsRightAlignedInItsField) {
  Heads heads;
  std::string out(Heads::ok_size, '#');
  heads.write_ok(out.data());
  const std::string start = out.substr(0, out.size() - 13);
  std::vector<std::uint32_t> lengths = {0, 9, 999'999'999, limits::reply_size_max_max, 7};
  for (std::uint32_t power = 10; power <= 100'000'000; power *= 10) {
    lengths.insert(lengths.end(), {power - 1, power, power + 1});
  }
  for (const std::uint32_t length : lengths) {
    Heads::patch_length(out.data() + out.size(), length);
    const std::string digits = std::to_string(length);
    EXPECT_EQ(out, start + std::string(9 - digits.size(), ' ') + digits + "\r\n\r\n");
  }
}

TEST(HeadsDeathTest, ALengthOverNineDigitsIsOurBug) {
  Heads heads;
  std::string out(Heads::ok_size, '#');
  heads.write_ok(out.data());
  EXPECT_DEATH(Heads::patch_length(out.data() + out.size(), 1'000'000'000), "length");
}

TEST(Heads, ContinueIsOneLine) {
  EXPECT_EQ(written({.status = 100}), "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST(Heads, NoContentHasNeitherLengthNorType) {
  EXPECT_EQ(written({.status = 204}), "HTTP/1.1 204 No Content\r\n" + date_lines + "\r\n");
  EXPECT_EQ(written({.status = 204, .allow = "POST, OPTIONS"}),
            "HTTP/1.1 204 No Content\r\n" + date_lines + "Allow: POST, OPTIONS\r\n\r\n");
}

TEST(Heads, AcceptedWithoutBodyHasLengthZero) {
  EXPECT_EQ(written({.status = 202, .content_type = {}}),
            "HTTP/1.1 202 Accepted\r\n" + date_lines + "Content-Length:         0\r\n\r\n");
}

TEST(Heads, AllFieldsStandInTheirOrder) {
  EXPECT_EQ(written({.status = 503,
                     .content_type = media_metrics,
                     .length = 123'456'789,
                     .close = true,
                     .keep_alive = true,
                     .retry_after_s = 4'294'967'295,
                     .allow = "GET",
                     .authenticate = "Bearer",
                     .more_fields = "Upgrade: websocket\r\n"}),
            "HTTP/1.1 503 Service Unavailable\r\n"
            "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n" +
                date_lines +
                "Allow: GET\r\nWWW-Authenticate: Bearer\r\nRetry-After: 4294967295\r\n"
                "Upgrade: websocket\r\nConnection: close\r\nContent-Length: 123456789\r\n\r\n");
}

TEST(Heads, KeepAliveIsEchoedUnlessWeClose) {
  EXPECT_EQ(written({.length = 1, .keep_alive = true}),
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + date_lines +
                "Connection: keep-alive\r\nContent-Length:         1\r\n\r\n");
}

TEST(Heads, EveryStatusHasItsReason) {
  const std::vector<std::uint16_t> statuses = {100, 101, 200, 202, 204, 304, 400, 401,
                                               403, 404, 405, 406, 408, 413, 414, 415,
                                               417, 426, 429, 431, 500, 501, 503, 505};
  for (const std::uint16_t status : statuses) {
    const std::string line = "HTTP/1.1 " + std::to_string(status) + " ";
    const std::string head = written({.status = status, .close = true});
    EXPECT_TRUE(head.starts_with(line)) << head;
    EXPECT_FALSE(head.starts_with(line + "Unknown")) << head;
    EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
    EXPECT_LE(head.size(), Heads::size_max) << head;
  }
}

TEST(Heads, WhatDoesNotFitIsNotWritten) {
  Heads heads;
  const ResponseHead head = {.status = 404, .length = 5, .close = true};
  const std::string whole = [&heads, &head] {
    std::string out(Heads::size_max, '#');
    return out.substr(0, heads.write(out.data(), Heads::size_max, head));
  }();
  for (std::uint32_t capacity = 0; capacity <= whole.size(); ++capacity) {
    std::string out(whole.size() + 1, '#');
    const std::uint32_t size = heads.write(out.data(), capacity, head);
    EXPECT_EQ(size, capacity < whole.size() ? 0 : whole.size());
    EXPECT_EQ(out.find_last_not_of('#') + 1 <= capacity, true) << capacity;
  }
}

TEST(Heads, DatesAreThoseOfTheCLibrary) {
  Heads heads;
  std::vector<std::int64_t> times = {
      0,           1,           68'169'599, 68'169'600,    951'782'399,    951'782'400,
      951'868'799, 951'868'800, sunday,     4'107'542'400, 253'402'300'799};
  for (std::int64_t t = 0; t < 253'402'300'800; t += 86'400 * 97 + 12'345) times.push_back(t);
  for (const std::int64_t t : times) {
    const std::time_t time = t;
    std::tm parts{};
    gmtime_r(&time, &parts);
    char expected[64];
    std::strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    heads.set_time(t);
    ASSERT_EQ(heads.date(), expected) << t;
  }
  heads.set_time(-5);
  EXPECT_EQ(heads.date(), "Thu, 01 Jan 1970 00:00:00 GMT");
  heads.set_time(INT64_MAX);
  EXPECT_EQ(heads.date(), "Fri, 31 Dec 9999 23:59:59 GMT");
}

}  // namespace

}  // namespace ringrpc::http::test
