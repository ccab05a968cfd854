#pragma once

// One HTTP/1.1 request head out of bytes, strictly: what two parsers could read in two ways is
// refused, at its first bad byte, and the verdict is the same however the bytes arrive.

#include <ringrpc/limits.h>

#include <cstdint>
#include <string_view>

namespace ringrpc::http {

// CONNECT is refused with 400 and every other token with 501, so neither has a value.
enum class Method : std::uint8_t { get, head, post, put, patch, delete_, options, trace };

// Bytes of the head. A span that was not in the head has offset 0; one with an empty value has not.
struct Span {
  std::uint16_t offset = 0;
  std::uint16_t size = 0;

  [[nodiscard]] bool present() const { return offset != 0; }
};

struct Field {
  Span name;
  Span value;  // without the white space around it
};

// A parsed head. Plain positions relative to base, so it survives a move of the bytes when base is
// set anew.
// Lifetime:  views are valid while the bytes at base stay.
// Cost:      584 bytes, of which parsing writes the first 68 and 8 for each field.
// Invariant: only fields[0 .. field_count) are initialised.
struct Request {
  const char* base;
  std::uint64_t content_length;  // 0 unless has_length
  std::uint32_t head_size;       // with a leading empty line and the final one
  std::uint16_t field_count;
  Method method;
  std::uint8_t version_minor;  // 0 or 1; HTTP/1.2 to 1.9 are served as 1.1

  // The body: with neither of these it is empty. Never both.
  bool has_length;
  bool chunked;
  // The connection ends after the reply: asked for, or HTTP/1.0 without keep-alive.
  bool close;
  bool keep_alive;             // Connection lists keep-alive; an HTTP/1.0 client wants it echoed
  bool expect_continue;        // never set for HTTP/1.0
  bool content_encoded;        // a Content-Encoding other than identity: 415
  bool connection_upgrade;     // Connection lists upgrade
  bool upgrade_websocket;      // Upgrade lists websocket
  bool has_host;               // a Host field was there
  bool absolute_form;          // host is the target's authority
  std::uint8_t accept_count;   // Accept lines, saturating
  std::uint32_t closed_kinds;  // the parser's own: kinds of fields that may not come any more

  Span target;  // as it was sent
  Span path;    // without query; "/" for an absolute-form target without one
  Span host;    // Host's value, or the authority of an absolute-form target
  Span content_length_value;
  Span content_type;
  Span accept;  // the first line; see accepts_json(const Request&)
  Span origin;
  Field fields[limits::head_fields_max];

  [[nodiscard]] std::string_view view(Span span) const { return {base + span.offset, span.size}; }
  // The first field of that name, compared without case; not present() when there is none.
  // Requires: lower_case holds no upper-case letter.
  [[nodiscard]] Span find_span(std::string_view lower_case) const;
  [[nodiscard]] std::string_view find(std::string_view lower_case) const {
    return view(find_span(lower_case));
  }
};

enum class HeadStatus : std::uint8_t { complete, incomplete, refused };

struct HeadResult {
  HeadStatus status;
  std::uint16_t http_status;  // when refused: 400, 414, 417, 431, 501 or 505; else 0

  friend bool operator==(HeadResult, HeadResult) = default;
};

// Parses the head that starts at begin. `incomplete` means that more bytes can still make it valid,
// or decide between two refusals (the end of an unknown method, coding or expectation).
// Requires: 64 readable bytes (limits::padding) behind end; what they hold never matters.
// Returns:  `out` is meaningful only when complete.
// Cost:     about 30 ns for 96 bytes and 100 ns for ten fields, with AVX2. A partial head is read
//           from its start each time, so the caller's turn bounds the work by head_size_max.
HeadResult parse_head(const char* begin, const char* end, Request& out);

// The same without vector instructions: for other machines, and the partner of differential tests.
HeadResult parse_head_portable(const char* begin, const char* end, Request& out);

}  // namespace ringrpc::http
