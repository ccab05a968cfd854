#pragma once

// Conversations between a client and a server, written as Markdown: tests/spec/README.md tells the
// notation. Parsed here, played by tests/spec (sockets, in memory), by tests/attack (many at once)
// and by the simulation.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrpc::testing {

// One response. Everything that every response has is implied, everything else is listed.
struct ExpectedReply {
  int status = 200;
  std::vector<std::string> fields;  // "Name: value", beside Date, nosniff and Content-Length
  std::string body;
  // The length that a response without a body announces (to HEAD); none: the body's own.
  std::optional<std::size_t> announced;
  bool line = false;                         // no response: the body, and LF
  std::vector<std::string> more_lines = {};  // which come with it, in any order
  bool stream = false;                       // an event stream in chunks; body is what they hold

  std::optional<std::vector<std::string>> frames;  // of a WebSocket, in place of all of this
  bool any_order = false;                          // in which they come

  [[nodiscard]] bool interim() const { return status < 200 && status != 101; }
};

struct Step {
  enum class Kind : std::uint8_t {
    send,    // the client writes bytes
    reply,   // the server answers
    finish,  // the client has nothing more to send (FIN)
    close,   // the server ends the connection, and nothing else came before
    pass,    // time passes in which the server neither says anything nor ends the connection
    hold,    // the client takes nothing more of what the server sends
  };
  Kind kind = Kind::send;
  std::string bytes;                   // of a send
  std::uint32_t pace_ms = 0;           // of a send: before each byte; of a pass: all of it
  std::optional<std::string> message;  // of a send: the JSON that it carries, when it is one call
  bool handshake = false;              // of a send: the same in each; a few cuts of it do
  ExpectedReply reply;                 // of a reply
};

struct Conversation {
  std::string name;
  std::string place;  // "file:line"
  std::vector<Step> steps;
  // Handlers started by the whole conversation; not compared when absent.
  std::optional<std::map<std::string, std::uint64_t>> calls;
  // Lines of the metrics and by how much they grow.
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  bool sockets_only = false;
  bool http_only = false;  // other transports answer otherwise
  // Milliseconds from its beginning to its end: the least and the most.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> took_ms;
  std::uint32_t clients = 1;  // that do this at the same time

  // Whether it is one request and its answer, which needs no connection.
  [[nodiscard]] bool is_single() const;
  // Whether the connection can be used again afterwards.
  [[nodiscard]] bool stays_open() const;
  [[nodiscard]] std::size_t sent_size() const;
};

struct ConversationFile {
  std::string name;                            // the file's, without folder and ending
  std::map<std::string, std::string> options;  // of the server, from its `server` block
  std::vector<Conversation> conversations;
  bool lines = false;  // they are lines of JSON, and no HTTP
  std::string error;   // why it cannot be read; empty otherwise
};

ConversationFile read_conversations(const std::string& path);

enum class MatchState : std::uint8_t { more, matched, wrong };

struct Match {
  MatchState state = MatchState::more;
  std::size_t size = 0;   // bytes of the response, when matched
  std::string complaint;  // when wrong
};

// Compares the response, or line, that the bytes begin with. Dates are checked for their shape
// only.
Match match_reply(const ExpectedReply& expected, std::string_view bytes);

// Returns: the bytes as one line of ASCII, cut when it is long.
std::string shown(std::string_view bytes);

}  // namespace ringrpc::testing
