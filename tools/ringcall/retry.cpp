#include "tools/ringcall/retry.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "tools/common/json_text.h"

namespace ringcall {

namespace {

constexpr std::int64_t code_internal = -32603;
constexpr std::int64_t code_overloaded = -31001;
constexpr std::int64_t code_rate_limited = -31002;

struct Failure {
  std::int64_t code = 0;
  double wait_s = 0;  // that data.retryAfterMs asks for
};

double number(std::string_view token) { return std::strtod(std::string(token).c_str(), nullptr); }

Failure read_error(std::string_view error) {
  Failure failure;
  std::vector<tools::Member> members;
  if (!tools::split_object(error, members)) return failure;
  const std::string_view code = tools::find_member(members, "code");
  std::from_chars(code.data(), code.data() + code.size(), failure.code);
  const std::string_view data = tools::find_member(members, "data");
  if (!tools::split_object(data, members)) return failure;
  failure.wait_s = std::max(0.0, number(tools::find_member(members, "retryAfterMs")) / 1000);
  return failure;
}

// Retry-After holds seconds or a date.
double retry_after_s(std::string_view value) {
  const std::string text(value);
  if (text.empty()) return 0;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end == '\0' && std::isfinite(seconds)) return std::max(0.0, seconds);
  std::tm date{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return 0;
  return std::max(0.0, std::difftime(timegm(&date), std::time(nullptr)));
}

double backoff_s(unsigned tries) {
  const double longest = std::min(0.1 * std::pow(2.0, tries), 10.0);
  std::random_device device;
  return longest * (0.5 + 0.5 * device() / static_cast<double>(std::random_device::max()));
}

}  // namespace

double Retries::next(const Response& response, std::string_view error, std::string& note) {
  const Failure failure = read_error(error);
  const bool busy = response.status == 429 || response.status == 503 ||
                    failure.code == code_overloaded || failure.code == code_rate_limited;
  const bool defect = failure.code == code_internal && !internal_error_tried_;
  if (done_ == most_ || (!busy && !defect)) return -1;
  if (!busy) internal_error_tried_ = true;
  const double asked = std::max(retry_after_s(response.field("Retry-After")), failure.wait_s);
  char line[200];
  if (asked > retry_wait_max_s) {
    std::snprintf(line, sizeof(line), "not tried again: the server asks for %.0f s", asked);
    note = line;
    return -1;
  }
  const double wait = std::max(asked, backoff_s(done_++));
  std::snprintf(line, sizeof(line), "HTTP %d%s%s: try %u of %u again in %.2f s", response.status,
                failure.code == 0 ? "" : ", error ",
                failure.code == 0 ? "" : std::to_string(failure.code).c_str(), done_, most_, wait);
  note = line;
  return wait;
}

}  // namespace ringcall
