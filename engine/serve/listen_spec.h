#pragma once

// What an option says that a server shall listen on.

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/serve/protocol.h"

namespace ringrpc::serve {

struct ListenSpec {
  enum class Kind : std::uint8_t { http, tcp, unix_lines, unix_http };
  Kind kind = Kind::http;
  std::string where;  // HOST:PORT, or a path

  [[nodiscard]] bool on_path() const { return kind == Kind::unix_lines || kind == Kind::unix_http; }
  [[nodiscard]] Door door() const {
    const bool lines = kind == Kind::tcp || kind == Kind::unix_lines;
    return {.protocol = lines ? Protocol::lines : Protocol::http};
  }
  // Returns: the first word of its line in the port file.
  [[nodiscard]] std::string_view name() const;
  // Returns: what ListenSpec was read from, with the address that it has become.
  [[nodiscard]] std::string url(std::string_view address) const;
};

// Reads "HOST:PORT" (HTTP), "http://HOST:PORT", "tcp://HOST:PORT", "unix:PATH" or "unix-http:PATH".
// Any text becomes one; check() says whether it can be listened on.
ListenSpec read_listen_spec(std::string_view text);

// Checks the address or path, and looks a host's name up; binds nothing.
// Fails: EINVAL for bad syntax; -1 for a name that does not resolve.
base::Status check(const ListenSpec& spec);

// Returns: whether both are for the same path, or for the same address as it is written and a port
// that is no free one of each. Requires: check() passes for one of them.
bool collide(const ListenSpec& a, const ListenSpec& b);

}  // namespace ringrpc::serve
