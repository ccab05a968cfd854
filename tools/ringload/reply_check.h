#pragma once

// The full check of one reply: everything that HTTP/1.1 and JSON-RPC 2.0 say about its form, its
// ids, and its results.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tools/ringload/tape.h"

namespace ringload {

// `id` replaces the id of the message's only call when it is not empty.
// Returns: an empty text, or a sentence that says what is wrong with the reply.
std::string check_reply(std::string_view reply, const Message& message, std::string_view id);

// The same for a line of JSON, and for a message that stands alone.
std::string check_line(std::string_view line, const Message& message, std::string_view id);
std::string check_text(std::string_view text, const Message& message, std::string_view id);

// Adds the code of each error in a body that check_rpc() has found to hold some.
void count_codes(std::string_view body, std::map<std::int64_t, std::uint64_t>& codes);

// Returns: the first bytes of a reply, printable.
std::string excerpt(std::string_view bytes);

}  // namespace ringload
