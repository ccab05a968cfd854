#pragma once

// Cuts the bytes of a connection into replies, responses of HTTP or lines, and checks each one.
//
// A server under load sends the same reply again and again, so the last whole good reply is kept
// and the next one is compared with it: one memcmp checks the status line, every field, the length
// and the body. Whatever differs (the Date field once a second) is read field by field.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ringload/in_flight.h"
#include "tools/ringload/tape.h"

namespace ringload {

// What one connection has received of a reply that is not whole yet.
struct Partial {
  std::string bytes;       // from the first byte of the reply
  std::uint64_t size = 0;  // of the whole reply, once its head is complete; before that 0
  std::uint64_t left = 0;  // bytes of an unchecked large body still to come
  bool sampled = false;    // the reply is to be checked in full
};

struct ReplyCounts {
  std::uint64_t replies = 0;
  std::uint64_t status_errors = 0;  // neither 200, 202 nor 204
  std::uint64_t rpc_errors = 0;     // replies with a JSON-RPC error, or with JSON that is no answer
  std::uint64_t bodies_checked = 0;
  std::uint64_t bodies_unchecked = 0;  // large ones between two samples
  std::uint64_t full_checks = 0;       // of which `wrong` failed
  std::uint64_t wrong = 0;

  [[nodiscard]] std::uint64_t errors() const { return status_errors + rpc_errors + wrong; }
};

// Which errors there were.
struct ErrorKinds {
  std::map<std::int64_t, std::uint64_t> by_status;  // HTTP
  std::map<std::int64_t, std::uint64_t> by_code;    // JSON-RPC
  std::string first;  // a sentence and the first bytes of the first reply that was no good one
};

struct ReplyHead {
  std::uint64_t body_size = 0;
  std::uint32_t head_size = 0;
  std::uint16_t status = 0;
  bool json = false;
  std::uint8_t control = 0;  // the opcode of a WebSocket's frame that is no message
};

enum class HeadStatus : std::uint8_t { complete, incomplete, bad };

// Reads the head of a reply at the front of `bytes`. A reply without Content-Length (and not 204)
// is bad: this generator frames by length only.
HeadStatus read_head(std::string_view bytes, ReplyHead& head);

// Thread: one for each load thread, shared by its connections.
// Cost:   one memcmp for each reply that is like the one before; about 0.2 us otherwise.
class ReplyReader {
 public:
  struct Fed {
    std::uint32_t replies = 0;  // completed by these bytes
    bool pinged = false;        // pong() is to be sent
    bool closed = false;        // by a frame that says so
    bool bad = false;           // the rest cannot be framed; the connection is of no use any more
  };

  ReplyReader() = default;
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Replies are lines of JSON from here on.
  void expect_lines() { lines_ = true; }
  // Replies are WebSocket messages. Must come before the first bytes.
  void expect_frames() { frames_ = true; }

  // Takes the next bytes of a connection, when all requests are the same.
  Fed feed(Partial& partial, const char* data, std::size_t size);

  // Must come before feed_tracked(). check_every: each so-manieth reply is checked in full; 0:
  // none. Requires: the tape outlives the reader.
  void follow(const Tape& tape, std::uint64_t check_every);
  // The same for requests from a tape; `expect` is the position of the request that the next reply
  // belongs to. Replies are compared with the last good one of their own message, id by id.
  Fed feed_tracked(Partial& partial, std::uint32_t& expect, const char* data, std::size_t size);

  // The same where replies come in any order: each belongs to the request in flight that has its
  // id. One without an id that is an error, or no JSON, belongs to the oldest. One that belongs to
  // no request is wrong, and answers none. The times of answered requests are appended to `times`.
  Fed feed_matched(Partial& partial, InFlight& in_flight, const char* data, std::size_t size,
                   std::vector<std::uint64_t>& times);

  // The frame that answers the last ping.
  [[nodiscard]] const std::string& pong() const { return pong_; }

  // Begins to count anew. The first reply that was no good one stays known.
  void restart() {
    counts_ = {};
    kinds_.by_status.clear();
    kinds_.by_code.clear();
  }

  [[nodiscard]] const ReplyCounts& counts() const { return counts_; }
  [[nodiscard]] const ErrorKinds& kinds() const { return kinds_; }

  static constexpr std::size_t head_size_max = 16u << 10;
  // Bodies up to this size are checked always, larger ones once in sample_every.
  static constexpr std::size_t checked_size_max = 8u << 10;
  static constexpr std::uint64_t sample_every = 1000;
  // Larger ones never: they would have to be kept whole.
  static constexpr std::uint64_t sampled_size_max = 64u << 20;

 private:
  // Both return the first byte that they did not take, or nullptr when the bytes are bad.
  const char* take_one(Partial& partial, const char* cursor, const char* end, Fed& fed);
  const char* resume(Partial& partial, const char* cursor, const char* end, Fed& fed);

  // A whole good reply, and where in it the id of its call stands.
  struct Memo {
    std::string reply;
    std::size_t id_begin = 0;
    std::size_t id_size = 0;  // 0: the reply is compared as a whole
  };

  [[nodiscard]] HeadStatus read_front(std::string_view bytes, ReplyHead& head) const;
  const char* resume_line(Partial& partial, const char* cursor, const char* end, Fed& fed);
  static bool is_like(const Memo& memo, std::string_view id, const char* data);
  bool begin_reply(Partial& partial, std::uint32_t expect);
  const char* bad(std::string_view bytes);
  void begin_partial(Partial& partial, const ReplyHead& head, std::string_view bytes);
  bool wants_body(const ReplyHead& head);
  bool judge_status(const ReplyHead& head);
  void complete(const ReplyHead& head, std::string_view reply, Fed& fed);
  void take_control(const ReplyHead& head, std::string_view frame, Fed& fed);
  void judge(const ReplyHead& head, std::string_view reply);
  void judge_tracked(const ReplyHead& head, std::string_view reply, bool good);
  bool judge_match(std::string_view body, std::string_view reply);
  std::size_t find_request(std::string_view body, std::string& id) const;
  [[nodiscard]] std::size_t find_call(std::string_view id, bool batch) const;
  void note(std::string_view sentence, std::string_view reply);

  bool lines_ = false;
  bool frames_ = false;
  std::string last_good_;  // a whole reply; empty before the first
  ReplyCounts counts_;
  std::uint64_t large_bodies_ = 0;

  const Tape* tape_ = nullptr;
  std::vector<Memo> memos_;  // one for each message of the tape
  std::uint32_t expect_ = 0;
  static constexpr std::size_t no_request = ~std::size_t{0};
  const InFlight* in_flight_ = nullptr;  // where replies come in any order
  std::size_t answered_ = 0;             // which of it the reply at hand belongs to
  std::uint64_t check_every_ = 0;
  std::uint64_t begun_ = 0;
  bool sampled_ = false;  // of the reply at hand
  std::string pong_;
  ErrorKinds kinds_;
};

}  // namespace ringload
