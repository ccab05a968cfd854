#include "engine/http/chunks.h"

#include <ringrpc/limits.h>

#include <array>

#include "engine/base/assert.h"
#include "engine/http/chars.h"

namespace ringrpc::http {

namespace {

constexpr std::uint16_t bad_request = 400;
constexpr std::uint16_t fields_too_large = 431;
constexpr std::int8_t no_digit = -1;

constexpr std::array<std::int8_t, 256> hex_digits = [] {
  std::array<std::int8_t, 256> digits{};
  digits.fill(no_digit);
  for (std::int8_t i = 0; i < 16; ++i) {
    digits[static_cast<unsigned char>("0123456789abcdef"[i])] = i;
    digits[static_cast<unsigned char>("0123456789ABCDEF"[i])] = i;
  }
  return digits;
}();

int hex_digit(char c) { return hex_digits[static_cast<unsigned char>(c)]; }

static_assert(limits::chunk_size_digits_max <= 16, "a size fits into 64 bits without a check");

}  // namespace

void ChunkDecoder::refuse(std::uint16_t http_status) {
  RINGRPC_ASSERT(state_ != State::done && state_ != State::refused, state_);
  state_ = State::refused;
  http_status_ = http_status;
  remaining_ = 0;
}

// Returns: false, and has refused, when the extensions of all chunks are too large together.
bool ChunkDecoder::count_extension_byte() {
  if (extension_size_ == limits::chunk_extension_size_max) {
    ++extension_size_;
    refuse(bad_request);
    return false;
  }
  ++extension_size_;
  return true;
}

// Behind the digits, or behind an extension.
void ChunkDecoder::end_size_line(char c) {
  if (c == '\r') {
    state_ = State::size_line_feed;
  } else if (c == ';') {
    state_ = State::extension_first;
  } else {
    refuse(bad_request);
  }
}

void ChunkDecoder::step_size(char c) {
  const int digit = hex_digit(c);
  if (digit == no_digit) {
    if (digits_ == 0) return refuse(bad_request);
    if (c == ';' && !count_extension_byte()) return;
    return end_size_line(c);
  }
  if (digits_ == limits::chunk_size_digits_max) return refuse(bad_request);
  ++digits_;
  remaining_ = remaining_ << 4 | static_cast<std::uint64_t>(digit);
  state_ = State::size;
}

// ;name, ;name=token and ;name="quoted", again and again.
void ChunkDecoder::step_extension(char c) {
  switch (state_) {
    case State::extension_first:
      if (!is_token(c)) return refuse(bad_request);
      state_ = State::extension_name;
      return;
    case State::extension_name:
      if (is_token(c)) return;
      if (c != '=') return end_size_line(c);
      state_ = State::extension_value_first;
      return;
    case State::extension_value_first:
      if (!is_token(c) && c != '"') return refuse(bad_request);
      state_ = c == '"' ? State::extension_quoted : State::extension_value;
      return;
    case State::extension_value:
      if (!is_token(c)) end_size_line(c);
      return;
    case State::extension_quoted:
      if (!is_value(c)) return refuse(bad_request);
      if (c == '"') state_ = State::extension_end;
      if (c == '\\') state_ = State::extension_escaped;
      return;
    case State::extension_escaped:
      if (!is_value(c)) return refuse(bad_request);
      state_ = State::extension_quoted;
      return;
    default:
      RINGRPC_ASSERT(state_ == State::extension_end, state_);
      end_size_line(c);
  }
}

// Trailer lines keep the rules of header lines, and nobody reads them.
void ChunkDecoder::step_trailer(char c) {
  if (trailer_size_ == limits::trailer_size_max) return refuse(fields_too_large);
  ++trailer_size_;
  switch (state_) {
    case State::trailer_first:
      if (c == '\r') {
        state_ = State::final_line_feed;
        return;
      }
      if (trailer_fields_ == limits::head_fields_max) return refuse(fields_too_large);
      if (!is_token(c)) return refuse(bad_request);
      ++trailer_fields_;
      state_ = State::trailer_name;
      return;
    case State::trailer_name:
      if (c == ':') {
        state_ = State::trailer_value;
      } else if (!is_token(c)) {
        refuse(bad_request);
      }
      return;
    case State::trailer_value:
      if (c == '\r') {
        state_ = State::trailer_line_feed;
      } else if (!is_value(c)) {
        refuse(bad_request);
      }
      return;
    case State::trailer_line_feed:
      if (c != '\n') return refuse(bad_request);
      state_ = State::trailer_first;
      return;
    default:
      RINGRPC_ASSERT(state_ == State::final_line_feed, state_);
      if (c != '\n') return refuse(bad_request);
      state_ = State::done;
  }
}

void ChunkDecoder::step(char c) {
  switch (state_) {
    case State::size_first:
    case State::size:
      return step_size(c);
    case State::size_line_feed:
      if (c != '\n') return refuse(bad_request);
      state_ = remaining_ == 0 ? State::trailer_first : State::data;
      return;
    case State::data_return:
      if (c != '\r') return refuse(bad_request);
      state_ = State::data_line_feed;
      return;
    case State::data_line_feed:
      if (c != '\n') return refuse(bad_request);
      state_ = State::size_first;
      digits_ = 0;
      return;
    case State::trailer_first:
    case State::trailer_name:
    case State::trailer_value:
    case State::trailer_line_feed:
    case State::final_line_feed:
      return step_trailer(c);
    default:
      break;
  }
  RINGRPC_ASSERT(state_ >= State::extension_first && state_ <= State::extension_end, state_);
  // The CR that ends an extension is the size line's own.
  if (c != '\r' && !count_extension_byte()) return;
  step_extension(c);
}

// CR LF, one to four digits and CR LF in one go, when all of it is there.
// Returns: the first byte that is left for step().
const char* ChunkDecoder::between_chunks(const char* cursor, const char* end) {
  constexpr std::ptrdiff_t longest = 8;
  if (end - cursor < longest || cursor[0] != '\r' || cursor[1] != '\n') return cursor;
  std::uint64_t size = 0;
  int digits = 0;
  for (; digits < 4; ++digits) {
    const int digit = hex_digit(cursor[2 + digits]);
    if (digit == no_digit) break;
    size = size << 4 | static_cast<std::uint64_t>(digit);
  }
  const char* const line_end = cursor + 2 + digits;
  if (digits == 0 || size == 0 || line_end[0] != '\r' || line_end[1] != '\n') return cursor;
  remaining_ = size;
  state_ = State::data;
  return line_end + 2;
}

ChunkDecoder::Status ChunkDecoder::next(const char*& cursor, const char* end,
                                        std::string_view& piece) {
  RINGRPC_ASSERT(cursor <= end);
  const char* p = cursor;
  if (state_ == State::data_return) p = between_chunks(p, end);
  while (state_ != State::data && state_ < State::done && p < end) step(*p++);
  if (state_ == State::done || state_ == State::refused) {
    cursor = p;
    return state_ == State::done ? Status::done : Status::refused;
  }
  if (p == end) {
    cursor = p;
    return Status::need_more;
  }
  RINGRPC_ASSERT(state_ == State::data && remaining_ > 0, state_, remaining_);
  const auto there = static_cast<std::uint64_t>(end - p);
  const std::uint64_t size = remaining_ < there ? remaining_ : there;
  piece = {p, static_cast<std::size_t>(size)};
  remaining_ -= size;
  if (remaining_ == 0) state_ = State::data_return;
  cursor = p + size;
  return Status::piece;
}

}  // namespace ringrpc::http
