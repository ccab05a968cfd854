#pragma once

// Listening sockets: one address or path, one socket for each worker.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace ringrpc::io {

// An address to bind, as the kernel takes it.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;
};

// Reads "HOST:PORT": "127.0.0.1:8080", "[::1]:0", "localhost:8080" (always 127.0.0.1), or a name
// that the resolver knows, which may take its time. An empty host is refused: listening on every
// address is to be asked for by name ("0.0.0.0:8080", "[::]:8080").
// Fails: EINVAL for bad syntax; -1 for a name that does not resolve.
base::Status parse_address(std::string_view text, SocketAddress& address);

// Returns: what is wrong with a path for a Unix socket, empty when nothing is.
std::string check_unix_path(std::string_view path);

// Returns: "127.0.0.1:8080" or "[::1]:8080".
std::string format_address(const SocketAddress& address);

// The sockets of one address. The kernel spreads new connections over them.
//
// The first is bound without SO_REUSEPORT, so that a port that somebody else serves is an error
// instead of a silent share of their connections. Only then is the option set on it, and the others
// bind with it to the port that the first one got.
//
// A Unix socket cannot be bound twice, so there all have one: the kernel wakes them all, and one
// takes the connection.
// Owns:     the sockets that have not been released, and the path of a Unix socket.
// Thread:   any one; used at start and at the end only.
class Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  // Binds and listens. Requires: not open yet; count > 0.
  // Fails: EADDRINUSE, EACCES, EADDRNOTAVAIL or another errno, with the cause and what to try;
  //        what was opened is closed again.
  //
  // Accepted sockets inherit TCP keepalive (limits::keepalive_idle_s): a peer that has vanished, or
  // has closed without being waited for, is an error of the connection within minutes.
  //
  // With unsent_timeout_ms, accepted sockets inherit it: the kernel itself ends one whose peer has
  // taken nothing for so long, also after we have closed it, and drops what it has not sent.
  base::Status open(std::string_view text, std::uint32_t count,
                    std::uint32_t unsent_timeout_ms = 0);

  // The same for a Unix socket at this path, with these permissions from its first moment on. A
  // socket that nobody listens on any more is replaced; every other thing there is left alone.
  // Fails: EINVAL for a path that cannot be one, EADDRINUSE, EEXIST for what is no socket, EACCES
  //        or another errno; the same otherwise.
  base::Status open_unix(std::string_view path, std::uint32_t count, std::uint32_t mode);

  // Returns: one socket, non-blocking and with TCP_NODELAY, which accepted ones inherit. The
  //          Listener keeps it. Requires: index < count of open(), not released.
  [[nodiscard]] int socket(std::uint32_t index) const;

  // Gives one socket up: its new owner (a backend whose start() succeeded) closes it.
  // Requires: index < count of open().
  void release(std::uint32_t index);

  // Removes a Unix socket's path, if what is there is still ours. Idempotent.
  void remove_path();

  // Returns: the address that is listened on, with the port that the kernel chose for port 0; or
  //          the path.
  [[nodiscard]] std::string address() const;
  // Returns: 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const;

 private:
  base::Status open_one(bool first, std::uint32_t unsent_timeout_ms);
  base::Status bind_unix(std::uint32_t mode);
  void close_all();

  SocketAddress address_;
  std::string path_;  // of a Unix socket
  // What has been made there; both 0 before and afterwards.
  std::uint64_t path_device_ = 0;
  std::uint64_t path_inode_ = 0;
  std::vector<int> sockets_;  // -1 once released
};

}  // namespace ringrpc::io
