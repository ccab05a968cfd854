#pragma once

// One connection of a client, and the messages on it.

#include <ringrpc/client_options.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/client/http_response.h"
#include "engine/client/socket.h"
#include "engine/client/target.h"
#include "engine/http/sse.h"
#include "engine/ws/decoder.h"

namespace ringrpc::client {

// Turns bytes into messages and back, and knows nothing of calls. Nothing here waits.
// Owns:      the socket, what has come and is not read yet (at most one message and one receive).
// Lifetime:  a view that take() gave is valid until the next take(), close() or on_ready().
// Thread:    one owner.
// Invariant: on HTTP one request at a time: between send() and reply_end.
class Link {
 public:
  enum class State : std::uint8_t { closed, connecting, open };
  // What take() found.
  enum class Item : std::uint8_t {
    nothing,
    opened,     // it may be sent on
    head,       // HTTP: the response has begun, see response()
    message,    // a whole message; on HTTP an event of a stream
    body,       // HTTP: the whole body of a response that is no event stream
    reply_end,  // HTTP: the response has ended
    failed,     // it is over, see sentence(); close() it
  };

  // Lifetime: target and options outlive it.
  Link(const Target& target, const ClientOptions& options)
      : target_(target), options_(options), events_(options.reply_size_max) {}
  ~Link() { close(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int fd() const { return socket_.fd(); }
  [[nodiscard]] short events() const { return socket_.events(); }

  // Requires: it is closed. What became of it is said by take().
  void open();
  void close();
  // HTTP: closes it so that what has begun is stopped. Requires: as close().
  void reset();

  // Sends one message. `wants_events`: HTTP, whether an event stream may be the answer.
  // Requires: it is open; on HTTP no request is outstanding.
  void send(std::string_view message, bool wants_events);
  // Returns: bytes that send() was given since open(), and those of them that the kernel took. A
  // message of which the last byte was not taken cannot have run.
  [[nodiscard]] std::uint64_t given() const { return given_; }
  [[nodiscard]] std::uint64_t taken() const { return given_ - socket_.unsent(); }

  // Returns: whether take() has something to say that poll(2) does not know of.
  [[nodiscard]] bool has_news() const {
    return failure_ != FailureKind::none || (state_ == State::open && !announced_ && !greeted_);
  }

  // Moves bytes, after poll(2) has said that it can.
  void on_ready(short events);
  // Returns: the next thing that has happened, in order; `text` is that of a message or a body.
  Item take(std::string_view& text);

  // --- HTTP ---
  [[nodiscard]] const ResponseReader& response() const { return reader_; }
  // Returns: whether a request may be sent: none is outstanding, and the server keeps it open.
  [[nodiscard]] bool is_idle() const { return state_ == State::open && !outstanding_; }
  // Returns: whether an idle one has ended meanwhile.
  [[nodiscard]] bool is_stale() const { return socket_.is_stale(); }

  // Returns: why it failed, for people, and of which kind that is.
  [[nodiscard]] const std::string& sentence() const { return sentence_; }
  [[nodiscard]] FailureKind failure() const { return failure_; }

 private:
  Item fail(FailureKind kind, std::string sentence);
  Item take_lines(std::string_view& text);
  Item take_http(std::string_view& text);
  Item take_events(std::string_view& text);
  void greet();
  Item take_greeting();
  Item take_frames(std::string_view& text);
  Item take_control();
  void send_frame(ws::Opcode opcode, std::string_view payload);
  void send_close(std::uint16_t code);
  // Returns: failed for the end of input, once all that came is read; else nothing.
  Item take_end();
  void forget_read();
  void give(std::string_view bytes);

  const Target& target_;
  const ClientOptions& options_;
  Socket socket_;
  ResponseReader reader_;
  http::EventReader events_;
  std::string in_;            // what has come
  std::size_t read_ = 0;      // of in_, what is read
  std::size_t searched_ = 0;  // of in_, where no line end is
  std::string body_;
  ws::Decoder decoder_;
  std::string accept_;      // what the handshake's answer must prove
  std::string_view piece_;  // of the body of an event stream, not read yet
  std::string sentence_;
  FailureKind failure_ = FailureKind::none;
  std::uint64_t given_ = 0;
  std::int64_t ended_ = 1;  // what receive() said at last: 1 while there may be more
  State state_ = State::closed;
  bool announced_ = false;    // opened was said
  bool outstanding_ = false;  // HTTP: a request is being answered
  bool body_said_ = false;
  bool greeted_ = false;  // WebSocket: the handshake was sent
};

}  // namespace ringrpc::client
