#include "engine/client/retry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "engine/base/assert.h"
#include "engine/base/clock.h"
#include "engine/rpc/errors.h"

namespace ringrpc::client {
namespace {

constexpr int too_many_requests = 429;
constexpr int service_unavailable = 503;
constexpr double ms_per_s = 1000;

bool is(int code, rpc::ErrorCode known) { return code == static_cast<int>(known); }

bool is_busy(const TryEnd& end) {
  return end.http_status == too_many_requests || end.http_status == service_unavailable ||
         is(end.code, rpc::ErrorCode::overloaded) || is(end.code, rpc::ErrorCode::rate_limited);
}

}  // namespace

Backoff::Backoff() : random_((std::uint64_t{std::random_device{}()} << 32) | 1) {}

double Backoff::wait_ms(const ClientOptions& options, unsigned tries) {
  RINGRPC_ASSERT(tries > 0);
  const double step = std::min(options.backoff_ms * std::pow(2.0, tries - 1),
                               static_cast<double>(options.backoff_max_ms));
  // A step of a 64-bit congruential generator, whose high bits are good enough for jitter.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  const double fraction = static_cast<double>(random_ >> 32) / 4294967296.0;
  return step * (0.5 + 0.5 * fraction);
}

Retries::Verdict Retries::judge(const TryEnd& end, const ClientOptions& options, Backoff& backoff) {
  const bool busy = is_busy(end);
  const bool unsent = end.failure == FailureKind::unreachable;
  const bool lost = end.failure == FailureKind::disconnected && (idempotent_ || !end.may_have_run);
  const bool defect = is(end.code, rpc::ErrorCode::internal_error) && !defect_tried_;
  if (done_ >= most_ || !(busy || unsent || lost || defect)) return Verdict::stands;
  if (defect && !busy) defect_tried_ = true;
  const double asked =
      std::max(retry_after_ms(end.retry_after, base::wall_seconds()), end.data_wait_ms);
  wait_ms_ = asked;
  if (asked > options.retry_wait_max_ms) return Verdict::given_up;
  ++done_;
  wait_ms_ = std::max(asked, backoff.wait_ms(options, done_));
  return Verdict::again;
}

double retry_after_ms(std::string_view value, std::int64_t now_s) {
  const std::string text(value);
  if (text.empty()) return 0;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end == '\0') return std::isfinite(seconds) ? std::max(0.0, seconds * ms_per_s) : 0;
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  char month[4] = {};
  std::tm date = {};
  const int found = std::sscanf(text.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &date.tm_mday,
                                month, &date.tm_year, &date.tm_hour, &date.tm_min, &date.tm_sec);
  const std::size_t place = months.find(month);
  if (found != 6 || place == std::string_view::npos || place % 3 != 0) return 0;
  date.tm_mon = static_cast<int>(place / 3);
  date.tm_year -= 1900;
  return std::max(0.0, static_cast<double>(timegm(&date) - now_s) * ms_per_s);
}

}  // namespace ringrpc::client
