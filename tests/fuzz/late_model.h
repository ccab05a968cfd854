#pragma once

// Methods that answer later, and what may be heard of them: which of several answers a call gets
// depends on what came first, but it gets one of them, and its notifications stand before it.

#include <ringrpc/async.h>
#include <ringrpc/feed.h>

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rpc/table.h"
#include "engine/serve/hub.h"
#include "tests/fuzz/rpc_model.h"

namespace ringrpc::fuzz {

inline constexpr std::uint64_t ticks_max = 8;

// later {ms}, waits {times, ms} (a coroutine), hold, drop, ticks {count, ms, bytes}, subscribe,
// unsubscribe and publish {topic}. Their times are short, their counts small, whatever is asked.
// Thread: one.
class LateMethods {
 public:
  void add(rpc::Registry& registry);

  // Answers the call that has been held longest. Returns: whether there was one.
  bool release();
  // What has joined hears what is published.
  [[nodiscard]] serve::Hub& hub();

 private:
  std::deque<Deferred> held_;
  std::uint64_t serial_ = 0;  // of calls of ticks, and of publications
  Server server_{Options{.listen = ""}};
  Feed feed_{server_, {.when_full = WhenFull::drop}};
};

// What may keep a call from its own answer in this run.
struct LateExcuses {
  bool overloaded = false;
  bool timed_out = false;
  bool stopping = false;
};

// What one peer waits for, or one message of it.
class Awaited {
 public:
  explicit Awaited(const LateExcuses& excuses) : excuses_(excuses) {}

  void add(const Answer& answer);
  // Calls with these ids may have been asked to stop.
  void allow_cancels(const std::vector<std::string>& ids) {
    cancels_.insert(ids.begin(), ids.end());
  }
  // Takes a text that was heard. Returns: whether it is the next of those that are said at once, or
  // may be one of those that are said later.
  bool take(std::string_view text);
  // Says which call each text belongs to of which that was not clear: errors of several calls with
  // one id. Returns: whether each has a call of its own.
  bool settle();
  // Return: whether something is still to come that must be said at once, or at all. Require:
  // settled.
  [[nodiscard]] bool at_once() const { return next_ < now_.size(); }
  [[nodiscard]] bool any() const;
  [[nodiscard]] bool endless() const;
  // For people.
  [[nodiscard]] std::string shown() const;

 private:
  struct Later {
    Answer answer;  // a batch, or a single call
    bool taken = false;
    std::size_t text = 0;  // of unclear_, from 1: which is its own so far
  };
  static bool is(const LateEntry& entry, std::string_view text);
  bool may_be(const LateEntry& entry, std::string_view text, bool in_batch) const;
  bool may_be(const Answer& answer, std::string_view text) const;
  bool may_be_batch(const Answer& batch, std::string_view text) const;
  bool find_call(std::size_t text, std::vector<bool>& tried);

  const LateExcuses excuses_;
  std::vector<std::string> now_;
  std::size_t next_ = 0;
  std::vector<Later> later_;
  std::vector<std::string> unclear_;
  std::set<std::string> cancels_;
};

// The notifications that a peer hears, or one event stream.
class Notified {
 public:
  // Looks at any text that was heard.
  // Returns: whether it is a notification; a complaint when one is out of order.
  bool hear(std::string_view text, std::string& complaint);

 private:
  struct Ticks {
    std::uint64_t last = 0;
    bool ended = false;
  };
  std::map<std::uint64_t, Ticks> ticks_;               // by serial number
  std::map<std::string, std::uint64_t> publications_;  // by topic
};

}  // namespace ringrpc::fuzz
