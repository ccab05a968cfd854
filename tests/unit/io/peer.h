#pragma once

// A client with plain blocking sockets, for tests of the backends and the listeners.

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace ringrpc::testing {

// One connection to 127.0.0.1:port, from an address of the loopback net.
class Peer {
 public:
  explicit Peer(std::uint16_t port, const char* from = "127.0.0.1") {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in source{};
    source.sin_family = AF_INET;
    inet_pton(AF_INET, from, &source.sin_addr);
    bind(fd_, reinterpret_cast<sockaddr*>(&source), sizeof(source));
    sockaddr_in target{};
    target.sin_family = AF_INET;
    target.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &target.sin_addr);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&target), sizeof(target)) == 0;
    socklen_t size = sizeof(source);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&source), &size);
    port_ = ntohs(source.sin_port);
  }
  Peer(Peer&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), port_(other.port_), connected_(other.connected_) {}
  Peer& operator=(Peer&&) = delete;
  ~Peer() { shut(); }

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Returns: what is there, up to most bytes; empty at the end, on an error, and when there is
  //          nothing yet and wait is false.
  std::string read(std::size_t most = 65536, bool wait = true) {
    std::string bytes(most, '\0');
    const ssize_t size = recv(fd_, bytes.data(), most, wait ? 0 : MSG_DONTWAIT);
    error_ = size < 0 ? errno : 0;
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }
  // Returns: the errno of the last read(), 0 at the end of the stream.
  [[nodiscard]] int error() const { return error_; }

  void fin() { shutdown(fd_, SHUT_WR); }
  void reset() {
    const linger hard{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    shut();
  }
  void shut() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
  std::uint16_t port_ = 0;
  bool connected_ = false;
  int error_ = 0;
};

// Returns: how many descriptors this process has open.
inline int open_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace ringrpc::testing
