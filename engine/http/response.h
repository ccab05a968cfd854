#pragma once

// Response heads: the frequent one as a template that is copied whole, all others written out.
// Content-Length is always the last field and has a fixed width, so that a body can be written
// before its size is known. Its digits are right-aligned; the spaces before them are the optional
// white space that RFC 9112, 5, allows there.

#include <cstdint>
#include <string_view>

namespace ringrpc::http {

inline constexpr std::string_view media_json = "application/json";
inline constexpr std::string_view media_event_stream = "text/event-stream";
inline constexpr std::string_view media_text = "text/plain; charset=utf-8";
inline constexpr std::string_view media_metrics = "text/plain; version=0.0.4; charset=utf-8";

// What a head says besides its date. The texts come from constants and options, never from a peer.
struct ResponseHead {
  std::uint16_t status = 200;
  std::string_view content_type = media_json;  // empty: no such field
  std::uint32_t length = 0;                    // ignored for 1xx, 204 and 304, which have none
  bool chunked = false;                        // Transfer-Encoding in place of a length
  bool until_close = false;                    // neither: the body ends with the connection
  bool close = false;                          // Connection: close
  bool keep_alive = false;                     // Connection: keep-alive, which HTTP/1.0 asks for
  std::uint32_t retry_after_s = 0;             // 0: no such field
  std::string_view allow = {};                 // Allow; empty: no such field
  std::string_view authenticate = {};          // WWW-Authenticate; empty: no such field
  std::string_view more_fields = {};           // whole lines, each with its CR LF
};

// The heads of one worker.
// Thread:    worker only.
// Cost:      write_ok copies ok_size bytes; set_time formats once a second.
// Invariant: set_time has been called before a head is written.
class Heads {
 public:
  // Digits of the length field. Replies are bounded by limits::reply_size_max_max.
  static constexpr std::uint32_t length_digits = 9;
  static constexpr std::uint32_t length_max = 999'999'999;
  // Bytes of write_ok's head.
  static constexpr std::uint32_t ok_size = 148;
  // Bytes that any head without more_fields, allow and authenticate fits into.
  static constexpr std::uint32_t size_max = 384;

  Heads();

  // Renders Date anew. Times before 1970 and from the year 10000 on are clamped.
  void set_time(std::int64_t wall_seconds);

  // `200 OK` with JSON on a kept connection, its length still blank.
  // Requires: ok_size writable bytes.
  void write_ok(char* out) const { __builtin_memcpy(out, ok_, ok_size); }

  // The same bytes, to be copied by others.
  [[nodiscard]] std::string_view ok_head() const { return {ok_, ok_size}; }

  // Fills in, or replaces, the length of the head that ends where `body` starts.
  // Requires: length <= length_max; the head has a length.
  static void patch_length(char* body, std::uint32_t length);

  // Any head, with its length filled in.
  // Returns: its size; 0 when it does not fit into capacity, which leaves garbage in out.
  [[nodiscard]] std::uint32_t write(char* out, std::uint32_t capacity,
                                    const ResponseHead& head) const;

  // The value of Date.
  [[nodiscard]] std::string_view date() const;

 private:
  char ok_[ok_size];
};

// The reason phrase; "Unknown" for a status that the engine does not send.
std::string_view reason_of(std::uint16_t status);

}  // namespace ringrpc::http
