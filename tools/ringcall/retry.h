#pragma once

// When a call is worth another try: the server said that it did not run it, or that it may.

#include <string>
#include <string_view>

#include "tools/ringcall/http_client.h"

namespace ringcall {

// Longest wait that a server may ask for; beyond it the answer stands.
inline constexpr double retry_wait_max_s = 60;

// HTTP 429 and 503, -31001 (overloaded) and -31002 (rate limited) are tried again up to the number
// given; -32603 (internal error) once at most; everything else never. Each wait is at least what
// the server asked for (Retry-After, data.retryAfterMs), and doubles from 0.1 s to 10 s, with
// jitter.
class Retries {
 public:
  explicit Retries(unsigned most) : most_(most) {}

  // `error`: the reply's error object; empty when there is none.
  // Returns: seconds to wait before the next try, or a negative number when the answer stands.
  // `note` is a sentence for people when there is something to say.
  double next(const Response& response, std::string_view error, std::string& note);

 private:
  unsigned most_;
  unsigned done_ = 0;
  bool internal_error_tried_ = false;
};

}  // namespace ringcall
