// Goal: what is tried again is what the server did not run, as often and as late as is said.
// Method: each way that a try can end, against the table; the waits against their bounds.

#include "engine/client/retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace ringrpc::client {
namespace {

using Verdict = Retries::Verdict;

// How many further tries a call gets that always ends like this.
unsigned tries_of(const TryEnd& end, unsigned most, bool idempotent = false) {
  Retries retries;
  Backoff backoff;
  retries.start(most, idempotent);
  unsigned count = 0;
  while (retries.judge(end, {}, backoff) == Verdict::again) ++count;
  EXPECT_EQ(count, retries.done());
  return count;
}

TEST(Retry, RefusalsAreTriedAgainAndAnswersStand) {
  for (const int status : {429, 503}) EXPECT_EQ(3u, tries_of({.http_status = status}, 3));
  for (const int code : {-31001, -31002}) EXPECT_EQ(3u, tries_of({.code = code}, 3));
  for (const int code : {0, -32602, -32601, -32600, -32700, -31003, -31004, -31006, -31007, 1001}) {
    EXPECT_EQ(0u, tries_of({.http_status = 200, .code = code}, 3)) << code;
  }
  for (const int status : {200, 204, 400, 404, 408, 500, 502, 504}) {
    EXPECT_EQ(0u, tries_of({.http_status = status}, 3)) << status;
  }
  EXPECT_EQ(0u, tries_of({.http_status = 503}, 0));
}

TEST(Retry, ADefectIsTriedAgainOnce) {
  EXPECT_EQ(1u, tries_of({.code = -32603}, 5));
  EXPECT_EQ(0u, tries_of({.code = -32603}, 0));
  // A server that says both is busy.
  EXPECT_EQ(5u, tries_of({.http_status = 503, .code = -32603}, 5));
}

TEST(Retry, ALostCallIsTriedAgainOnlyIfItCannotHaveRunOrMayRunTwice) {
  const TryEnd unreachable{.failure = FailureKind::unreachable};
  EXPECT_EQ(2u, tries_of(unreachable, 2));
  const TryEnd lost{.failure = FailureKind::disconnected, .may_have_run = true};
  EXPECT_EQ(0u, tries_of(lost, 2));
  EXPECT_EQ(2u, tries_of(lost, 2, true));
  EXPECT_EQ(2u, tries_of({.failure = FailureKind::disconnected}, 2));
  for (const FailureKind kind : {FailureKind::timed_out, FailureKind::cancelled,
                                 FailureKind::bad_reply, FailureKind::too_large}) {
    EXPECT_EQ(0u, tries_of({.failure = kind}, 2, true));
  }
}

TEST(Retry, TheServersWaitIsTheLeastAndTooLongAOneEndsIt) {
  Retries retries;
  Backoff backoff;
  retries.start(9, false);
  const ClientOptions options;
  ASSERT_EQ(Verdict::again,
            retries.judge({.http_status = 503, .retry_after = "7", .data_wait_ms = 10}, options,
                          backoff));
  EXPECT_EQ(7000, retries.wait_ms());
  ASSERT_EQ(Verdict::again,
            retries.judge({.code = -31001, .data_wait_ms = 8000}, options, backoff));
  EXPECT_EQ(8000, retries.wait_ms());
  ASSERT_EQ(Verdict::again,
            retries.judge({.http_status = 503, .retry_after = "60"}, options, backoff));
  EXPECT_EQ(60'000, retries.wait_ms());
  EXPECT_EQ(Verdict::given_up,
            retries.judge({.http_status = 503, .retry_after = "61"}, options, backoff));
  EXPECT_EQ(61'000, retries.wait_ms());
}

TEST(Retry, WaitsDoubleWithJitterUpToTheLongest) {
  Backoff backoff;
  const ClientOptions options{.backoff_ms = 100, .backoff_max_ms = 1000};
  for (unsigned tries = 1; tries < 40; ++tries) {
    const double step = tries > 4 ? 1000 : 100 << (tries - 1);
    double least = 1e9;
    double most = 0;
    for (int i = 0; i < 100; ++i) {
      const double wait = backoff.wait_ms(options, tries);
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    EXPECT_GE(least, step / 2);
    EXPECT_LE(most, step);
    EXPECT_GT(most, least);  // one in 2^3200 fails here by chance
  }
}

TEST(Retry, RetryAfterIsSecondsOrADate) {
  constexpr std::int64_t now_s = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
  for (const auto& [value, ms] : {std::pair<std::string_view, double>{"", 0},
                                  {"0", 0},
                                  {"120", 120'000},
                                  {"0.5", 500},
                                  {"-1", 0},
                                  {"inf", 0},
                                  {"nan", 0},
                                  {"soon", 0},
                                  {"1 s", 0},
                                  {"Sun, 06 Nov 1994 08:49:38 GMT", 1000},
                                  {"Sun, 06 Nov 1994 08:49:36 GMT", 0},
                                  {"Mon, 07 Nov 1994 08:49:37 GMT", 86'400'000},
                                  {"Sun, 06 ovD 1994 08:49:38 GMT", 0},
                                  {"Sunday, 06-Nov-94 08:49:37 GMT", 0}}) {
    EXPECT_EQ(ms, retry_after_ms(value, now_s)) << value;
  }
}

}  // namespace
}  // namespace ringrpc::client
