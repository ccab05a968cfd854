#include "engine/io/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <ringrpc/limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/base/clock.h"

namespace ringrpc::io {

namespace {

using base::Status;

// The kernel cuts it to net.core.somaxconn (4096 by default).
constexpr int backlog = 4096;

Status bad_address(std::string_view text, const char* reason) {
  return Status::failure(EINVAL, "cannot listen on \"" + std::string(text) + "\": " + reason +
                                     " (write HOST:PORT, such as 127.0.0.1:8080 or [::1]:0)");
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, port);
  return !text.empty() && result.ec == std::errc() && result.ptr == end;
}

bool set_numeric(const std::string& host, std::uint16_t port, SocketAddress& address) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  address = SocketAddress{};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&address.storage, &four, sizeof(four));
    address.size = sizeof(four);
    return true;
  }
  if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address.storage, &six, sizeof(six));
    address.size = sizeof(six);
    return true;
  }
  return false;
}

Status resolve(const std::string& host, std::string_view port, SocketAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status::failure(-1, "cannot find the host \"" + host + "\": " + gai_strerror(error) +
                                   " (try a numeric address)");
  }
  RINGRPC_ASSERT(found != nullptr && found->ai_addrlen <= sizeof(address.storage));
  address = SocketAddress{};
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  freeaddrinfo(found);
  return {};
}

std::uint16_t port_of(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address.storage, sizeof(four));
    return ntohs(four.sin_port);
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &address.storage, sizeof(six));
  return ntohs(six.sin6_port);
}

// The sentence of a socket call that failed.
Status cannot_listen(int error, const SocketAddress& address, const char* call) {
  const std::string what = "cannot listen on " + format_address(address) + ": ";
  switch (error) {
    case EADDRINUSE:
      return Status::failure(error, what +
                                        "address in use (another process serves it, or this one "
                                        "does already: `ss -ltnp` names it; stop it, or choose "
                                        "another port)");
    case EACCES:
    case EPERM:
      return Status::failure(error, what +
                                        "no permission (ports below 1024 need CAP_NET_BIND_SERVICE "
                                        "or root; choose a higher port)");
    case EADDRNOTAVAIL:
      return Status::failure(error, what +
                                        "no interface of this machine has the address (`ip addr` "
                                        "lists them; try 127.0.0.1 or 0.0.0.0)");
    case EAFNOSUPPORT:
      return Status::failure(error, what +
                                        "the address family is off in this kernel (is IPv6 "
                                        "disabled? try 127.0.0.1)");
    case EMFILE:
    case ENFILE:
      return Status::failure(error, what + "no descriptor left (raise `ulimit -n`)");
    default:
      return Status::from_errno(error, what + call);
  }
}

bool set_option(int fd, int level, int name, int value = 1) {
  return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

// With TCP_USER_TIMEOUT the kernel takes the first question that is unanswered when that much time
// has passed for the last one, so there is room for some before: one lost packet ends nobody.
bool set_keepalive(int fd, std::uint32_t unsent_timeout_ms) {
  std::uint32_t idle_s = limits::keepalive_idle_s;
  std::uint32_t interval_s = limits::keepalive_interval_s;
  if (unsent_timeout_ms != 0) {
    idle_s = std::clamp(unsent_timeout_ms / 2'000, 1u, idle_s);
    interval_s = std::clamp(unsent_timeout_ms / 8'000, 1u, interval_s);
  }
  return set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(idle_s)) &&
         set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(interval_s)) &&
         set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(limits::keepalive_probes)) &&
         set_option(fd, SOL_SOCKET, SO_KEEPALIVE);
}

// Of those that call listen at the same moment the kernel may refuse all: each one is seen as
// listening already. Somebody who does listen would have been met by bind, so it is tried again
// after a pause that differs from theirs.
bool listen_against_rivals(int fd) {
  constexpr int pauses_max = 6;
  for (int pauses = 0;; ++pauses) {
    if (listen(fd, backlog) == 0) return true;
    if (errno != EADDRINUSE || pauses == pauses_max) return false;
    const std::uint64_t random = base::monotonic_ns() / 32 + static_cast<std::uint64_t>(fd) * 7;
    poll(nullptr, 0, 1 + static_cast<int>(random % (std::uint64_t{1} << pauses)));
  }
}

}  // namespace

