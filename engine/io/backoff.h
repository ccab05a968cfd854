#pragma once

// When to accept again after the machine had no memory or descriptor for a connection.

#include <algorithm>
#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/notice.h"
#include "engine/io/options.h"

namespace ringrpc::io {

// A pause that doubles with each failure until something is accepted. Such failures last for a
// while, and the connection stays in the backlog, so that trying again at once is a busy loop.
// Cost: reads the clock while it pauses, and only then.
class Backoff {
 public:
  // Returns: whether accepting has to wait.
  bool pausing() {
    if (until_ns_ == 0) return false;
    if (base::monotonic_ns() < until_ns_) return true;
    until_ns_ = 0;
    return false;
  }

  // Says so on stderr when it is the machine's fault.
  // Requires: error is a positive errno of an accept.
  [[gnu::cold]] void failed(int error);

  void succeeded() { pause_ms_ = 0; }
  void cancel() { until_ns_ = 0; }

  // Returns: timeout_ns (negative: none), shortened to the end of the pause.
  [[nodiscard]] std::int64_t shorten(std::int64_t timeout_ns) const {
    if (until_ns_ == 0) [[likely]]
      return timeout_ns;
    const std::int64_t left = static_cast<std::int64_t>(until_ns_ - base::monotonic_ns());
    const std::int64_t pause = std::max<std::int64_t>(left, 0);
    return timeout_ns < 0 ? pause : std::min(timeout_ns, pause);
  }

 private:
  std::uint32_t pause_ms_ = 0;
  std::uint64_t until_ns_ = 0;  // 0: not pausing
  base::Notice notice_{60};
};

}  // namespace ringrpc::io
