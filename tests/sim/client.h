#pragma once

// One simulated client: writes its script in pieces of any size, reads or does not read, leaves in
// one of several ways, and compares every byte that it hears with what the model expects.

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/sim/late_methods.h"
#include "tests/sim/script.h"
#include "tests/support/fake_io.h"

namespace ringrpc::sim {

// What may happen to an answer in this run that is nobody's mistake.
struct Excuses {
  bool memory = false;      // pools are small: 503, -31004 or an early end
  bool time = false;        // deadlines may have passed: 408 or an early end
  bool stopping = false;    // the server leaves: answers may carry "close", connections may end
  bool crowd = false;       // there are more peers than connections: 503 at once
  bool in_flight = false;   // few calls may be: some are refused
  bool calls_time = false;  // calls have deadlines of their own
  bool drops = false;       // what was published did not reach everybody
};

// Thread: one. Lifetime: the backend outlives it.
class Client {
 public:
  struct Habits {
    std::uint32_t write_max = 1;  // bytes of one write
    bool lines = false;           // speaks lines of JSON, and no HTTP
    bool websocket = false;       // speaks HTTP until the answer to its handshake
    bool pipelines = false;       // does not wait for answers
    bool reads_slowly = false;    // stops reading now and then
    bool waits_for_continue = true;
    std::uint32_t reset_percent = 0;  // of its steps
    std::uint32_t fin_early = 0;      // half closes with answers outstanding, percent of its steps
  };

  // `publications` outlive it.
  Client(testing::FakeIo& io, testing::FakeIo::ClientId id, std::vector<Request> script,
         const Habits& habits, const Publications& publications)
      : io_(io),
        id_(id),
        script_(std::move(script)),
        habits_(habits),
        publications_(publications),
        ticked_(script_.size()),
        told_(script_.size()),
        done_(script_.size()) {}

  // Does one thing: writes, reads, pauses, leaves. Returns: a complaint, empty for none.
  std::string step(std::mt19937_64& random, const Excuses& excuses);

  // Writes and reads as much as it can, to the end of its script. Returns: as step().
  std::string go_on(const Excuses& excuses);

  // What is outstanding when nothing moves any more. Returns: a complaint, empty for none.
  [[nodiscard]] std::string check_complete(const Excuses& excuses) const;

  void leave(std::mt19937_64& random);

  [[nodiscard]] bool has_left() const { return left_; }
  [[nodiscard]] bool moved() const { return moved_; }
  // Nothing is left to be said or heard.
  [[nodiscard]] bool is_done() const;
  // The connection was cut by the network, the client or an excuse: answers may be missing.
  [[nodiscard]] bool is_disturbed() const { return disturbed_ || io_.client_gone(id_); }

  // Adds what has certainly run (answered), and what may have run (written in whole).
  void count(std::map<std::string, std::uint64_t>& certainly,
             std::map<std::string, std::uint64_t>& possibly) const;

 private:
  void write_some(std::size_t most, bool to_the_end);
  [[nodiscard]] std::size_t limit_of_writing(bool to_the_end) const;
  std::string read(const Excuses& excuses);
  std::string read_lines(const Excuses& excuses);
  std::string take_line(const std::string& line, const Excuses& excuses);
  std::string read_frames(const Excuses& excuses);
  // What comes later: client_late.cpp. Returns: whether it is an answer that is waited for.
  bool take_late(std::string_view text, const Excuses& excuses);
  [[nodiscard]] bool is_wanted(std::size_t request, std::string_view text) const;
  [[nodiscard]] bool waits_later() const { return awaited_.size() > unclear_.size(); }
  [[nodiscard]] bool may_be_refused(const Excuses& excuses) const;
  bool is_late_answer(std::size_t request, std::string_view text, const Excuses& excuses) const;
  void note_late_answer(std::size_t request, std::string_view text);
  std::string take_notification(std::string_view text, const Excuses& excuses);
  std::string take_tick(std::string_view text);
  std::string take_publication(std::string_view text, const Excuses& excuses);
  // Returns: whether a whole event stream begins the bytes behind a head; it is taken.
  bool read_stream(std::size_t body_at, std::string& complaint, const Excuses& excuses);
  std::string take_stream(std::string_view body, const Excuses& excuses);
  [[nodiscard]] std::string check_complete_late(const Excuses& excuses) const;
  void wrote_request();
  std::string take_close(std::string_view payload, const Excuses& excuses);
  void skip_silent();
  // Some requests have no answer, so what was not answered may have run.
  [[nodiscard]] bool two_way() const { return habits_.lines || habits_.websocket; }
  void finish();
  std::string take_answer(const std::string& head, const std::string& body, const Excuses& excuses);
  std::string complain(const std::string& what, const std::string& heard) const {
    return complain(what, heard, answered_);
  }
  std::string complain(const std::string& what, const std::string& heard,
                       std::size_t request) const;

  testing::FakeIo& io_;
  testing::FakeIo::ClientId id_;
  std::vector<Request> script_;
  Habits habits_;
  std::size_t written_requests_ = 0;  // in whole
  std::size_t written_bytes_ = 0;     // of the next one
  std::size_t answered_ = 0;
  std::size_t heard_of_ = 0;   // requests up to the last one that was answered in so many words
  bool torn_ = false;          // its end has made a line of half a message
  bool may_continue_ = false;  // 100 has come for the next answer
  bool stopped_reading_ = false;
  bool left_ = false;
  bool ended_ = false;  // an answer said that the connection ends
  bool disturbed_ = false;
  bool moved_ = false;  // since go_on() began
  std::string heard_;

  // What a subscriber has heard of a topic.
  struct Topic {
    std::uint64_t since = 0;  // what there had been when it was told that it is one
    std::uint64_t last = 0;
  };
  const Publications& publications_;
  std::vector<std::size_t> awaited_;   // requests whose answers come in any order
  std::vector<std::string> unclear_;   // errors that are the answers of some of them
  std::vector<std::uint32_t> ticked_;  // by request
  std::vector<bool> told_;             // by request whose answer comes later,
  std::vector<bool> done_;             // and was not about what kept it from being made
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace ringrpc::sim
