#pragma once

// What a server must answer to a stream of bytes, worked out from the whole stream at once: heads
// by the portable parser, chunks by a plain reader of its own, bodies by rpc_model.h.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/worker_options.h"
#include "tests/fuzz/rpc_model.h"
#include "tests/support/conversation.h"

namespace ringrpc::fuzz {

// A chunked body that begins the bytes.
struct Chunked {
  enum class Status : std::uint8_t { need_more, done, refused, too_large };
  Status status = Status::need_more;
  int http_status = 0;       // when refused
  std::size_t consumed = 0;  // through the byte that decided
  std::string body;
};
// Too large is a body whose chunks, the announced one included, are together more than body_max.
Chunked read_chunked(std::string_view bytes, std::uint64_t body_max);

struct ServerModel {
  ModelLimits rpc;
  std::uint32_t message_size_max = 0;
  std::uint32_t drain_size_max = 0;
  serve::HeadLimits head;
};

// One answer, of which the client may hear an interim one before.
struct HttpAnswer {
  testing::ExpectedReply reply;
  testing::ExpectedReply closing;  // the same from a server that stops
  bool closes = false;
  bool may_continue = false;  // "100 Continue" may come before it
  bool counts = false;        // as a request
  // What is said of the message, when some of it is said later: the body is one of several then.
  Answer said = {};
  bool events = false;    // and may be an event stream,
  bool old_http = false;  // in HTTP/1.0
  std::map<std::string, std::uint64_t> started;
};

struct Conversation {
  std::vector<HttpAnswer> answers;
  // Behind the last answer: a head that wants to be told to continue, whose body is not whole.
  bool may_continue = false;
  // The last answer agrees to become a WebSocket: from here on there are frames.
  bool upgraded = false;
  std::size_t frames_at = 0;
};

// Returns: what the bytes are answered, as far as they are whole requests.
Conversation converse(std::string_view stream, const ServerModel& server);

}  // namespace ringrpc::fuzz
