#include "tests/wire/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

namespace ringrpc::testing {
namespace {

// Nothing here takes this long; it only ends a test that would hang.
constexpr int patience_ms = 20'000;

sockaddr_in address_of(const char* host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

}  // namespace

Socket::Socket(std::uint16_t port, const char* from) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const sockaddr_in source = address_of(from, 0);
  const sockaddr_in target = address_of("127.0.0.1", port);
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&source), sizeof(source)) != 0 ||
      connect(fd_, reinterpret_cast<const sockaddr*>(&target), sizeof(target)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

Socket::Socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::string Socket::own_address() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET_ADDRSTRLEN];
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

bool Socket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void Socket::finish() { shutdown(fd_, SHUT_WR); }

void Socket::reset() {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  close(fd_);
  fd_ = -1;
}

bool Socket::read_more(std::string& bytes) {
  pollfd waited{.fd = fd_, .events = POLLIN, .revents = 0};
  char buffer[65536];
  const bool ready = poll(&waited, 1, patience_ms) > 0;
  const ssize_t count = ready ? recv(fd_, buffer, sizeof(buffer), 0) : -1;
  if (count > 0) bytes.append(buffer, static_cast<std::size_t>(count));
  if (count < 0) bytes += ready ? "<reset>" : "<nothing>";
  return count > 0;
}

std::string Socket::read_response() {
  std::string bytes;
  for (;;) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end != bytes.npos) {
      const std::size_t field = bytes.find("Content-Length: ");
      const std::size_t length =
          field < end ? std::strtoul(bytes.c_str() + field + 16, nullptr, 10) : 0;
      if (bytes.size() >= end + 4 + length) return bytes;
    }
    if (!read_more(bytes)) return bytes;
  }
}

std::string Socket::read_some() {
  std::string bytes;
  read_more(bytes);
  return bytes;
}

std::string Socket::read_all() {
  std::string bytes;
  while (read_more(bytes)) {
  }
  return bytes;
}

std::string post(std::string_view message) {
  std::string bytes =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: ";
  bytes += std::to_string(message.size()) + "\r\n\r\n";
  return bytes.append(message);
}

std::uint64_t metric(const Server& server, std::string_view name) {
  const std::string metrics = server.metrics();
  const std::string line = "\n" + std::string(name) + " ";
  const std::size_t at = metrics.find(line);
  return at == metrics.npos ? 0 : std::strtoull(metrics.c_str() + at + line.size(), nullptr, 10);
}

bool wait_for(const Server& server, std::string_view name, std::uint64_t value, bool at_least) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const std::uint64_t now = metric(server, name);
    if (now == value || (at_least && now > value)) return true;
    if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(patience_ms)) {
      return false;
    }
    sched_yield();
  }
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace ringrpc::testing
