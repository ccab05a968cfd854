#pragma once

// Server-sent events: frames into bytes, and frames out of bytes.
//
// Source: the WHATWG HTML standard, section 9.2 (the event stream format).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringrpc::http {

// One event as it is sent.
// Lifetime: views of the caller's text.
struct Event {
  std::string_view data;
  std::string_view name = {};  // empty leaves the field out: the event is a "message"
  std::string_view id = {};    // empty leaves the field out
};

// A comment that keeps proxies from giving up on a silent stream. No reader shows it.
inline constexpr std::string_view event_heartbeat = ":\n\n";

// Returns: how many bytes write_event() writes; 0 when the event cannot be sent, because its name
// holds a CR or LF, or its id one of these or a NUL: either would begin a field of its own.
// Cost: one pass over the data.
std::size_t event_size(const Event& event);

// Writes the event and the empty line that ends it. Each line of the data gets a field of its own;
// CR, LF and CR LF end a line, and the reader sees LF for each of them.
// Requires: event_size(event) is not 0, and as many bytes at `out`.
// Returns:  one past the last byte written.
char* write_event(const Event& event, char* out);

// Events out of the bytes of one stream, whatever their pieces. Unknown fields and comments are
// passed over, and so is an event that the stream's end leaves unfinished.
// Owns:      the text of the event that is being read, at most size_max bytes.
// Lifetime:  data(), name() and id() are valid until the next call.
// Cost:      allocates as events need; meant for clients, the server only writes.
// Invariant: too_large is final.
class EventReader {
 public:
  enum class Status : std::uint8_t {
    event,      // one is complete: see data(); call again
    need_more,  // all input is consumed
    too_large,  // a line, or the data of an event, has more than size_max bytes
  };

  explicit EventReader(std::size_t size_max) : size_max_(size_max) {}

  // Consumes input up to the next event's end. Requires: cursor <= end.
  Status next(const char*& cursor, const char* end);

  [[nodiscard]] std::string_view data() const { return data_; }
  // Returns: the event's name, empty for a plain message.
  [[nodiscard]] std::string_view name() const { return name_; }
  // Returns: the last id that this stream gave, of this event or an earlier one.
  [[nodiscard]] std::string_view id() const { return id_; }
  // Returns: the milliseconds that the server asks to wait before reconnecting; -1 if it did not.
  [[nodiscard]] std::int64_t retry_ms() const { return retry_ms_; }

 private:
  bool keep(std::string_view piece);
  void end_line();
  void take_field(std::string_view name, std::string_view value);

  std::size_t size_max_;
  std::string line_;  // the line that is being read, less the bytes of comments
  std::string data_;
  std::string name_;
  std::string id_;
  std::int64_t retry_ms_ = -1;
  bool first_line_ = true;
  bool has_data_ = false;      // of the event that is being read
  bool dispatched_ = false;    // data_ and name_ are of the event before
  bool after_return_ = false;  // an LF here belongs to the CR before it
  bool too_large_ = false;
};

}  // namespace ringrpc::http
