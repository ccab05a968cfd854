// Event streams (Server-sent events) as responses: the Responder's part of them.
//
// Source: the WHATWG HTML standard, section 9.2; chunks as in RFC 9112, section 7.1.

#include <array>
#include <cstring>

#include "engine/http/sse.h"
#include "engine/serve/line_reply.h"
#include "engine/serve/responder.h"

namespace ringrpc::serve {
namespace {

constexpr std::string_view stream_fields =
    "X-Accel-Buffering: no\r\n"
    "Cache-Control: no-store\r\n";
constexpr std::string_view data_field = "data: ";
constexpr std::string_view event_end = "\n\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";
constexpr std::string_view line_end = "\r\n";
// A chunk's size has so many digits, with zeroes in front: it is known when the chunk is written.
constexpr std::size_t size_digits = 8;

void put_hex(char* out, std::size_t value) {
  for (std::size_t i = size_digits; i > 0; --i) {
    out[i - 1] = "0123456789abcdef"[value % 16];
    value /= 16;
  }
}

char* put(char* out, std::string_view text) {
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

}  // namespace

bool Responder::begin_events(OutList& out, const LateFrame& frame) {
  http::ResponseHead head;
  head.content_type = http::media_event_stream;
  head.more_fields = stream_fields;
  head.chunked = !frame.old_http;
  head.until_close = frame.old_http;
  head.close = frame.last || frame.old_http;
  return write(out, head, {}, false);
}

// Writes one chunk; without chunks, what it would hold.
bool Responder::write_chunk(OutList& out, const LateFrame& frame, std::string_view before,
                            std::string_view text, std::string_view after) {
  const std::size_t most =
      size_digits + 2 * line_end.size() + before.size() + text.size() + after.size();
  Outbox::Room room = options_.outbox->open(reply_room_min);
  if (room.empty()) return false;
  if (static_cast<std::size_t>(room.end - room.begin) < most) {
    const Outbox::Room larger = options_.outbox->grow(room.begin, 0, most);
    if (larger.empty()) {
      options_.outbox->abandon(room.begin);
      return false;
    }
    room = larger;
  }
  char* at = room.begin;
  if (!frame.old_http) at = put(at + size_digits, line_end);
  char* const begin = at;
  at = put(at, before);
  at = without_breaks(at, put(at, text));
  at = put(at, after);
  if (!frame.old_http) {
    put_hex(room.begin, static_cast<std::size_t>(at - begin));
    at = put(at, line_end);
  }
  return options_.outbox->commit(out, room.begin, static_cast<std::uint32_t>(at - room.begin));
}

bool Responder::write_event(OutList& out, const LateFrame& frame, std::string_view text) {
  return write_chunk(out, frame, data_field, text, event_end);
}

bool Responder::write_heartbeat(OutList& out, const LateFrame& frame) {
  return write_chunk(out, frame, http::event_heartbeat, {}, {});
}

bool Responder::end_events(OutList& out, const LateFrame& frame) {
  if (frame.old_http) return true;
  const Outbox::Room room = options_.outbox->open(reply_room_min);
  if (room.empty()) return false;
  put(room.begin, last_chunk);
  return options_.outbox->commit(out, room.begin, static_cast<std::uint32_t>(last_chunk.size()));
}

}  // namespace ringrpc::serve
