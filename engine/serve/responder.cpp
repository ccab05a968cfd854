#include "engine/serve/responder.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/http/chars.h"
#include "engine/http/media.h"
#include "engine/serve/line_reply.h"
#include "engine/serve/ws_reply.h"
#include "engine/ws/handshake.h"

namespace ringrpc::serve {
namespace {

constexpr std::string_view upgrade_fields = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
constexpr std::string_view version_fields =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
static_assert(reply_room_min >= rpc::error_reply_size_max + frame_size_max);

// A name in lower case. Field names are short; one that is not cannot be among them.
struct LowerName {
  explicit LowerName(std::string_view name) {
    if (name.size() > sizeof(bytes)) return;
    size = name.size();
    for (std::size_t i = 0; i < size; ++i) {
      const char c = name[i];
      bytes[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
  }
  [[nodiscard]] std::string_view text() const { return {bytes, size}; }

  char bytes[128];
  std::size_t size = 0;
};

std::string_view find_field(const void* source, std::string_view name) {
  return static_cast<const http::Request*>(source)->find(LowerName(name).text());
}

std::string_view method_name(http::Method method) {
  switch (method) {
    case http::Method::get:
      return "GET";
    case http::Method::head:
      return "HEAD";
    case http::Method::post:
      return "POST";
    case http::Method::put:
      return "PUT";
    case http::Method::patch:
      return "PATCH";
    case http::Method::delete_:
      return "DELETE";
    case http::Method::options:
      return "OPTIONS";
    case http::Method::trace:
      return "TRACE";
  }
  return {};
}

// Bytes that a protocol has in front of a reply's JSON when it begins.
constexpr std::uint32_t frame_size(Protocol protocol) {
  if (protocol == Protocol::websocket) return ws_header_room;
  return protocol == Protocol::http ? http::Heads::ok_size : 0;
}

Origin origin_of(const Request& request, const Peer& peer) {
  if (request.protocol != Protocol::http) return {.peer = peer, .principal = {}, .head = {}};
  const http::Request& head = *request.head;
  return {.peer = peer,
          .principal = {},
          .head = Head(method_name(head.method), head.view(head.path), &head, &find_field)};
}

// The JSON-RPC error that a refusal of the transport carries (its message was not read: id null).
std::string refusal_body(const Admission& admission) {
  std::string body = R"({"jsonrpc":"2.0","error":)";
  body += rpc::error_object(admission.code);
  if (admission.reason != Refusal::by_code) {
    body.append(R"(,"data":{"reason":")").append(refusal_name(admission.reason)).append("\"}");
  }
  body += admission.null_id ? R"(},"id":null})" : "}}";
  return body;
}

}  // namespace

Responder::Responder(const Options& options) : options_(options) {}

void Responder::set_time(std::int64_t wall_seconds) {
  if (wall_seconds == wall_seconds_) [[likely]]
    return;
  wall_seconds_ = wall_seconds;
  heads_.set_time(wall_seconds);
}

bool Responder::write(OutList& out, const http::ResponseHead& head, std::string_view body,
                      bool with_body) {
  Outbox::Room room = options_.outbox->open(reply_room_min);
  if (room.empty()) return false;
  const std::uint32_t head_size = heads_.write(room.begin, frame_size_max, head);
  RINGRPC_ASSERT(head_size != 0, head.status);
  const std::size_t body_size = with_body ? body.size() : 0;
  if (static_cast<std::size_t>(room.end - room.begin) < head_size + body_size) {
    const Outbox::Room larger = options_.outbox->grow(room.begin, head_size, head_size + body_size);
    if (larger.empty()) {
      options_.outbox->abandon(room.begin);
      return false;
    }
    room = larger;
  }
  if (body_size != 0) std::memcpy(room.begin + head_size, body.data(), body_size);
  return options_.outbox->commit(out, room.begin,
                                 head_size + static_cast<std::uint32_t>(body_size));
}

bool Responder::answer_plain(OutList& out, Request& request) {
  http::ResponseHead head;
  head.status = 200;
  head.content_type = http::media_text;
  head.close = request.last;
  head.keep_alive = request.head->version_minor == 0 && !request.last;
  std::string body;
  switch (request.admission.target) {
    case Target::health:
      body = "ok\n";
      break;
    case Target::ready:
      head.status = options_.oracle->ready() ? 200 : 503;
      body = head.status == 200 ? "ready\n" : "stopping\n";
      break;
    case Target::metrics:
      head.content_type = http::media_metrics;
      body = options_.oracle->metrics();
      break;
    default:
      RINGRPC_ASSERT(request.admission.target == Target::options);
      head.status = 204;
      head.content_type = {};
      head.allow = request.admission.allow;
      break;
  }
  head.length = static_cast<std::uint32_t>(body.size());
  return write(out, head, body, request.head->method != http::Method::head);
}

bool Responder::answer_refused(OutList& out, Request& request) {
  const Admission& admission = request.admission;
  options_.counters->add(admission.counter);
  const std::string body = refusal_body(admission);
  if (request.protocol == Protocol::lines) return write_line(*options_.outbox, out, body);
  http::ResponseHead head;
  head.status = admission.status;
  head.content_type = http::media_json;
  head.allow = admission.allow;
  if (admission.status == 426) head.more_fields = version_fields;
  head.length = static_cast<std::uint32_t>(body.size());
  head.close = request.last;
  head.keep_alive = request.head->version_minor == 0 && !request.last;
  return write(out, head, body, request.head->method != http::Method::head);
}

bool Responder::answer_broken(OutList& out, Protocol protocol, std::uint16_t status,
                              std::string_view reason) {
  if (protocol == Protocol::lines) {
    return write_line(*options_.outbox, out, line_error(status, reason));
  }
  http::ResponseHead head;
  head.status = status;
  head.content_type = {};
  head.close = true;
  head.retry_after_s = status == 503 ? 1 : 0;
  return write(out, head, {}, false);
}

bool Responder::answer_continue(OutList& out) {
  http::ResponseHead head;
  head.status = 100;
  head.content_type = {};
  return write(out, head, {}, false);
}

bool Responder::answer_later(OutList& out, const rpc::Outcome& outcome, const LateFrame& frame,
                             std::string_view text) {
  if (frame.protocol == Protocol::lines) return write_line(*options_.outbox, out, text);
  if (frame.protocol == Protocol::websocket) {
    if (!write_message(*options_.outbox, out, text)) return false;
    return !frame.last || write_close(*options_.outbox, out, ws::close_code::going_away, {});
  }
  http::ResponseHead head;
  head.status = outcome.status;
  head.retry_after_s = outcome.retry_after_s;
  head.length = static_cast<std::uint32_t>(text.size());
  head.close = frame.last;
  head.keep_alive = frame.old_http && !frame.last;
  return write(out, head, text, true);
}

std::string_view head_text(const void* source) {
  const http::Request& head = *static_cast<const http::Request*>(source);
  return {head.base, head.head_size};
}

bool accepts_events(const void* source) {
  const http::Request& head = *static_cast<const http::Request*>(source);
  return head.accept.present() && http::accepts_event_stream(head);
}

// The head was parsed once, so each line is a field with its colon.
std::string_view find_in_head_text(const void* source, std::string_view name) {
  const std::string_view text = *static_cast<const std::string_view*>(source);
  const LowerName lower(name);
  constexpr std::string_view line_end = "\r\n";
  constexpr std::string_view blanks = " \t";
  // Behind the request line, and an empty line that may stand before it.
  std::size_t at = text.find(line_end, text.starts_with(line_end) ? line_end.size() : 0);
  while (at != std::string_view::npos) {
    at += line_end.size();
    const std::size_t end = text.find(line_end, at);
    if (end == std::string_view::npos || end == at) break;
    const std::string_view field = text.substr(at, end - at);
    at = end;
    if (field.size() <= name.size() || field[name.size()] != ':') continue;
    if (!http::equals_folded(field.substr(0, name.size()), lower.text())) continue;
    std::string_view value = field.substr(name.size() + 1);
    value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
    return value.substr(0, value.find_last_not_of(blanks) + 1);
  }
  return {};
}

bool Responder::answer_upgrade(OutList& out, const Request& request) {
  constexpr std::string_view name = "Sec-WebSocket-Accept: ";
  char accept[ws::accept_size];
  ws::write_accept(request.head->find("sec-websocket-key"), accept);
  std::array<char, upgrade_fields.size() + name.size() + ws::accept_size + 2> fields;
  char* at = std::copy(upgrade_fields.begin(), upgrade_fields.end(), fields.data());
  at = std::copy(name.begin(), name.end(), at);
  at = std::copy(std::begin(accept), std::end(accept), at);
  *at++ = '\r';
  *at++ = '\n';
  RINGRPC_ASSERT(at == fields.data() + fields.size());
  http::ResponseHead head;
  head.status = 101;
  head.content_type = {};
  head.more_fields = {fields.data(), fields.size()};
  options_.counters->add(base::Counter::upgrades);
  return write(out, head, {}, false);
}

OpenReply::OpenReply(Responder& responder, const Request& request, const Peer& peer)
    : responder_(responder),
      request_(request),
      room_(*responder.options().outbox, responder.options().reply_size_max,
            frame_size(request.protocol)),
      origin_(origin_of(request, peer)) {
  if (!room_.exists()) [[unlikely]]
    return;
  if (request.protocol != Protocol::http) {
    writer().advance(frame_size(request.protocol));
    return;
  }
  static_assert(http::Heads::ok_size <= reply_room_min);
  responder_.heads().write_ok(room_.begin());
  writer().advance(http::Heads::ok_size);
}

void OpenReply::finish(std::string& out, const rpc::Outcome& outcome) {
  const std::size_t size = seal(outcome);
  out.resize(size);
  std::memcpy(out.data(), room_.begin(), size);
  room_.abandon();
}

bool OpenReply::finish_other(OutList& out, const rpc::Outcome& outcome) {
  const std::size_t size = seal(outcome);
  if (size != 0) [[likely]]
    return room_.commit(out, size);
  room_.abandon();
  return request_.protocol != Protocol::http && !outcome.has_body;
}

std::size_t OpenReply::seal(const rpc::Outcome& outcome) {
  if (is_usual(outcome)) return seal_usual();
  if (request_.protocol == Protocol::http) return seal_slow(outcome);
  if (!outcome.has_body) return 0;
  return request_.protocol == Protocol::lines ? end_line(room_) : end_message(room_);
}

// Another head than the usual one: written aside, then put in front of the body.
std::size_t OpenReply::seal_slow(const rpc::Outcome& outcome) {
  if (writer().overflowed()) return 0;
  const std::size_t body_size = outcome.has_body ? writer().size() - http::Heads::ok_size : 0;
  http::ResponseHead head;
  head.status = outcome.status;
  head.retry_after_s = outcome.retry_after_s;
  head.more_fields = outcome.fields;
  head.content_type = outcome.has_body ? http::media_json : std::string_view();
  head.length = static_cast<std::uint32_t>(body_size);
  head.close = request_.last;
  head.keep_alive = request_.head->version_minor == 0 && !request_.last;
  char bytes[frame_size_max];
  const std::uint32_t head_size = responder_.heads().write(bytes, sizeof(bytes), head);
  RINGRPC_ASSERT(head_size != 0);
  if (!room_.ensure(http::Heads::ok_size + body_size, head_size + body_size)) return 0;
  std::memmove(room_.begin() + head_size, room_.begin() + http::Heads::ok_size, body_size);
  std::memcpy(room_.begin(), bytes, head_size);
  return head_size + body_size;
}

}  // namespace ringrpc::serve
