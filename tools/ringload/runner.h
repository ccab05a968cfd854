#pragma once

// One load thread: a closed loop over its connections.

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/histogram.h"
#include "tools/ringload/connect.h"
#include "tools/ringload/cpu_time.h"
#include "tools/ringload/framing.h"
#include "tools/ringload/options.h"
#include "tools/ringload/ring.h"

namespace ringload {

// What all threads share, made before they start.
struct Plan {
  const Options& options;
  Target target;
  std::string requests;  // copies of the one request, as many as one send carries
  std::uint32_t request_size = 0;
  std::uint32_t requests_per_send = 0;
  std::barrier<> ready;             // all threads are connected, or have failed
  std::atomic<bool> failed{false};  // one could not connect: nobody runs

  Plan(const Options& o, std::uint32_t threads) : options(o), ready(threads) {}
};

// What happened in the measured time.
struct Window {
  std::uint64_t ns = 0;
  std::uint64_t answered = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t enters = 0;
  std::uint64_t receives = 0;
  std::uint64_t sends = 0;
  CpuTime own;
  CpuTime server;  // the first thread only
};

// What one thread saw.
struct Outcome {
  ringrpc::base::Histogram latency;  // of the window
  Window window;
  ReplyCounts replies;          // these and the rest: of the whole run
  std::uint64_t closed = 0;     // connections that the server ended
  std::uint64_t malformed = 0;  // connections given up because of what came
  std::uint64_t lost = 0;       // requests that were never answered
  bool stalled = false;         // no reply for the timeout
  std::string error;            // why it could not start
};

// Owns:   its ring, its connections. Thread: run() on one thread, outcome() after it has ended.
// A connection that ends is reported and not opened again.
class Runner {
 public:
  Runner(Plan& plan, std::uint32_t index);

  void run();
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  enum class Phase : std::uint8_t { warming, measuring, draining, over };

  // Requests that were made at the same time and are not answered yet.
  struct Batch {
    std::uint64_t time = 0;
    std::uint32_t count = 0;
  };

  struct Connection {
    Partial partial;
    std::uint32_t unanswered = 0;   // requests made: sent, being sent, or owed
    std::uint32_t owed = 0;         // made and not handed to a send yet
    std::uint32_t batch_first = 0;  // free-running positions in this connection's ring of batches
    std::uint32_t batch_end = 0;
    std::uint32_t send_offset = 0;  // what an unfinished send has taken so far
    std::uint32_t send_size = 0;    // 0: no send in flight
    bool listed = false;
    bool over = false;
  };

  bool prepare();
  void start_load();
  void turn();
  void take(const Completion& completion);
  void received(std::uint32_t slot, const Completion& completion);
  void sent(std::uint32_t slot, std::int32_t result);
  void settle(std::uint32_t slot, Connection& connection, std::uint32_t replies);
  void make_requests(std::uint32_t slot, Connection& connection, std::uint32_t count);
  void flush();
  void end(std::uint32_t slot, Connection& connection, std::uint64_t& reason);
  void tick();
  void advance();
  void begin_window();
  void end_window();
  void finish();

  Batch& batch(std::uint32_t slot, std::uint32_t position) {
    return batches_[std::size_t{slot} * batches_each_ + (position & (batches_each_ - 1))];
  }

  Plan& plan_;
  std::uint32_t index_;
  std::uint32_t first_ = 0;  // of this thread's connections among all
  std::uint32_t batches_each_ = 1;
  Ring ring_;
  ReplyReader reader_;
  std::vector<Connection> connections_;
  std::vector<Batch> batches_;
  std::vector<std::uint32_t> due_;  // slots with something to send
  Phase phase_ = Phase::warming;
  std::uint64_t now_ = 0;        // the turn's time
  std::uint64_t next_edge_ = 0;  // when the phase ends by time
  std::uint64_t window_begin_ = 0;
  std::uint64_t last_reply_ = 0;     // when
  std::uint64_t requests_left_ = 0;  // that may still be made
  std::uint64_t unanswered_ = 0;     // on all connections
  std::uint32_t live_ = 0;           // connections
  Window running_;                   // counts go on after the window's end
  Outcome outcome_;
};

}  // namespace ringload
