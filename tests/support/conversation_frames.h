#pragma once

// WebSocket frames in conversations: lines of a block into bytes, and bytes against lines.

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/conversation.h"

namespace ringrpc::testing {

// A client's handshake for a path.
std::string handshake_bytes(std::string_view path);
// What the server says to it.
ExpectedReply handshake_reply();

// The lines of a `frames` block as a client's masked frames, one after the other.
// Returns: false when a line is no frame; `bytes` says which.
bool frames_bytes(std::string_view text, std::string& bytes);

// The lines of a `hears` block.
std::vector<std::string> heard_frames(std::string_view text);

// Compares as many frames of a server as there are lines. A pong may stand anywhere among them:
// pings are answered when nothing else is to be read.
Match match_frames(const std::vector<std::string>& lines, std::string_view bytes,
                   bool any_order = false);

}  // namespace ringrpc::testing
