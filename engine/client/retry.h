#pragma once

// When a call is worth another try, and when that is due.

#include <ringrpc/client_options.h>

#include <cstdint>
#include <string_view>

namespace ringrpc::client {

// How a try ended, as far as that says whether another one makes sense.
struct TryEnd {
  FailureKind failure = FailureKind::none;
  bool may_have_run = false;
  int http_status = 0;
  std::string_view retry_after = {};  // the field's value; empty without
  int code = 0;                       // of the only answer's error object; 0 without
  double data_wait_ms = 0;            // data.retryAfterMs
};

// Exponential backoff with jitter: each wait lies between half of its step and all of it.
// Thread: one owner.
class Backoff {
 public:
  Backoff();
  // Returns: milliseconds before the try that follows `tries` failed ones. Requires: tries > 0.
  double wait_ms(const ClientOptions& options, unsigned tries);

 private:
  std::uint64_t random_;
};

// The tries of one call.
class Retries {
 public:
  enum class Verdict : std::uint8_t {
    stands,    // what came is the answer
    again,     // after wait_ms()
    given_up,  // the server asks for wait_ms(), which is too long
  };

  void start(std::uint32_t most, bool idempotent) {
    most_ = most;
    idempotent_ = idempotent;
  }
  Verdict judge(const TryEnd& end, const ClientOptions& options, Backoff& backoff);

  [[nodiscard]] double wait_ms() const { return wait_ms_; }
  [[nodiscard]] unsigned done() const { return done_; }
  [[nodiscard]] unsigned most() const { return most_; }

 private:
  double wait_ms_ = 0;
  std::uint32_t most_ = 0;
  std::uint32_t done_ = 0;
  bool idempotent_ = false;
  bool defect_tried_ = false;
};

// Returns: the milliseconds that a Retry-After asks for: digits are seconds, else a date of RFC
// 9110, 5.6.7 in its preferred form; 0 for what is neither, and for dates that have passed.
double retry_after_ms(std::string_view value, std::int64_t now_s);

}  // namespace ringrpc::client
