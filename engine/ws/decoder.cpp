#include "engine/ws/decoder.h"

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/ws/mask.h"

namespace ringrpc::ws {
namespace {

// Unmasks, and checks the text. Returns: false once it cannot be UTF-8 any more.
bool take_text(char* data, std::size_t size, std::uint32_t key, Utf8& utf8) {
  const bool ascii = mask(data, size, key);
  if (ascii && utf8.complete()) [[likely]]
    return true;
  return utf8.feed(data, size);
}

}  // namespace

void Decoder::refuse(std::uint16_t code) {
  state_ = State::refused;
  close_code_ = code;
}

Decoder::Status Decoder::next(char*& cursor, char* end, const Rules& rules) {
  RINGRPC_ASSERT(cursor <= end);
  for (;;) {
    switch (state_) {
      case State::header:
        if (!read_header(cursor, end, rules)) return Status::need_more;
        break;
      case State::payload:
        if (frame_left_ != 0) return read_payload(cursor, end);
        state_ = final_ ? State::end_of_message : State::header;
        break;
      case State::control:
        if (!read_control(cursor, end)) return Status::need_more;
        state_ = State::header;
        return Status::control;
      case State::end_of_message:
        if (end_message()) return Status::message;
        break;
      case State::refused:
        return Status::refused;
    }
  }
}

// Returns: false when its end has not come; else the state says what follows.
bool Decoder::read_header(char*& cursor, char* end, const Rules& rules) {
  const std::size_t kept = header_size_;
  const char* from = cursor;
  const char* to = end;
  if (kept != 0) {
    const std::size_t more =
        std::min<std::size_t>(header_size_max - kept, static_cast<std::size_t>(end - cursor));
    if (more != 0) std::memcpy(header_ + kept, cursor, more);
    from = header_;
    to = header_ + kept + more;
  }
  FrameHeader header;
  const HeaderResult result = ws::read_header(from, to, rules.reader, in_message_, header);
  if (result.status == HeaderStatus::refused) {
    refuse(result.close_code);
    return true;
  }
  if (result.status == HeaderStatus::incomplete) {
    const std::size_t come = static_cast<std::size_t>(to - from);
    RINGRPC_ASSERT(come < header_size_max, come);
    if (kept == 0 && come != 0) std::memcpy(header_, from, come);
    header_size_ = static_cast<std::uint8_t>(come);
    cursor = end;
    return false;
  }
  RINGRPC_ASSERT(header.size > kept, header.size, kept);
  cursor += header.size - kept;
  header_size_ = 0;
  begin_frame(header, rules);
  return true;
}

void Decoder::begin_frame(const FrameHeader& header, const Rules& rules) {
  frame_left_ = header.length;
  key_ = header.key;
  const bool control = is_control(header.opcode);
  if (control) {
    opcode_ = header.opcode;
    control_size_ = 0;
    state_ = State::control;
    if (!in_message_) return;
    overhead_ += header.size + header.length;
  } else {
    RINGRPC_ASSERT(message_size_ <= rules.message_size_max, message_size_);
    if (header.length > rules.message_size_max - message_size_) {
      refuse(close_code::too_large);
      return;
    }
    message_size_ += header.length;
    overhead_ += header.size;
    ++frames_;
    final_ = header.final;
    in_message_ = true;
    state_ = State::payload;
  }
  if (frames_ > rules.frames_max || overhead_ > message_size_ + rules.overhead_max) {
    refuse(close_code::policy);
  }
}

Decoder::Status Decoder::read_payload(char*& cursor, char* end) {
  const std::size_t size = static_cast<std::size_t>(
      std::min<std::uint64_t>(frame_left_, static_cast<std::uint64_t>(end - cursor)));
  if (size == 0) return Status::need_more;
  if (!take_text(cursor, size, key_, utf8_)) {
    refuse(close_code::bad_text);
    return Status::refused;
  }
  piece_ = {cursor, size};
  cursor += size;
  frame_left_ -= size;
  key_ = rotate_key(key_, size);
  return Status::piece;
}

// Returns: whether it is whole.
bool Decoder::read_control(char*& cursor, char* end) {
  const std::size_t size = static_cast<std::size_t>(
      std::min<std::uint64_t>(frame_left_, static_cast<std::uint64_t>(end - cursor)));
  if (size != 0) {
    RINGRPC_ASSERT(control_size_ + size <= control_size_max, control_size_, size);
    std::memcpy(control_ + control_size_, cursor, size);
    mask(control_ + control_size_, size, key_);
    control_size_ = static_cast<std::uint8_t>(control_size_ + size);
    cursor += size;
    frame_left_ -= size;
    key_ = rotate_key(key_, size);
  }
  return frame_left_ == 0;
}

// Returns: false when the text stops within a code point.
bool Decoder::end_message() {
  if (!utf8_.complete()) {
    refuse(close_code::bad_text);
    return false;
  }
  message_size_ = overhead_ = 0;
  frames_ = 0;
  in_message_ = false;
  state_ = State::header;
  return true;
}

WholeFrame read_whole(char* begin, char* end, const Rules& rules) {
  WholeFrame frame;
  FrameHeader header;
  const HeaderResult result = read_header(begin, end, rules.reader, false, header);
  if (result.status != HeaderStatus::complete) [[unlikely]] {
    if (result.status == HeaderStatus::refused) frame.kind = WholeFrame::Kind::refused;
    frame.close_code = result.close_code;
    return frame;
  }
  const std::uint64_t come = static_cast<std::uint64_t>(end - begin) - header.size;
  if (!header.final || header.length > come) return frame;
  char* const payload = begin + header.size;
  const std::size_t size = static_cast<std::size_t>(header.length);
  frame.opcode = header.opcode;
  frame.size = header.size + size;
  frame.payload = {payload, size};
  if (is_control(header.opcode)) {
    mask(payload, size, header.key);
    frame.kind = WholeFrame::Kind::control;
    return frame;
  }
  frame.kind = WholeFrame::Kind::refused;
  Utf8 utf8;
  if (size > rules.message_size_max) {
    frame.close_code = close_code::too_large;
  } else if (!take_text(payload, size, header.key, utf8) || !utf8.complete()) {
    frame.close_code = close_code::bad_text;
  } else {
    frame.kind = WholeFrame::Kind::text;
  }
  return frame;
}

}  // namespace ringrpc::ws
