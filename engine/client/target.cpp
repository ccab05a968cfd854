#include "engine/client/target.h"

#include <sys/un.h>

#include <algorithm>
#include <charconv>

namespace ringrpc::client {
namespace {

struct Scheme {
  std::string_view prefix;
  Protocol protocol;
  Target::Way way;
};

constexpr Scheme schemes[] = {
    {"http://", Protocol::http, Target::Way::tcp},
    {"ws://", Protocol::websocket, Target::Way::tcp},
    {"tcp://", Protocol::lines, Target::Way::tcp},
    {"unix-http:", Protocol::http, Target::Way::unix_socket},
    {"unix-ws:", Protocol::websocket, Target::Way::unix_socket},
    {"unix:", Protocol::lines, Target::Way::unix_socket},
    {"stdio:", Protocol::lines, Target::Way::process},
};

constexpr std::uint16_t http_port = 80;

// Reads ":PORT". Returns: false when it is something else.
bool read_port(std::string_view text, std::uint16_t& port) {
  if (text.size() < 2 || text.front() != ':') return false;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, port);
  return error == std::errc() && rest == end && port != 0;
}

std::string read_authority(std::string_view text, Target& out) {
  if (text.find('@') != std::string_view::npos) return "the URL has a user name";
  std::size_t host_size = std::min(text.find(':'), text.size());
  std::string_view host = text.substr(0, host_size);
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return "the URL's address has no closing bracket";
    host = text.substr(1, bracket - 1);
    host_size = bracket + 1;
  }
  if (host.empty()) return "the URL has no host";
  out.host = host;
  out.authority = text;
  const std::string_view port = text.substr(host_size);
  if (port.empty() && out.protocol != Protocol::lines) {
    out.port = http_port;
  } else if (port.empty()) {
    return "the URL has no port";
  } else if (!read_port(port, out.port)) {
    return "the URL's port is not a number from 1 to 65535";
  }
  return {};
}

std::string read_tcp(std::string_view text, Target& out) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) {
      return "the URL holds a blank or a control character";
    }
  }
  if (text.find('#') != std::string_view::npos) return "the URL has a fragment";
  const std::size_t size = std::min(text.find_first_of("/?"), text.size());
  const std::string_view target = text.substr(size);
  if (out.protocol == Protocol::lines && !target.empty() && target != "/") {
    return "a tcp:// URL has no path";
  }
  out.target = target;
  if (!out.target.starts_with('/')) out.target.insert(0, 1, '/');
  return read_authority(text.substr(0, size), out);
}

std::string read_path(std::string_view text, Target& out) {
  if (text.empty()) return "the URL has no path of a socket";
  if (text.find('\0') != std::string_view::npos) return "the socket's path holds a NUL";
  if (text.size() >= sizeof(sockaddr_un::sun_path)) return "the socket's path is too long";
  out.path = text;
  out.authority = "localhost";
  return {};
}

// Words are separated by blanks; quotes of either kind hold blanks together.
std::string read_command(std::string_view text, Target& out) {
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : text) {
    if (c == '\0') return "the command holds a NUL";
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (quote == 0 && c == ' ') {
      if (in_word) out.command.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return "the command has a quote without its partner";
  if (in_word) out.command.push_back(std::move(word));
  if (out.command.empty() || out.command.front().empty()) return "the URL has no command";
  return {};
}

}  // namespace

std::string Target::name() const {
  switch (way) {
    case Way::tcp:
      // The port, too, that was not written.
      return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
    case Way::unix_socket:
      return path;
    case Way::process:
      return command.empty() ? std::string() : command.front();
  }
  return {};
}

std::string read_url(std::string_view text, Target& out) {
  for (const Scheme& scheme : schemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    out = Target();
    out.protocol = scheme.protocol;
    out.way = scheme.way;
    const std::string_view rest = text.substr(scheme.prefix.size());
    switch (scheme.way) {
      case Target::Way::tcp:
        return read_tcp(rest, out);
      case Target::Way::unix_socket:
        return read_path(rest, out);
      case Target::Way::process:
        return read_command(rest, out);
    }
  }
  return "the URL must begin with http://, ws://, tcp://, unix:, unix-http:, unix-ws: or stdio:";
}

}  // namespace ringrpc::client