base::Status parse_address(std::string_view text, SocketAddress& address) {
  std::string_view host;
  std::string_view port_text;
  const bool bracketed = !text.empty() && text.front() == '[';
  if (bracketed) {
    const std::size_t closing = text.find("]:");
    if (closing == std::string_view::npos) return bad_address(text, "no \"]:\" behind the address");
    host = text.substr(1, closing - 1);
    port_text = text.substr(closing + 2);
  } else {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return bad_address(text, "no port");
    host = text.substr(0, colon);
    port_text = text.substr(colon + 1);
    if (port_text.find(':') != std::string_view::npos) {
      return bad_address(text, "an IPv6 address needs brackets");
    }
  }
  std::uint16_t port = 0;
  if (text.find('/') != std::string_view::npos) return bad_address(text, "an address has no path");
  if (host.empty()) return bad_address(text, "no host");
  if (host.find('\0') != std::string_view::npos) return bad_address(text, "a zero byte");
  if (!parse_port(port_text, port)) return bad_address(text, "the port is not 0 to 65535");
  const std::string name = host == "localhost" ? "127.0.0.1" : std::string(host);
  if (set_numeric(name, port, address)) {
    const bool six = address.storage.ss_family == AF_INET6;
    return six == bracketed ? Status() : bad_address(text, "brackets are for IPv6 addresses");
  }
  if (bracketed) return bad_address(text, "not an IPv6 address");
  return resolve(name, port_text, address);
}

std::string format_address(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  const std::string port = std::to_string(port_of(address));
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address.storage, sizeof(four));
    inet_ntop(AF_INET, &four.sin_addr, text, sizeof(text));
    return std::string(text) + ":" + port;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &address.storage, sizeof(six));
  inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof(text));
  return "[" + std::string(text) + "]:" + port;
}

Listener::~Listener() { close_all(); }

base::Status Listener::open(std::string_view text, std::uint32_t count,
                            std::uint32_t unsent_timeout_ms) {
  RINGRPC_ASSERT(sockets_.empty());
  RINGRPC_ASSERT(count > 0);
  Status status = parse_address(text, address_);
  for (std::uint32_t i = 0; status.ok() && i < count; ++i) {
    status = open_one(i == 0, unsent_timeout_ms);
  }
  if (!status.ok()) close_all();
  return status;
}

base::Status Listener::open_one(bool first, std::uint32_t unsent_timeout_ms) {
  const int fd =
      ::socket(address_.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot_listen(errno, address_, "socket");
  sockets_.push_back(fd);
  // Without SO_REUSEADDR a restart fails while connections of the last run are in TIME_WAIT. It
  // does not let two sockets listen on one port.
  if (!set_option(fd, SOL_SOCKET, SO_REUSEADDR) || !set_option(fd, IPPROTO_TCP, TCP_NODELAY)) {
    return cannot_listen(errno, address_, "setsockopt");
  }
  const int unsent_ms = static_cast<int>(unsent_timeout_ms);
  if (unsent_ms != 0 && !set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, unsent_ms)) {
    return cannot_listen(errno, address_, "TCP_USER_TIMEOUT");
  }
  if (!set_keepalive(fd, unsent_timeout_ms)) return cannot_listen(errno, address_, "SO_KEEPALIVE");
  if (!first && !set_option(fd, SOL_SOCKET, SO_REUSEPORT)) {
    return cannot_listen(errno, address_, "SO_REUSEPORT");
  }
  const sockaddr* address = reinterpret_cast<const sockaddr*>(&address_.storage);
  if (bind(fd, address, address_.size) != 0) return cannot_listen(errno, address_, "bind");
  if (!listen_against_rivals(fd)) return cannot_listen(errno, address_, "listen");
  // Not before it listens: of two servers that start at once both could bind, and with the option
  // both could listen. The sockets that join later make a group with this one.
  if (first && !set_option(fd, SOL_SOCKET, SO_REUSEPORT)) {
    return cannot_listen(errno, address_, "SO_REUSEPORT");
  }
  if (first) {
    socklen_t size = sizeof(address_.storage);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address_.storage), &size) != 0) {
      return cannot_listen(errno, address_, "getsockname");
    }
    RINGRPC_ASSERT(size == address_.size, size, address_.size);
    RINGRPC_ASSERT(port_of(address_) != 0);
  }
  return {};
}

int Listener::socket(std::uint32_t index) const {
  RINGRPC_ASSERT(index < sockets_.size(), index, sockets_.size());
  RINGRPC_ASSERT(sockets_[index] >= 0, index);
  return sockets_[index];
}

void Listener::release(std::uint32_t index) {
  RINGRPC_ASSERT(index < sockets_.size(), index, sockets_.size());
  sockets_[index] = -1;
}

std::string Listener::address() const { return path_.empty() ? format_address(address_) : path_; }

std::uint16_t Listener::port() const {
  return path_.empty() ? port_of(address_) : static_cast<std::uint16_t>(0);
}

void Listener::close_all() {
  remove_path();
  for (const int fd : sockets_) {
    if (fd >= 0) ::close(fd);
  }
  sockets_.clear();
}

}  // namespace ringrpc::io
