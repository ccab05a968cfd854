#pragma once

// What passes between the framers and the worker: bytes in, whole messages out.

#include <cstdint>
#include <string_view>

#include "engine/http/request.h"
#include "engine/serve/endpoint.h"
#include "engine/serve/protocol.h"

namespace ringrpc::serve {

// Received bytes that have not been read yet.
struct Input {
  char* data = nullptr;
  std::uint32_t size = 0;

  void consume(std::uint32_t count) {
    data += count;
    size -= count;
  }
};

// A message as a framer hands it on.
// Lifetime: its views are valid until the framer's next call for the same connection.
struct Request {
  const http::Request* head = nullptr;  // of HTTP only
  std::string_view body;
  Admission admission;
  Protocol protocol = Protocol::http;  // set by the worker
  std::uint16_t status = 0;            // of a refusal, in the words of HTTP
  std::string_view reason;             // of Step::broken, where there is no status; a constant
  bool last = false;                   // the connection ends after the answer
};

enum class Step : std::uint8_t {
  need_input,  // the input is used up; nothing is whole
  message,     // request is whole and admitted
  refused,     // not admitted; answer with request.admission
  go_on,       // HTTP: answer "100 Continue" and call again
  broken,      // the bytes are no such protocol, or over a limit: answer request.status and end
};

}  // namespace ringrpc::serve
