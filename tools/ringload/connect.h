#pragma once

// Opens the connections of one load thread.

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "tools/common/url.h"
#include "tools/ringload/ring.h"

namespace ringload {

struct Target {
  sockaddr_storage address{};
  socklen_t address_size = 0;
  bool loopback4 = false;  // 127.0.0.0/8: more than one source address can be had
  std::string handshake;   // what a connection begins with; empty for HTTP
};

// Returns: false with a sentence when the name has no address.
bool resolve(const tools::Url& url, Target& target, std::string& error);

// Connections from one source address; a further one is taken for the next so many.
inline constexpr std::uint32_t connections_per_source = 20'000;

// Returns: a socket that is not connected, or -1 with a sentence. `source`: which loopback address
// it comes from, 0 for the usual one; used for loopback targets only.
int make_socket(const Target& target, std::uint32_t source, std::string& error);

// Connects slots 0 to count - 1 of the ring, at most connects_at_once together. `first` is the
// position of slot 0 among the connections of all threads, `total` their number. Each waits for its
// share of `spread_ns`.
// Returns: false with a sentence when one fails or not all are open after timeout_ns.
bool open_connections(Ring& ring, const Target& target, std::uint32_t first, std::uint32_t count,
                      std::uint32_t total, std::uint64_t timeout_ns, std::uint64_t spread_ns,
                      std::string& error);

inline constexpr std::uint32_t connects_at_once = 256;

}  // namespace ringload
