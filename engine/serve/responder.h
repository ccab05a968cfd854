#pragma once

// Replies in the frame of their protocol, and everything that is not JSON-RPC.

#include <ringrpc/call.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/http/response.h"
#include "engine/rpc/answer.h"
#include "engine/serve/outbox.h"
#include "engine/serve/protocol.h"
#include "engine/serve/reply_room.h"
#include "engine/serve/request.h"

namespace ringrpc::serve {

// What the responder asks of its server; the answers change while it serves.
class Oracle {
 public:
  virtual ~Oracle() = default;
  [[nodiscard]] virtual bool ready() const = 0;           // for /readyz
  [[nodiscard]] virtual std::string metrics() const = 0;  // for /metrics
};

// Writes whole responses into the outbox.
// Thread: worker only.
class Responder {
 public:
  struct Options {
    Outbox* outbox;
    base::Counters* counters;
    const Oracle* oracle;
    std::uint32_t reply_size_max;
  };

  explicit Responder(const Options& options);

  // The Date of the heads written from now on. Cheap when the second is the same.
  void set_time(std::int64_t wall_seconds);

  // Answers a request that no method sees: health, metrics, OPTIONS.
  // Returns: false when there is no memory for it.
  bool answer_plain(OutList& out, Request& request);
  // Answers a request that was not admitted.
  bool answer_refused(OutList& out, Request& request);
  // Answers bytes that are no such protocol, or too many, or too late; the connection ends with it.
  // The reason is for protocols without status; it names a limit.
  bool answer_broken(OutList& out, Protocol protocol, std::uint16_t status,
                     std::string_view reason);
  bool answer_continue(OutList& out);
  // Answers with a text that was written elsewhere, after its request is gone.
  struct LateFrame {
    Protocol protocol = Protocol::http;
    bool last = false;      // the connection ends behind it
    bool old_http = false;  // HTTP/1.0
  };
  bool answer_later(OutList& out, const rpc::Outcome& outcome, const LateFrame& frame,
                    std::string_view text);
  // Agrees to become a WebSocket. Requires: request.admission.target == Target::websocket.
  bool answer_upgrade(OutList& out, const Request& request);

  // An event stream: its head, one message as an event, a comment, its end. Of HTTP/1.0 it ends
  // with the connection.
  bool begin_events(OutList& out, const LateFrame& frame);
  bool write_event(OutList& out, const LateFrame& frame, std::string_view text);
  bool write_heartbeat(OutList& out, const LateFrame& frame);
  bool end_events(OutList& out, const LateFrame& frame);

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const http::Heads& heads() const { return heads_; }

 private:
  bool write_chunk(OutList& out, const LateFrame& frame, std::string_view before,
                   std::string_view text, std::string_view after);
  bool write(OutList& out, const http::ResponseHead& head, std::string_view body, bool with_body);

  Options options_;
  http::Heads heads_;
  std::int64_t wall_seconds_ = -1;
};

// For calls that outlive their request: the bytes of a head, and a field of a copy of them, whose
// source is a std::string_view.
std::string_view head_text(const void* source);
std::string_view find_in_head_text(const void* source, std::string_view name);
// Whether a request with that head takes an event stream.
bool accepts_events(const void* source);

// One reply while its JSON is written.
// Lifetime: on the stack of one pass of the turn; ends in one finish() if it has room.
class OpenReply {
 public:
  OpenReply(Responder& responder, const Request& request, const Peer& peer);
  OpenReply(const OpenReply&) = delete;
  OpenReply& operator=(const OpenReply&) = delete;

  // Returns: false when there is no memory for a reply; its connection is to end.
  [[nodiscard]] bool has_room() const { return room_.exists(); }

  // Ends the reply and appends it to the list; where there are no empty replies, nothing is.
  // Returns: false when there is no memory for it.
  bool finish(OutList& out, const rpc::Outcome& outcome) {
    if (is_usual(outcome)) [[likely]]
      return room_.commit(out, seal_usual());
    return finish_other(out, outcome);
  }

  // The same, copied out instead of sent. Empty when there is no memory for it.
  void finish(std::string& out, const rpc::Outcome& outcome);

  // Nothing of it is to be sent.
  void abandon() { room_.abandon(); }

  [[nodiscard]] JsonWriter& writer() { return room_.writer(); }
  [[nodiscard]] rpc::Budget& budget() { return room_.budget(); }
  [[nodiscard]] const Origin& origin() const { return origin_; }

 private:
  // Whether the head in front of the body, already written, is the right one.
  [[nodiscard]] bool is_usual(const rpc::Outcome& outcome) {
    return request_.protocol == Protocol::http && outcome.has_body && outcome.status == 200 &&
           outcome.fields.empty() && !request_.last && request_.head->version_minor != 0 &&
           !writer().overflowed();
  }
  std::size_t seal_usual() {
    const std::size_t size = writer().size();
    http::Heads::patch_length(room_.begin() + http::Heads::ok_size,
                              static_cast<std::uint32_t>(size - http::Heads::ok_size));
    return size;
  }
  [[gnu::noinline]] bool finish_other(OutList& out, const rpc::Outcome& outcome);
  // Completes the frame. Returns: the bytes of the reply; 0 when there is no memory for them, or
  // nothing to say.
  std::size_t seal(const rpc::Outcome& outcome);
  [[gnu::cold, gnu::noinline]] std::size_t seal_slow(const rpc::Outcome& outcome);

  Responder& responder_;
  const Request& request_;
  ReplyRoom room_;
  Origin origin_;
};

}  // namespace ringrpc::serve
