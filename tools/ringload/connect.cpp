#include "tools/ringload/connect.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "engine/base/clock.h"
#include "tools/ringload/websocket.h"

namespace ringload {

namespace {

// Ordinary descriptors until the ring has taken them over.
class Sockets {
 public:
  explicit Sockets(std::uint32_t count) { fds_.reserve(count); }
  ~Sockets() {
    for (const int fd : fds_) close(fd);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  int add(int fd) {
    fds_.push_back(fd);
    return fd;
  }
  const std::vector<int>& all() const { return fds_; }

 private:
  std::vector<int> fds_;
};

bool failed(std::string& error, const std::string& what, int code) {
  error = what + ": " + std::strerror(code);
  return false;
}

// The source's port is chosen by connect(2), when the whole tuple is known.
bool bind_source(int fd, std::uint32_t source) {
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + source);
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

bool resolve(const tools::Url& url, Target& target, std::string& error) {
  if (!url.socket_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    url.socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    std::memcpy(&target.address, &address, sizeof(address));
    target.address_size = sizeof(address);
    return true;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(url.port);
  if (const int code = getaddrinfo(url.host.c_str(), port.c_str(), &hints, &found); code != 0) {
    error = "cannot find " + url.host + ": " + gai_strerror(code);
    return false;
  }
  std::memcpy(&target.address, found->ai_addr, found->ai_addrlen);
  target.address_size = found->ai_addrlen;
  freeaddrinfo(found);
  if (target.address.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &target.address, sizeof(address));
    target.loopback4 = (ntohl(address.sin_addr.s_addr) >> 24) == 127;
  }
  return true;
}

int make_socket(const Target& target, std::uint32_t source, std::string& error) {
  const int fd = socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    failed(error, errno == EMFILE ? "too many connections for ulimit -n" : "socket", errno);
    return -1;
  }
  const int on = 1;
  if (target.address.ss_family != AF_UNIX) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  if (target.loopback4 && source != 0 && !bind_source(fd, source)) {
    failed(error, "cannot bind a loopback source address", errno);
    close(fd);
    return -1;
  }
  return fd;
}

bool open_connections(Ring& ring, const Target& target, std::uint32_t first, std::uint32_t count,
                      std::uint32_t total, std::uint64_t timeout_ns, std::uint64_t spread_ns,
                      std::string& error) {
  const std::uint64_t begin = ringrpc::base::monotonic_ns();
  const std::uint64_t deadline = begin + spread_ns + timeout_ns;
  const auto due = [&](std::uint32_t slot) {
    return begin +
           static_cast<std::uint64_t>(static_cast<double>(spread_ns) * (first + slot) / total);
  };
  const auto* const address = reinterpret_cast<const sockaddr*>(&target.address);
  Sockets sockets(count);
  std::uint32_t asked = 0;
  std::uint32_t open = 0;
  int refusal = 0;
  ring.tick();
  while (open != count) {
    while (asked != count && asked - open < connects_at_once &&
           (spread_ns == 0 || due(asked) <= ringrpc::base::monotonic_ns())) {
      const std::uint32_t source = (first + asked) / connections_per_source;
      const int fd = make_socket(target, source, error);
      if (fd < 0) return false;
      ring.connect(asked++, sockets.add(fd), address, target.address_size);
    }
    const std::uint64_t now = ringrpc::base::monotonic_ns();
    const bool waits = spread_ns != 0 && asked != count && asked - open < connects_at_once;
    ring.wait_for(!waits ? timeout_ns : due(asked) > now ? due(asked) - now : 0);
    ring.drain([&](const Completion& completion) {
      if (completion.kind == Kind::tick) ring.tick();
      if (completion.kind != Kind::connect) return;
      ++open;
      if (completion.result < 0) refusal = -completion.result;
    });
    if (refusal != 0) return failed(error, "cannot connect", refusal);
    if (open != count && ringrpc::base::monotonic_ns() > deadline) {
      error = "cannot connect: " + std::to_string(open) + " of " + std::to_string(count) +
              " connections within the timeout";
      return false;
    }
  }
  for (const int fd : sockets.all()) {
    if (target.handshake.empty()) break;
    if (!shake_hands(fd, target.handshake, timeout_ns, error)) return false;
  }
  return ring.register_sockets(sockets.all(), error);
}

}  // namespace ringload
