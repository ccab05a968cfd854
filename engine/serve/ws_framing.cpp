#include "engine/serve/ws_framing.h"

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/ws/close.h"

namespace ringrpc::serve {
namespace {

// A message that comes in pieces gets room for so many times what has come, at most for what its
// frame has announced: announcing is cheap, so it buys little, and growing copies a fifteenth.
constexpr std::uint32_t message_room_min = 16u << 10;
constexpr std::uint32_t message_room_factor = 16;

base::Counter counter_of(std::uint16_t code) {
  if (code == ws::close_code::too_large) return base::Counter::limit_message_size;
  if (code == ws::close_code::policy) return base::Counter::limit_websocket_frames;
  return base::Counter::bad_frames;
}

}  // namespace

Step WsFramer::next(Connection& connection, Input& input, Request& request, std::uint64_t now_ms) {
  request.last = false;
  if (input.size != 0) connection.pings_unanswered = 0;
  if (connection.partial != nullptr) [[unlikely]] {
    settle(connection, now_ms);
    while (connection.partial != nullptr) {
      const Step step = next_partial(connection, input, request);
      if (step != Step::need_input || connection.partial != nullptr) return step;
    }
  }
  while (input.size != 0) {
    const ws::WholeFrame frame = ws::read_whole(input.data, input.data + input.size, rules_);
    if (frame.kind == ws::WholeFrame::Kind::refused) return refuse(request, frame.close_code);
    if (frame.kind == ws::WholeFrame::Kind::other) return begin(connection, input, request, now_ms);
    input.consume(static_cast<std::uint32_t>(frame.size));
    if (frame.kind == ws::WholeFrame::Kind::text) [[likely]]
      return deliver(connection, frame.payload, request);
    const Step step = control(frame.opcode, frame.payload, request);
    if (step != Step::need_input) return step;
  }
  return Step::need_input;
}

Step WsFramer::deliver(Connection& connection, std::string_view text, Request& request) {
  request.head = nullptr;
  request.body = text;
  request.admission = {.target = Target::rpc,
                       .mount = static_cast<std::uint8_t>(options_.mount_first + connection.mount)};
  return Step::message;
}

// Returns: Step::need_input unless the connection ends.
Step WsFramer::control(ws::Opcode opcode, std::string_view payload, Request& request) {
  if (opcode == ws::Opcode::pong) return Step::need_input;
  if (opcode == ws::Opcode::ping) {
    pong_pending_ = true;
    pong_size_ = static_cast<std::uint8_t>(payload.size());
    if (!payload.empty()) std::memcpy(pong_.data(), payload.data(), payload.size());
    return Step::need_input;
  }
  ws::Close peers;
  const std::uint16_t refusal = ws::read_close(payload, peers);
  return refusal != 0 ? refuse(request, refusal) : close(request, peers.code);
}

Step WsFramer::close(Request& request, std::uint16_t code) {
  request.status = code;
  request.last = true;
  return Step::broken;
}

Step WsFramer::refuse(Request& request, std::uint16_t code) {
  options_.counters->add(counter_of(code));
  return close(request, code);
}

Step WsFramer::full(Request& request) {
  options_.counters->add(base::Counter::limit_partial_pool);
  return close(request, ws::close_code::try_again_later);
}

// A frame that is not whole, or the first of several.
Step WsFramer::begin(Connection& connection, Input& input, Request& request, std::uint64_t now_ms) {
  connection.partial = options_.pool->take(input.size);
  if (connection.partial == nullptr) return full(request);
  connection.partial->started_ms = now_ms;
  connection.partial->frames = {};
  const Step step = next_partial(connection, input, request);
  // A whole control frame may stand before what is not whole, but it was taken before this.
  RINGRPC_ASSERT(step != Step::need_input || connection.partial != nullptr);
  return step;
}

// Reads on where the block says: first what it has kept, then the input.
// Returns: Step::need_input without a block when nothing is begun any more and input may be left.
Step WsFramer::next_partial(Connection& connection, Input& input, Request& request) {
  for (;;) {
    Partial& partial = *connection.partial;
    const bool kept = partial.raw != 0;
    char* cursor = kept ? partial.data() + partial.end - partial.raw : input.data;
    char* const end = cursor + (kept ? partial.raw : input.size);
    const char* const before = cursor;
    const ws::Decoder::Status status = partial.frames.next(cursor, end, rules_);
    const std::uint32_t taken = static_cast<std::uint32_t>(cursor - before);
    if (kept) {
      partial.raw -= taken;
      partial.unread = partial.raw != 0;
      // What was read last still lies there, until it is put in its place.
      if (partial.raw == 0) partial.end = partial.begin + partial.message_size;
    } else {
      input.consume(taken);
    }
    switch (status) {
      case ws::Decoder::Status::need_more:
        if (partial.frames.at_rest()) forget(connection);
        if (!kept || connection.partial == nullptr || input.size == 0) return Step::need_input;
        break;
      case ws::Decoder::Status::piece:
        if (!put(connection, partial.frames.piece())) return full(request);
        break;
      case ws::Decoder::Status::message:
        partial.whole = true;
        return deliver(connection, {partial.data() + partial.begin, partial.message_size}, request);
      case ws::Decoder::Status::control: {
        const Step step = control(partial.frames.opcode(), partial.frames.payload(), request);
        if (step != Step::need_input) return step;
        // Nothing of it is left, so the short way is taken again for what follows it.
        if (partial.frames.at_rest() && partial.raw == 0) {
          forget(connection);
          return Step::need_input;
        }
        break;
      }
      case ws::Decoder::Status::refused:
        return refuse(request, partial.frames.close_code());
    }
  }
}

// Puts a piece behind those that have come. Returns: false when the pool is used up.
bool WsFramer::put(Connection& connection, std::string_view piece) {
  Partial& partial = *connection.partial;
  const std::uint32_t size = static_cast<std::uint32_t>(piece.size());
  char* const target = partial.data() + partial.begin + partial.message_size;
  if (piece.data() >= partial.data() && piece.data() < partial.data() + partial.capacity) {
    // It was kept in this block, behind the header that is gone now.
    RINGRPC_ASSERT(piece.data() >= target);
    std::memmove(target, piece.data(), size);
    options_.counters->add(base::Counter::bytes_copied, size);
    partial.message_size += size;
    if (partial.raw == 0) partial.end = partial.begin + partial.message_size;
    return true;
  }
  RINGRPC_ASSERT(partial.raw == 0 && partial.end == partial.begin + partial.message_size);
  if (!append(connection, piece, partial.frames.frame_left())) return false;
  connection.partial->message_size += size;
  return true;
}

// Appends bytes, and makes room for some of what is announced behind them.
bool WsFramer::append(Connection& connection, std::string_view bytes, std::uint64_t coming) {
  const std::uint32_t size = static_cast<std::uint32_t>(bytes.size());
  std::uint64_t moved = 0;
  Partial* partial = connection.partial;
  if (partial->room() < size) {
    const std::uint64_t come = std::uint64_t{partial->end} - partial->begin + size;
    const std::uint64_t some =
        std::max<std::uint64_t>(message_room_min, come * message_room_factor);
    const std::uint64_t wanted = size + std::min(coming, some);
    partial = options_.pool->grow(partial, static_cast<std::uint32_t>(wanted), moved);
    if (partial == nullptr) return false;
    connection.partial = partial;
  }
  std::memcpy(partial->data() + partial->end, bytes.data(), size);
  partial->end += size;
  options_.counters->add(base::Counter::bytes_copied, moved + size);
  return true;
}

// The answered message leaves; what was kept behind it becomes the next one's beginning.
void WsFramer::settle(Connection& connection, std::uint64_t now_ms) {
  Partial& partial = *connection.partial;
  if (partial.whole) {
    partial.begin = partial.end - partial.raw;
    partial.message_size = 0;
    partial.whole = false;
  }
  // What was kept came while nobody read it: its time begins now.
  if (partial.unread) partial.started_ms = now_ms;
  if (partial.raw == 0 && partial.frames.at_rest()) forget(connection);
}

void WsFramer::forget(Connection& connection) {
  options_.pool->give(connection.partial);
  connection.partial = nullptr;
}

bool WsFramer::keep(Connection& connection, Input& input) {
  if (connection.partial != nullptr) settle(connection, connection.partial->started_ms);
  if (input.size == 0) return true;
  if (connection.partial == nullptr) {
    connection.partial = options_.pool->take(input.size);
    if (connection.partial != nullptr) connection.partial->frames = {};
  }
  if (connection.partial != nullptr && append(connection, {input.data, input.size}, 0)) {
    connection.partial->raw += input.size;
    connection.partial->unread = true;
    input.consume(input.size);
    return true;
  }
  options_.counters->add(base::Counter::limit_partial_pool);
  return false;
}

void WsFramer::adopt(Connection& connection, std::uint64_t now_ms) {
  if (connection.partial == nullptr) return;
  Partial& partial = *connection.partial;
  // The handshake is whole in it, or it holds what came while calls before it were answered.
  RINGRPC_ASSERT(partial.whole || partial.head_size == 0);
  partial.begin += partial.message_size;
  partial.head_size = partial.message_size = partial.body_left = 0;
  partial.chunked = partial.whole = false;
  partial.raw = partial.end - partial.begin;
  partial.unread = partial.raw != 0;
  partial.started_ms = now_ms;
  partial.frames = {};
  if (partial.raw == 0) forget(connection);
}

}  // namespace ringrpc::serve
