#pragma once

// Where a client's messages go, read from a URL.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc::client {

enum class Protocol : std::uint8_t { http, lines, websocket };

struct Target {
  enum class Way : std::uint8_t { tcp, unix_socket, process };

  Protocol protocol = Protocol::http;
  Way way = Way::tcp;
  std::string host;  // without the brackets of an IPv6 literal
  std::uint16_t port = 0;
  std::string path;                  // of a Unix socket
  std::vector<std::string> command;  // of a process, the program first
  std::string authority;             // as written: what Host carries
  std::string target = "/rpc";       // HTTP and WebSocket: path and query

  // Returns: what messages for people call it.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool has_heads() const { return protocol != Protocol::lines; }
};

// Returns: an empty sentence and fills `out`, or the reason why the text is no such URL.
std::string read_url(std::string_view text, Target& out);

}  // namespace ringrpc::client
