#pragma once

// What one load thread saw.

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/base/histogram.h"
#include "tools/ringload/cpu_time.h"
#include "tools/ringload/framing.h"

namespace ringload {

// What happened in the measured time; or until the end, when a run ends in its warm-up.
struct Window {
  std::uint64_t ns = 0;
  std::uint64_t answered = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t enters = 0;
  std::uint64_t receives = 0;
  std::uint64_t sends = 0;
  std::uint64_t late = 0;          // open loop: requests that left over late_after_ns too late,
  std::uint64_t late_blocked = 0;  // of these: because no connection was free
  std::uint64_t late_max_ns = 0;
  CpuTime own;
  CpuTime server;  // the first thread only
};

inline constexpr std::uint64_t late_after_ns = 1'000'000;

// What the warm-up came to, and replies that came after the measured time.
struct Outside {
  std::uint64_t replies = 0;
  std::uint64_t errors = 0;  // of all kinds
};

struct Outcome {
  ringrpc::base::Histogram latency;  // of the window; open loop: of what was due in it
  Window window;
  ReplyCounts replies;  // of the window
  ErrorKinds kinds;     // but for the first one: of the whole run
  Outside outside;
  // Of the whole run: what was opened. Of the window and what followed: what became of connections
  // and requests.
  ringrpc::base::Histogram connecting;  // how long each reconnect took
  std::uint64_t connects = 0;           // connections that were opened
  std::uint64_t unconnected = 0;        // reconnects that failed
  std::uint64_t closed = 0;             // connections that the server ended
  std::uint64_t reset = 0;              // the same with a reset or another error
  std::uint64_t timeouts = 0;           // connections given up because nothing came
  std::uint64_t malformed = 0;          // connections given up because of what came
  std::uint64_t lost = 0;               // requests that were never answered
  std::uint64_t unsent = 0;             // open loop: requests that were due and found no connection
  bool stalled = false;                 // no reply for the timeout
  std::string error;                    // why it could not start
};

// What a thread tells while it runs, for the line of progress.
struct Live {
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint32_t> connections{0};
  std::atomic<bool> measuring{false};
};

}  // namespace ringload
