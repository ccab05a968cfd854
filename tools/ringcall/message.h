#pragma once

// JSON-RPC messages as a client sees them: one request out, one reply in.

#include <string>
#include <string_view>

namespace ringcall {

// Returns: text as a JSON string, quotes included.
std::string quoted(std::string_view text);

// Returns: the id's token: numbers, strings in quotes and null as they are, anything else quoted.
std::string id_token(std::string_view text);

// Requires: params is empty or JSON; id is a token, empty for a notification.
std::string request(std::string_view method, std::string_view params, std::string_view id);

// The members of a reply, as views into its text; empty when absent.
struct Reply {
  std::string_view result;
  std::string_view error;
  std::string_view id;
};

// Splits an object into its members; values are only delimited, not checked.
// Fails: not an object with exactly one of result and error.
bool parse_reply(std::string_view text, Reply& reply);

}  // namespace ringcall
