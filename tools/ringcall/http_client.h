#pragma once

// A small blocking HTTP/1.1 client: one request on one connection, which is then closed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/url.h"

namespace ringcall {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  tools::Url url;
  std::vector<Header> headers;  // one that is named here replaces the client's own
  std::string body;
  double timeout_s = 30;  // for everything, from connecting to the last byte
};

// Milliseconds since post() was called.
struct Timing {
  double connected = 0;
  double first_byte = 0;  // of the response
  double total = 0;
};

struct Response {
  int status = 0;
  std::string head;  // status line and fields, as they came
  std::string body;  // chunks decoded
  Timing timing;

  // Returns: the value of the first field of that name, trimmed; empty when absent.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

// Reads "NAME: VALUE". Returns: false when it cannot be sent as one line of a head.
bool parse_header(std::string_view text, Header& header);

// Bytes of a response beyond which the client gives up.
inline constexpr std::size_t response_size_max = std::size_t{1} << 30;
inline constexpr std::size_t response_head_size_max = std::size_t{1} << 16;

// Returns: the bytes of the request, head and body.
std::string render(const Request& request);

// Sends a POST and waits for its response.
// Fails: no response that HTTP/1.1 allows within the timeout; `error` says why.
bool post(const Request& request, Response& response, std::string& error);

}  // namespace ringcall
