#pragma once

// Messages and control frames out of bytes, strictly, over any split of the input, in place.
//
// Source: RFC 6455, 5 and 8.1. Messages are text: this is for JSON. Each rule that a frame breaks
// is found at the first byte that breaks it.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/ws/frame.h"
#include "engine/ws/utf8.h"

namespace ringrpc::ws {

// What a message may have. Limits on the overhead are about peers that cut a message into crumbs.
struct Rules {
  Side reader = Side::server;
  std::uint64_t message_size_max = limits::message_size_max;
  std::uint32_t frames_max = limits::websocket_frames_max;
  // Bytes of headers, and of control frames in between, beyond what the message itself has.
  std::uint32_t overhead_max = limits::websocket_overhead_max;
};

// Reads the frames of one connection, byte position by byte position.
// Lifetime:  a piece points into the caller's input, a control frame's payload into the decoder.
// Cost:      184 bytes while a message comes in parts, or a control frame does; one pass over the
//            payload, and O(1) for each frame.
// Invariant: refused is final.
class Decoder {
 public:
  enum class Status : std::uint8_t {
    need_more,  // all input is consumed
    piece,      // piece() holds bytes of the message, unmasked; call again
    message,    // the message has ended; call again for what follows it
    control,    // a control frame is whole: opcode() and payload(); call again
    refused,    // see close_code()
  };

  // Consumes input, which is unmasked where it lies.
  // Requires: cursor <= end; the same rules each time; the next call goes on where this stopped.
  Status next(char*& cursor, char* end, const Rules& rules);

  [[nodiscard]] std::string_view piece() const { return piece_; }
  [[nodiscard]] Opcode opcode() const { return opcode_; }
  [[nodiscard]] std::string_view payload() const { return {control_, control_size_}; }
  // Why it was refused, as a close frame says it.
  [[nodiscard]] std::uint16_t close_code() const { return close_code_; }
  // Whether it was refused for its frames, or for their overhead.
  [[nodiscard]] bool too_fragmented() const { return close_code_ == close_code::policy; }

  // Whether nothing is begun: the next byte is the first of a message or of a control frame
  // between two messages.
  [[nodiscard]] bool at_rest() const {
    return state_ == State::header && header_size_ == 0 && !in_message_;
  }
  // Bytes of the current frame still to come, 0 while its header does.
  [[nodiscard]] std::uint64_t frame_left() const {
    return state_ == State::payload ? frame_left_ : 0;
  }

 private:
  enum class State : std::uint8_t { header, payload, control, end_of_message, refused };

  bool read_header(char*& cursor, char* end, const Rules& rules);
  void begin_frame(const FrameHeader& header, const Rules& rules);
  Status read_payload(char*& cursor, char* end);
  bool read_control(char*& cursor, char* end);
  bool end_message();
  void refuse(std::uint16_t code);

  std::string_view piece_;
  std::uint64_t frame_left_ = 0;
  std::uint64_t message_size_ = 0;  // as far as headers have announced it
  std::uint32_t key_ = 0;           // for the next byte
  std::uint32_t frames_ = 0;        // of the message
  std::uint64_t overhead_ = 0;      // of the message
  std::uint16_t close_code_ = 0;
  State state_ = State::header;
  Opcode opcode_ = Opcode::text;  // of the control frame
  bool in_message_ = false;
  bool final_ = false;  // the frame is the message's last
  std::uint8_t header_size_ = 0;
  std::uint8_t control_size_ = 0;
  Utf8 utf8_;
  char header_[header_size_max] = {};  // what has come of one that is not whole
  char control_[control_size_max] = {};
};

static_assert(sizeof(Decoder) <= 208, "kept with each connection whose message comes in parts");

// A frame that the input holds whole, while no message is begun.
struct WholeFrame {
  enum class Kind : std::uint8_t {
    text,     // a whole message
    control,  // ping, pong or close
    other,    // in part, or the beginning of a fragmented message: for a Decoder
    refused,
  };
  Kind kind = Kind::other;
  Opcode opcode = Opcode::text;
  std::uint16_t close_code = 0;  // of a refusal
  std::size_t size = 0;          // with its header
  std::string_view payload;      // unmasked where it lies
};

// The short way for what most frames are. Says what a Decoder at rest would; the input is untouched
// when it is for one.
WholeFrame read_whole(char* begin, char* end, const Rules& rules);

}  // namespace ringrpc::ws
