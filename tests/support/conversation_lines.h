#pragma once

// Conversations of HTTP as lines of JSON: what tests/spec tells once holds on every transport.

#include <optional>

#include "tests/support/conversation.h"

namespace ringrpc::testing {

// Returns: the same conversation with each call and each answer on a line of its own; none when it
//          says what only HTTP can, or is marked as HTTP's. With `late`, calls are answered when
//          they are ready, so that answers that come together may do so in any order.
std::optional<Conversation> as_lines(const Conversation& http, bool late = false);

// The conversations of a file that can be lines, which may be none.
ConversationFile as_lines(const ConversationFile& http);

}  // namespace ringrpc::testing
