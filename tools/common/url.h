#pragma once

// Where a request goes: http://HOST[:PORT][/PATH], ws://HOST[:PORT][/PATH], tcp://HOST:PORT,
// unix:PATH or unix-http:PATH.

#include <cstdint>
#include <string>
#include <string_view>

namespace tools {

struct Url {
  bool lines = false;        // lines of JSON in place of HTTP: tcp, unix
  std::string socket_path;   // of a Unix socket: unix, unix-http; the request goes to /rpc then
  std::string host;          // without the brackets of an IPv6 literal
  std::string authority;     // as written: what the Host field carries
  std::string target = "/";  // path and query
  std::uint16_t port = 80;
  bool websocket = false;  // text messages in place of HTTP: ws

  // Whether messages stand alone, so that not each is answered.
  [[nodiscard]] bool two_way() const { return lines || websocket; }
};

// Returns: an empty view and fills `out`, or the reason why the text is not such a URL.
std::string_view parse_url(std::string_view text, Url& out);

}  // namespace tools
