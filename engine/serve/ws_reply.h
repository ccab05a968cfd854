#pragma once

// Replies as WebSocket messages, and the control frames of ours.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/serve/outbox.h"
#include "engine/serve/reply_room.h"
#include "engine/ws/frame.h"

namespace ringrpc::serve {

// Bytes that a reply leaves in front of its JSON: the header of all but the shortest and the
// longest texts, which move.
inline constexpr std::uint32_t ws_header_room = 4;

// Ends the message whose JSON stands behind ws_header_room bytes.
// Returns: the bytes of its frame, 0 when there is no memory for it.
std::size_t end_message(ReplyRoom& room);

// Writes a pong. Requires: room for pong_frame_max bytes. Returns: its size.
inline constexpr std::uint32_t pong_frame_max = 2 + ws::control_size_max;
std::uint32_t write_pong(char* out, std::string_view payload);

// Each appends one frame. Returns: false when there is no memory for it.
bool append_frame(Outbox& outbox, OutList& out, std::string_view frame);
bool write_ping(Outbox& outbox, OutList& out);
bool write_message(Outbox& outbox, OutList& out, std::string_view text);
// Code ws::close_code::none is a close frame without one.
bool write_close(Outbox& outbox, OutList& out, std::uint16_t code, std::string_view reason);

}  // namespace ringrpc::serve
