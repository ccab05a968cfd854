#include "engine/client/socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::client {
namespace {

std::string cannot_connect(const Target& target, int error) {
  return "cannot connect to " + target.name() + ": " + std::strerror(error);
}

// Returns: a descriptor that is connected or connecting, or a negated errno value.
int begin_connect(int family, const sockaddr* address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  const int one = 1;
  // A message goes out at once, though the answer to the one before it is not acknowledged.
  if (family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  // A Unix socket whose backlog is full says EAGAIN and is no further: that is a failure.
  if (connect(fd, address, size) == 0 || errno == EINPROGRESS || errno == EINTR) return fd;
  const int failed = errno;
  ::close(fd);
  return -failed;
}

int connect_unix(const std::string& path) {
  sockaddr_un address = {};
  RINGRPC_ASSERT(path.size() < sizeof address.sun_path);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return begin_connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Returns: whether a descriptor that is connecting has made up its mind.
bool is_decided(int fd) {
  pollfd item = {.fd = fd, .events = POLLOUT, .revents = 0};
  return poll(&item, 1, 0) > 0;
}

}  // namespace

short Socket::events() const {
  if (state_ == State::closed) return 0;
  if (state_ == State::connecting) return POLLOUT;
  const bool sends = unsent() > 0 && send_error_ == 0;
  return static_cast<short>(POLLIN | (sends ? POLLOUT : 0));
}

bool Socket::open(const Target& target, std::string& error) {
  RINGRPC_ASSERT(state_ == State::closed && fd_ < 0);
  out_.clear();
  out_at_ = 0;
  send_error_ = 0;
  last_error_ = ENOENT;
  if (target.way == Target::Way::tcp) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    const std::string port = std::to_string(target.port);
    const int failed = getaddrinfo(target.host.c_str(), port.c_str(), &hints, &list_);
    if (failed != 0) {
      list_ = nullptr;
      error = "cannot resolve " + target.host + ": " + gai_strerror(failed);
      return false;
    }
    next_ = list_;
    return try_next(target, error);
  }
  const bool process = target.way == Target::Way::process;
  fd_ = process ? child_.open(target.command) : connect_unix(target.path);
  if (fd_ < 0) {
    error = process ? "cannot start " + target.name() + ": " + std::strerror(-fd_)
                    : cannot_connect(target, -fd_);
    fd_ = -1;
    return false;
  }
  if (process) fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  state_ = State::open;
  return true;
}

bool Socket::try_next(const Target& target, std::string& error) {
  while (next_ != nullptr) {
    const addrinfo& address = *next_;
    next_ = next_->ai_next;
    fd_ = begin_connect(address.ai_family, address.ai_addr, address.ai_addrlen);
    if (fd_ >= 0) {
      state_ = State::connecting;
      return true;
    }
    last_error_ = -fd_;
    fd_ = -1;
  }
  error = cannot_connect(target, last_error_);
  close();
  return false;
}

bool Socket::connect_more(const Target& target, std::string& error) {
  RINGRPC_ASSERT(state_ == State::connecting);
  if (!is_decided(fd_)) return true;
  int outcome = 0;
  socklen_t size = sizeof outcome;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &outcome, &size) != 0) outcome = errno;
  if (outcome == 0) {
    state_ = State::open;
    return true;
  }
  last_error_ = outcome;
  close_descriptor();
  return try_next(target, error);
}

void Socket::send(std::string_view bytes) {
  RINGRPC_ASSERT(state_ != State::closed);
  if (send_error_ != 0) return;
  if (out_at_ == out_.size()) {
    out_.clear();
    out_at_ = 0;
  }
  out_.append(bytes);
}

int Socket::flush() {
  while (send_error_ == 0 && unsent() > 0) {
    const ssize_t sent = ::send(fd_, out_.data() + out_at_, unsent(), MSG_NOSIGNAL);
    if (sent >= 0) {
      out_at_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      send_error_ = errno;
    }
  }
  return send_error_;
}

std::int64_t Socket::receive(std::string& into, std::size_t room) {
  constexpr std::size_t piece_max = std::size_t{64} << 10;
  char buffer[piece_max];
  while (true) {
    const ssize_t received = ::recv(fd_, buffer, std::min(room, piece_max), 0);
    if (received > 0) into.append(buffer, static_cast<std::size_t>(received));
    if (received >= 0) return received;
    if (errno != EINTR) return errno == EWOULDBLOCK ? -EAGAIN : -errno;
  }
}

bool Socket::is_stale() const {
  char byte = 0;
  return ::recv(fd_, &byte, 1, MSG_PEEK) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void Socket::close_descriptor() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::reset() {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

std::string Socket::end_program() {
  RINGRPC_ASSERT(state_ == State::open && fd_ >= 0);
  ::shutdown(fd_, SHUT_RDWR);
  return child_.close();
}

void Socket::close() {
  close_descriptor();
  (void)child_.close();
  if (list_ != nullptr) freeaddrinfo(list_);
  list_ = nullptr;
  next_ = nullptr;
  out_ = std::string();
  out_at_ = 0;
  state_ = State::closed;
}

}  // namespace ringrpc::client
