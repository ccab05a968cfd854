#pragma once

// Conversations as messages of a WebSocket: what tests/spec tells once holds on every transport.

#include <optional>

#include "tests/support/conversation.h"

namespace ringrpc::testing {

// The conversations of a file that can be messages, which may be none: those that can be lines
// (conversation_lines.h), each with a handshake in front and a close behind.
ConversationFile as_messages(const ConversationFile& file);

}  // namespace ringrpc::testing
