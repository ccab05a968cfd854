#pragma once

// One load thread: a closed or an open loop over its connections.

#include <atomic>
#include <barrier>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/ringload/connect.h"
#include "tools/ringload/framing.h"
#include "tools/ringload/options.h"
#include "tools/ringload/outcome.h"
#include "tools/ringload/ring.h"
#include "tools/ringload/schedule.h"
#include "tools/ringload/tape.h"

namespace ringload {

inline constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1e9);
}

// What all threads share, made before they start.
struct Plan {
  const Options& options;
  Target target;
  Tape tape;
  std::string requests;  // not tracked: copies of the one request, as many as one send carries
  std::uint32_t request_size = 0;
  std::uint32_t requests_per_send = 0;
  std::barrier<> ready;             // all threads are connected, or have failed
  std::atomic<bool> failed{false};  // one could not connect: nobody runs

  Plan(const Options& o, std::uint32_t threads) : options(o), ready(threads) {}
};

// Owns:   its ring, its connections. Thread: run() on one thread, outcome() after it has ended.
// A connection that the server ends is reported and not opened again.
class Runner {
 public:
  Runner(Plan& plan, std::uint32_t index);

  void run();
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] const Live& live() const { return live_now_; }  // any thread

 private:
  enum class Phase : std::uint8_t { warming, measuring, draining, over };

  // Requests that were made at the same time and are not answered yet.
  struct Batch {
    std::uint64_t time = 0;
    std::uint32_t count = 0;
  };

  // Why settle() may make the next requests: at once, after a look at more, or not any more.
  enum class Refill : std::uint8_t { closed, slow, none };
  enum class Stage : std::uint8_t { up, closing, connecting, down };

  struct Connection {
    Partial partial;
    std::uint32_t unanswered = 0;   // requests made: sent, being sent, or owed
    std::uint32_t owed = 0;         // made and not handed to a send yet
    std::uint32_t batch_first = 0;  // free-running positions in this connection's ring of batches
    std::uint32_t batch_end = 0;
    std::uint32_t send_offset = 0;  // what an unfinished send has taken so far
    std::uint32_t send_size = 0;    // 0: no send in flight
    bool listed = false;
    bool special = false;  // over, or its replies are tracked
    bool over = false;     // not to be used, for now or for good
    bool free = false;     // open loop: stands in the ring of free connections
    bool receiving = true;
    bool pong_due = false;
    bool pong_leaves = false;  // the send in flight is one
    Stage stage = Stage::up;
    std::uint32_t life_left = 0;   // churn: requests until it is closed
    std::uint32_t next_sent = 0;   // positions on the tape
    std::uint32_t next_reply = 0;  // matched: of the next request that is made
    std::uint64_t send_begin = 0;  // where on the tape the send in flight began
    std::uint64_t mark = 0;        // what a scan saw last, and since when
    std::uint64_t mark_time = 0;
  };

  bool prepare();
  void start_load();
  void turn();
  void take(const Completion& completion);
  void received(std::uint32_t slot, const Completion& completion);
  void sent(std::uint32_t slot, std::int32_t result);
  void settle(std::uint32_t slot, Connection& connection, std::uint32_t replies);
  void settle_batches(std::uint32_t slot, Connection& connection, std::uint32_t replies);
  void settle_matched(Connection& connection);
  void make_requests(std::uint32_t slot, Connection& connection, std::uint32_t count,
                     std::uint64_t time);
  void flush();
  void send_tape(std::uint32_t slot, Connection& connection);
  void end(std::uint32_t slot, Connection& connection, std::uint64_t& reason);
  void tick();
  void publish();

  // runner_window.cpp
  void advance();
  void begin_window();
  void open_window();
  void take_outside();
  [[nodiscard]] std::uint64_t ended_badly() const;
  void end_window();
  void finish();

  // runner_open.cpp
  void start_open();
  void sleep();
  void pump();
  void schedule_next();
  [[nodiscard]] std::uint64_t overdue() const;
  void mark_free(std::uint32_t slot, Connection& connection);

  // runner_life.cpp
  void refill(std::uint32_t slot, Connection& connection);
  void settled_all();
  void recycle(std::uint32_t slot, Connection& connection);
  void reopen(std::uint32_t slot, Connection& connection);
  void connected(std::uint32_t slot, std::int32_t result);
  void scan();
  void answer_ping(std::uint32_t slot, Connection& connection);
  void send_pong(std::uint32_t slot, Connection& connection);
  [[nodiscard]] const char* send_data(std::uint32_t slot, const Connection& connection) const;
  [[nodiscard]] std::uint64_t mark_of(std::uint32_t slot, const Connection& connection);
  [[nodiscard]] bool may_make_more() const;

  void record(std::uint64_t time, std::uint32_t count) {
    if (time - record_begin_ < record_span_) outcome_.latency.record(now_ - time, count);
  }

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
  Refill refill_ = Refill::closed;
  bool tracked_ = false;
  bool matched_ = false;              // tracked, and replies may come in any order
  std::vector<InFlight> in_flight_;   // matched: by slot, in place of the batches
  std::vector<std::uint64_t> times_;  // matched: of the requests that were just answered
  std::uint64_t record_begin_ = 0;    // latencies count of requests from here,
  std::uint64_t record_span_ = 0;     // and for so long
  std::uint64_t now_ = 0;             // the turn's time
  std::uint64_t next_edge_ = 0;       // when the phase ends by time
  std::uint64_t window_begin_ = 0;
  std::uint64_t last_reply_ = 0;     // when
  std::uint64_t requests_left_ = 0;  // that may still be made
  std::uint64_t unanswered_ = 0;     // on all connections
  std::uint32_t live_ = 0;           // connections
  Window running_;                   // counts go on after the window's end
  std::uint64_t next_scan_ = 0;

  // Open loop. Times of requests are those at which they are due.
  std::vector<std::uint32_t> free_;  // a ring of slots with room for a request
  std::uint32_t free_first_ = 0;     // free-running positions in it
  std::uint32_t free_end_ = 0;
  std::uint64_t origin_ = 0;        // when the schedule began
  std::uint64_t scheduled_ = 0;     // requests of this thread that were made
  std::uint64_t next_due_ = 0;      // when the next one is due
  std::uint64_t schedule_end_ = 0;  // what is due from here on is not made
  bool blocked_ = false;            // what was due found no connection free
  std::uint64_t reconnects_ = 0;

  struct Pong {
    std::string due;
    std::string leaving;
  };
  std::map<std::uint32_t, Pong> pongs_;  // by slot, of those that were pinged

  Live live_now_;
  Outcome outcome_;
};

}  // namespace ringload
