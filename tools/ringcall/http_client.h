#pragma once

// A small blocking HTTP/1.1 client: one request on one connection, which is then closed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringcall {

struct Url {
  std::string host;  // a name or an address, without brackets
  std::string port = "80";
  std::string authority;  // as in the URL, for Host
  std::string target = "/";
};

// Fails: not http://HOST[:PORT][/PATH]; `error` says what is wrong.
bool parse_url(std::string_view text, Url& url, std::string& error);

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  Url url;
  std::vector<Header> headers;  // one that is named here replaces the client's own
  std::string body;
  double timeout_s = 30;  // for everything, from connecting to the last byte
};

struct Response {
  int status = 0;
  std::string head;  // status line and fields, as they came
  std::string body;  // chunks decoded

  // Returns: the value of the first field of that name, trimmed; empty when absent.
  [[nodiscard]] std::string_view field(std::string_view name) const;
};

// Bytes of a response beyond which the client gives up.
inline constexpr std::size_t response_size_max = std::size_t{1} << 30;
inline constexpr std::size_t response_head_size_max = std::size_t{1} << 16;

// Returns: the bytes of the request, head and body.
std::string render(const Request& request);

// Sends a POST and waits for its response.
// Fails: no response that HTTP/1.1 allows within the timeout; `error` says why.
bool post(const Request& request, Response& response, std::string& error);

}  // namespace ringcall
