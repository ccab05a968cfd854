#include "tools/common/url.h"

#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace tools {

namespace {

// Reads ":PORT" or nothing. Returns: false when it is neither.
bool read_port(std::string_view text, std::uint16_t& port) {
  if (text.empty()) return true;
  if (text.front() != ':' || text.size() < 2) return false;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, port);
  return error == std::errc() && rest == end && port != 0;
}

struct SocketScheme {
  std::string_view prefix;
  bool lines;
};
constexpr SocketScheme socket_schemes[] = {{"unix-http:", false}, {"unix:", true}};

std::string_view read_socket_path(std::string_view path, Url& out) {
  if (path.empty()) return "the URL has no path of a socket";
  if (path.size() >= sizeof(sockaddr_un::sun_path)) return "the socket's path is too long";
  out.socket_path = path;
  out.authority = "localhost";
  out.target = "/rpc";
  return {};
}

}  // namespace

std::string_view parse_url(std::string_view text, Url& out) {
  out = Url();
  for (const SocketScheme& scheme : socket_schemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    out.lines = scheme.lines;
    return read_socket_path(text.substr(scheme.prefix.size()), out);
  }
  constexpr std::string_view http = "http://";
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view ws = "ws://";
  out.lines = text.starts_with(tcp);
  out.websocket = text.starts_with(ws);
  if (!out.lines && !out.websocket && !text.starts_with(http)) {
    return "the URL must begin with http://, ws://, tcp://, unix: or unix-http:";
  }
  for (const char c : text) {
    if (c <= ' ' || c == 0x7F) return "the URL holds a blank or a control character";
  }
  text.remove_prefix(out.lines ? tcp.size() : out.websocket ? ws.size() : http.size());
  if (text.find('#') != std::string_view::npos) return "the URL has a fragment";
  const std::size_t authority_size = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, authority_size);
  const std::string_view target = text.substr(authority_size);
  if (authority.find('@') != std::string_view::npos) return "the URL has a user name";

  std::size_t host_size = authority.find(':');
  std::string_view host = authority.substr(0, host_size);
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return "the URL's address has no closing bracket";
    host = authority.substr(1, bracket - 1);
    host_size = bracket + 1;
  }
  if (host.empty()) return "the URL has no host";
  out.port = 80;
  const std::string_view port =
      host_size < authority.size() ? authority.substr(host_size) : std::string_view();
  if (!read_port(port, out.port)) return "the URL's port is not a number from 1 to 65535";
  if (out.lines && (port.empty() || target.size() > 1)) return "tcp:// wants HOST:PORT, no more";
  out.host = host;
  out.authority = authority;
  out.target = target;
  if (out.target.empty() || out.target.front() != '/') out.target.insert(0, 1, '/');
  return {};
}

}  // namespace tools
