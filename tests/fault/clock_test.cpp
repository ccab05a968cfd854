// Goal: a wall clock that is set changes the Date of replies and nothing else; a monotonic clock
//       that jumps ahead ends who has been idle for so long by it, and nobody else.
// Method: this program's own clock_gettime stands in front of the C library's. The machine's clocks
//       are left alone.

#include <gtest/gtest.h>
#include <ringrpc/server.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <string>

#include "tests/fault/child.h"
#include "tests/support/io_uring.h"

namespace {

// Seconds that are added to what the machine says.
std::atomic<std::int64_t> wall_ahead_s{0};
std::atomic<std::int64_t> monotonic_ahead_s{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
    time->tv_sec += wall_ahead_s.load();
  if (clock == CLOCK_MONOTONIC) time->tv_sec += monotonic_ahead_s.load();
  return 0;
}

namespace ringrpc::testing {
namespace {

constexpr std::int64_t year_s = 31'556'952;
constexpr const char* idle_hits = "ringrpc_limit_hits_total{limit=\"idle_timeout\"}";

class Clock : public ::testing::TestWithParam<IoChoice> {
 protected:
  ~Clock() override { wall_ahead_s = monotonic_ahead_s = 0; }
};

std::string date_of(const std::string& response) {
  const std::size_t at = response.find("Date: ");
  return at == response.npos ? response : response.substr(at + 6, 29);
}

std::string this_year() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  return std::to_string(parts.tm_year + 1900);
}

std::string name_of(const ::testing::TestParamInfo<IoChoice>& info) {
  return info.param == IoChoice::uring ? "uring" : "epoll";
}

}  // namespace

TEST_P(Clock, AWallClockThatIsSetChangesTheDateAndNothingElse) {
  Server server(Child::options(GetParam()));
  server.method("null", [](Call&) {});
  RINGRPC_STARTED(server.start(), GetParam(), server.error());
  Socket idle(server.port());
  Socket peer(server.port());
  call_over(idle, "null");
  for (const std::int64_t years : {0, -3, 9, -30, 60, 0}) {
    wall_ahead_s = years * year_s;
    const std::string year = this_year();
    // The clock is read again some milliseconds later.
    std::string date;
    for (std::uint32_t asked = 0; date.find(year) == date.npos; ++asked) {
      ASSERT_LT(asked, 1'000'000u) << date << " is not " << year;
      date = date_of(call_over(peer, "null"));
    }
  }
  EXPECT_NE(call_over(idle, "null").find("\"result\":null"), std::string::npos);
  EXPECT_EQ(metric(server, idle_hits), 0u);
  EXPECT_EQ(metric(server, "ringrpc_connections"), 2u);
  EXPECT_EQ(server.stop(), 0);
}

TEST_P(Clock, AMonotonicClockThatJumpsAheadEndsWhoIsIdle) {
  Server server(Child::options(GetParam()));
  server.method("null", [](Call&) {});
  // The clock jumps while its caller is answered, so that nobody can say that this one is idle: the
  // turn that sees the jump is the one in which the kernel has taken the answer.
  server.method("an_hour", [](Call&) { monotonic_ahead_s += 3'600; });
  server.method("a_month", [](Call&) { monotonic_ahead_s += 30 * 86'400; });
  RINGRPC_STARTED(server.start(), GetParam(), server.error());
  Socket idle[2] = {Socket(server.port()), Socket(server.port())};
  for (Socket& one : idle) call_over(one, "null");
  Socket peer(server.port());
  for (const char* jump : {"an_hour", "a_month"}) {
    EXPECT_NE(call_over(peer, jump).find("\"result\":null"), std::string::npos) << jump;
    EXPECT_NE(call_over(peer, "null").find("\"result\":null"), std::string::npos) << jump;
  }
  for (Socket& one : idle) EXPECT_EQ(one.read_all(), "");
  EXPECT_TRUE(wait_for(server, idle_hits, 2));
  EXPECT_NE(call_over(peer, "null").find("\"result\":null"), std::string::npos);
  Socket next(server.port());
  EXPECT_NE(call_over(next, "null").find("\"result\":null"), std::string::npos);
  EXPECT_EQ(server.stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, Clock, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         name_of);

}  // namespace ringrpc::testing
