#pragma once

// JSON-RPC messages as a client sees them: what goes out, and the replies that belong to it.

#include <string>
#include <string_view>
#include <vector>

namespace ringcall {

// What is sent, and which replies it waits for.
struct Message {
  std::string text;
  std::vector<std::string> ids;  // tokens of the calls in it, in order; a notification has none
  bool batch = false;
  bool known = true;  // false: not JSON or not a request, so any reply may come
};

// Returns: an id that no other run of this program is likely to have taken.
std::string fresh_id();

// Returns: the id's token: numbers, strings in quotes and null as they are, anything else quoted.
std::string id_token(std::string_view text);

// Requires: params is empty or JSON; id is a token, empty for a notification.
std::string request(std::string_view method, std::string_view params, std::string_view id);

// Takes a whole message, a request or a batch, as it is.
Message take_message(std::string text);

// Makes a batch of lines: each a message, a batch, or "METHOD [PARAMS]" that gets a fresh id.
// Returns: false with a sentence when one is none of these.
bool make_batch(std::string_view lines, Message& message, std::string& error);

// The members of a reply, as views into its text; empty when absent.
struct Reply {
  std::string_view result;
  std::string_view error;
  std::string_view id;
};

// Fails: not JSON, or not an object with exactly one of result and error.
bool parse_reply(std::string_view text, Reply& reply);

// Reads the body of a response: one reply, or an array of them.
bool parse_replies(std::string_view text, std::vector<Reply>& replies);

// Puts replies into the order of the calls, by id; errors without an id come last.
// Returns: false with a sentence when a call has no reply, or a reply belongs to no call.
bool match_replies(const Message& message, const std::vector<Reply>& replies,
                   std::vector<Reply>& ordered, std::string& error);

}  // namespace ringcall
