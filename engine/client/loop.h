#pragma once

// The client's loop: which message is on which connection, what is due when, and what came back.

#include <ringrpc/client.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/client/job.h"
#include "engine/client/retry.h"

namespace ringrpc::client {

// Owns:      the connections and the jobs.
// Thread:    one at a time; interrupt() from any.
// Cost:      a turn is one poll(2), and O(log jobs) for each job that something happens to.
// Invariant: each job is in jobs_; in timers_ while something is due for it; in by_id_ with each
//            of its ids while it is on a stream. Users' callbacks run in deliver() only.
class Loop {
 public:
  Loop(std::string_view url, ClientOptions options);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const ClientOptions& options() const { return options_; }

  CallNumber start(std::unique_ptr<Job> job);
  bool cancel(CallNumber number);
  void abandon(CallNumber number);

  // Moves what can be moved and waits for at most timeout_ms (-1: no end) when there is nothing.
  // Requires: !in_callback().
  void turn(int timeout_ms);
  [[nodiscard]] bool in_callback() const { return in_callback_; }
  void interrupt() const;
  // Returns: whether interrupt() was called; asks once.
  [[nodiscard]] bool take_interrupt() { return std::exchange(interrupted_, false); }

  [[nodiscard]] std::size_t in_flight() const { return jobs_.size(); }
  [[nodiscard]] bool connected() const;
  [[nodiscard]] const ClientStats& stats() const { return stats_; }
  void on_notification(Callback<void(const Notification&)> handler) {
    notification_ = std::move(handler);
  }
  void on_connect(Callback<void(bool)> handler) { connected_ = std::move(handler); }

 private:
  // Something to call back about.
  struct Delivery {
    enum class Kind : std::uint8_t { event, retry, connected, finished };
    Kind kind;
    CallNumber number = 0;  // 0: an event of a stream transport, which is anybody's
    std::string text = {};
    std::string method = {};
    std::size_t params_at = 0;  // in the text
    std::size_t params_size = 0;
    double wait_ms = 0;
    int code = 0;
    bool flag = false;  // retry: given up; connected: again
  };

  // --- loop.cpp: the turn ---
  void fire_timers(std::uint64_t now_ns);
  void on_due(Job& job, std::uint64_t now_ns);
  void stay_connected(std::uint64_t now_ns);
  void wait(std::uint64_t now_ns, int timeout_ms);
  void drain_all(std::uint64_t now_ns);
  [[nodiscard]] bool has_rests() const;
  [[nodiscard]] std::uint64_t next_due_ns() const;
  void deliver();
  void deliver(Delivery& delivery);
  void deliver_event(const Delivery& delivery);
  [[nodiscard]] Job* find(CallNumber number) const;

  // --- loop_jobs.cpp: from queued to done ---
  void queue(Job& job, std::uint64_t now_ns);
  void dispatch(std::uint64_t now_ns);
  [[nodiscard]] Wire* idle_wire(std::uint64_t now_ns);
  void open_wires(std::size_t wanted, std::uint64_t now_ns);
  void open(Wire& wire, std::uint64_t now_ns);
  void send(Job& job, Wire& wire, std::uint64_t now_ns);
  void end_unanswered();
  void set_timer(Job& job);
  // Takes a job off its connection; the server hears of it when it is to stop.
  void detach(Job& job, bool stop, std::uint64_t now_ns);
  // A try has ended: with a failure, or with what the exchange holds.
  void end_try(Job& job, Failure failure);
  void finish(Job& job, Failure failure);

  // --- loop_replies.cpp: what connections say ---
  void drain(Wire& wire, std::uint64_t now_ns);
  void on_opened(Wire& wire, std::uint64_t now_ns);
  void on_failed(Wire& wire, std::uint64_t now_ns);
  void put_off_reconnect(std::uint64_t now_ns);
  void on_unreachable(const Failure& failure, std::uint64_t now_ns);
  void on_head(Wire& wire, std::uint64_t now_ns);
  void on_body(Wire& wire, std::string_view text);
  void on_reply_end(Wire& wire, std::uint64_t now_ns);
  // Leaves a connection on which the rest of a response comes. Requires: HTTP.
  void leave(Wire& wire, std::uint64_t now_ns);
  void on_event(Wire& wire, std::string_view text);
  void on_event_message(Job& job, const ServerMessage& message, std::string_view text);
  void on_stream(Wire& wire, std::string_view text, std::uint64_t now_ns);
  void take_body(Job& job, Failure& failure);
  bool take_reply(Job& job, const ServerMessage& message);
  [[nodiscard]] Job* job_of(const ServerMessage& reply) const;
  void notify(CallNumber number, const ServerMessage& message);

  Target target_;
  ClientOptions options_;
  std::string error_;
  int wake_fd_ = -1;
  std::vector<std::unique_ptr<Wire>> wires_;  // stream transports: one
  std::unordered_map<CallNumber, std::unique_ptr<Job>> jobs_;
  std::deque<CallNumber> queue_;  // queued ones in order, and some that are not any more
  std::set<std::pair<std::uint64_t, CallNumber>> timers_;
  std::unordered_map<std::string, Job*> by_id_;  // stream transports
  std::set<CallNumber> on_stream_;               // jobs that wait there
  std::set<CallNumber>
      listeners_;  // jobs that were there and want events, until they are delivered
  std::vector<CallNumber> unanswered_;  // those of them that nothing answers
  std::deque<Delivery> deliveries_;
  Callback<void(const Notification&)> notification_;
  Callback<void(bool)> connected_;
  ClientStats stats_;
  Document document_;
  Backoff backoff_;
  std::uint64_t next_id_ = 1;
  CallNumber next_number_ = 1;
  unsigned connect_failures_ = 0;   // since the last success; on streams, the last message
  std::uint64_t reconnect_ns_ = 0;  // not before, unless a call wants it
  bool in_callback_ = false;
  bool interrupted_ = false;
};

}  // namespace ringrpc::client
