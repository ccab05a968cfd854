#pragma once

// The chunked transfer coding, strictly: a body out of pieces, over any split of the input.
//
// Sources: RFC 9112, 7.1. Extensions have no white space around them, sizes at most 16 digits.

#include <ringrpc/limits.h>

#include <cstdint>
#include <string_view>

namespace ringrpc::http {

// Decodes one chunked body, byte position by byte position; refuses at the first bad byte.
// Lifetime:  a piece points into the caller's input.
// Cost:      24 bytes while a body is read; O(1) for each byte outside of chunk data, and a fast
// way
//            for the few bytes between two chunks.
// Invariant: refused and done are final.
class ChunkDecoder {
 public:
  enum class Status : std::uint8_t {
    piece,      // `piece` holds body bytes; call again
    need_more,  // all input is consumed
    done,       // the body has ended, the cursor is behind it
    refused,    // see http_status()
  };

  // Consumes input up to the next piece of body.
  // Requires: cursor <= end; the next call goes on where this one stopped.
  Status next(const char*& cursor, const char* end, std::string_view& piece);

  // 400, or 431 for trailers over their limit; 0 unless refused.
  [[nodiscard]] std::uint16_t http_status() const { return http_status_; }

  // Returns: whether it was refused for the size of its extensions.
  [[nodiscard]] bool extensions_too_large() const {
    return extension_size_ > limits::chunk_extension_size_max;
  }

  // Bytes of the current chunk that have not been given out, 0 until its size line has ended. With
  // what has been, a lower bound of the body's size: an announced chunk over the limit can be
  // refused before it comes.
  [[nodiscard]] std::uint64_t remaining() const { return state_ == State::data ? remaining_ : 0; }

 private:
  enum class State : std::uint8_t {
    size_first,  // the first digit
    size,
    extension_first,  // behind ';'
    extension_name,
    extension_value_first,  // behind '='
    extension_value,
    extension_quoted,
    extension_escaped,  // behind '\' in a quoted value
    extension_end,      // behind the closing quote
    size_line_feed,
    data,
    data_return,
    data_line_feed,
    trailer_first,  // start of a trailer line
    trailer_name,
    trailer_value,
    trailer_line_feed,
    final_line_feed,
    done,
    refused,
  };

  const char* between_chunks(const char* cursor, const char* end);
  void step(char c);
  void step_size(char c);
  void step_extension(char c);
  void step_trailer(char c);
  void end_size_line(char c);
  bool count_extension_byte();
  void refuse(std::uint16_t http_status);

  std::uint64_t remaining_ = 0;
  std::uint32_t extension_size_ = 0;  // of all chunks
  std::uint32_t trailer_size_ = 0;
  std::uint16_t trailer_fields_ = 0;
  std::uint16_t http_status_ = 0;
  State state_ = State::size_first;
  std::uint8_t digits_ = 0;
};

static_assert(sizeof(ChunkDecoder) <= 32, "kept with each connection that reads a chunked body");

}  // namespace ringrpc::http
