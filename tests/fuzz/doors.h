#pragma once

// The public doors of a server, and what holds of every answer whatever came in.

#include <ringrpc/server.h>

#include <string>
#include <string_view>

namespace ringrpc::fuzz {

// A server with handlers of every kind, small limits, and both ways through each door.
class Doors {
 public:
  static constexpr std::size_t message_size_max = 1u << 14;

  Doors();

  // Returns: the reply, after checking that it is the same from a text at the end of its memory.
  std::string call(std::string_view text);
  // The same for a request; the response's Date is left out.
  std::string call_http(std::string_view request);

 private:
  Server server_;
};

// Asserts that the reply is one that a server may give to the text: nothing where nobody asks, else
// JSON without white space, one entry for each message that wants one, in order, under its id, with
// a result or an error of a known code.
void check_reply(std::string_view text, std::string_view reply);

// The parts of a response.
struct Response {
  int status = 0;
  std::string content_type;
  bool close = false;
  std::string body;
};

// Asserts that the bytes are one response, whole and no more, with fields that this server sends.
// `head_only`: to HEAD, whose response has a length and no body.
Response check_response(std::string_view bytes, bool head_only);

}  // namespace ringrpc::fuzz
