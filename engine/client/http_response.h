#pragma once

// HTTP/1.x responses out of bytes, as a client reads them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/http/chunks.h"

namespace ringrpc::client {

// What the head of a response says.
struct ResponseHead {
  std::string text;  // status line and fields with their line ends, as they came
  int status = 0;
  bool keep_alive = false;
  bool event_stream = false;  // Content-Type: text/event-stream

  // Returns: the value of the first field of that name, trimmed; empty when absent.
  [[nodiscard]] std::string_view field(std::string_view name) const;
  // Returns: the first line, without its end.
  [[nodiscard]] std::string_view status_line() const;
};

// Reads one response: strict where bytes could be taken for something else (line ends, names,
// lengths that differ, chunks), tolerant where servers differ without harm (no reason phrase,
// folded lines, zeros in front of a length, a length beside chunks, bodies up to the end).
// Lifetime:  a piece points into the caller's input; head() lives as long as the reader.
// Invariant: failed and done are final until start().
class ResponseReader {
 public:
  enum class Status : std::uint8_t {
    head,       // head() is complete; call again
    piece,      // `piece` holds bytes of the body; call again
    need_more,  // all input is consumed
    done,       // the response has ended, the cursor is behind it
    failed,     // see sentence()
  };

  // Begins with a new response.
  void start();

  // Consumes input up to the next thing to say. Requires: cursor <= end.
  Status next(const char*& cursor, const char* end, std::string_view& piece);
  // The connection has ended. Returns: done when that is how this body ends, else failed.
  Status finish();

  [[nodiscard]] const ResponseHead& head() const { return head_; }
  // Returns: whether any byte has come, interim responses included.
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool has_head() const { return state_ != State::head && state_ != State::failed; }
  // Returns: whether the server is willing to switch protocols (101); done stands behind the head.
  [[nodiscard]] bool switched() const { return head_.status == 101; }
  // Returns: the body's size when the head tells it; 0 otherwise.
  [[nodiscard]] std::uint64_t announced_size() const { return announced_; }
  [[nodiscard]] const std::string& sentence() const { return sentence_; }

 private:
  enum class State : std::uint8_t { head, sized, chunked, to_the_end, done, failed };

  Status fail(std::string_view sentence);
  Status take_head(const char*& cursor, const char* end);
  bool read_head();
  bool read_status_line(std::string_view line);
  bool read_field(std::string_view line);
  bool read_length(std::string_view value);
  void choose_body();

  ResponseHead head_;
  http::ChunkDecoder chunks_;
  std::string sentence_;
  std::uint64_t left_ = 0;  // of a sized body
  std::uint64_t announced_ = 0;
  unsigned interims_ = 0;
  State state_ = State::head;
  bool begun_ = false;
  bool has_length_ = false;
  bool is_chunked_ = false;
  bool version_1_0_ = false;
};

}  // namespace ringrpc::client
