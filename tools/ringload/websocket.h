#pragma once

// What a load over ws:// needs of RFC 6455: the handshake, ready-made frames, and the sizes of the
// server's.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/url.h"
#include "tools/ringload/framing.h"

namespace ringload {

// The handshake, with further field lines.
std::string make_handshake(const tools::Url& url, const std::vector<std::string>& extra);

// A text message in one frame. All are masked with the same key, so that requests can be sent again
// and again.
std::string make_frame(std::string_view text);

inline constexpr std::uint8_t opcode_close = 8;
inline constexpr std::uint8_t opcode_ping = 9;
inline constexpr std::uint8_t opcode_pong = 10;

// The answer to a ping, in one frame.
std::string make_pong(std::string_view payload);

// Returns: code and reason of a close frame as text.
std::string close_text(std::string_view payload);

// Reads the header of a server's frame as the head of a reply with status 200. Whatever is neither
// text in one frame nor a control frame is bad: the server was not asked for anything else.
HeadStatus read_frame_head(std::string_view bytes, ReplyHead& head);

// Sends the handshake over a blocking socket and reads what comes back, within `timeout_ns`.
// Returns: false with a sentence when the server does not agree.
bool shake_hands(int fd, const std::string& handshake, std::uint64_t timeout_ns,
                 std::string& error);

}  // namespace ringload
