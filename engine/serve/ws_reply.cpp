#include "engine/serve/ws_reply.h"

#include <cstring>

#include "engine/base/assert.h"
#include "engine/ws/close.h"
#include "engine/ws/frame.h"

namespace ringrpc::serve {

std::size_t end_message(ReplyRoom& room) {
  const JsonWriter& writer = room.writer();
  if (writer.overflowed()) return 0;
  RINGRPC_ASSERT(writer.size() >= ws_header_room, writer.size());
  const std::size_t text_size = writer.size() - ws_header_room;
  const std::uint32_t header_size = ws::header_size(text_size, false);
  if (header_size != ws_header_room) {
    if (!room.ensure(writer.size(), header_size + text_size)) return 0;
    std::memmove(room.begin() + header_size, room.begin() + ws_header_room, text_size);
  }
  ws::write_header(room.begin(), ws::Opcode::text, true, text_size);
  return header_size + text_size;
}

std::uint32_t write_pong(char* out, std::string_view payload) {
  const std::uint32_t size = ws::write_header(out, ws::Opcode::pong, true, payload.size());
  if (!payload.empty()) std::memcpy(out + size, payload.data(), payload.size());
  return size + static_cast<std::uint32_t>(payload.size());
}

bool append_frame(Outbox& outbox, OutList& out, std::string_view frame) {
  const std::uint32_t size = static_cast<std::uint32_t>(frame.size());
  const Outbox::Room room = outbox.open(size);
  if (room.empty()) return false;
  std::memcpy(room.begin, frame.data(), size);
  return outbox.commit(out, room.begin, size);
}

bool write_ping(Outbox& outbox, OutList& out) {
  char frame[2];
  return append_frame(outbox, out, {frame, ws::write_header(frame, ws::Opcode::ping, true, 0)});
}

bool write_close(Outbox& outbox, OutList& out, std::uint16_t code, std::string_view reason) {
  char frame[2 + ws::control_size_max];
  const std::uint32_t size = code == ws::close_code::none
                                 ? ws::write_header(frame, ws::Opcode::close, true, 0)
                                 : ws::write_close(frame, code, reason);
  return append_frame(outbox, out, {frame, size});
}

// The text was written elsewhere, and may be as large as a reply may be.
bool write_message(Outbox& outbox, OutList& out, std::string_view text) {
  const std::uint32_t header_size = ws::header_size(text.size(), false);
  Outbox::Room room = outbox.open(ws::header_size_max);
  if (room.empty()) return false;
  ws::write_header(room.begin, ws::Opcode::text, true, text.size());
  const std::size_t size = header_size + text.size();
  if (static_cast<std::size_t>(room.end - room.begin) < size) {
    const Outbox::Room larger = outbox.grow(room.begin, header_size, size);
    if (larger.empty()) {
      outbox.abandon(room.begin);
      return false;
    }
    room = larger;
  }
  std::memcpy(room.begin + header_size, text.data(), text.size());
  return outbox.commit(out, room.begin, static_cast<std::uint32_t>(size));
}

}  // namespace ringrpc::serve
