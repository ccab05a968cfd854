#pragma once

// How messages are framed on a connection.

#include <cstdint>

namespace ringrpc::serve {

enum class Protocol : std::uint8_t {
  http,       // a request in, its response out, in order
  lines,      // one JSON value a line, both ways
  websocket,  // one JSON value a text message, both ways; begins as http
};

// What is spoken on the connections of one listener.
struct Door {
  Protocol protocol = Protocol::http;
  // Its peers are not held to timeouts: the process at the other end of stdin and stdout may think
  // as long as it likes.
  bool patient = false;
};

}  // namespace ringrpc::serve
