#include "tests/unit/client/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ringrpc::client_test {
namespace {

constexpr std::chrono::seconds very_long(20);

// Returns: a listener on 127.0.0.1, and its port.
int listen_on_loopback(std::uint16_t& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(0, bind(fd, reinterpret_cast<sockaddr*>(&address), size));
  EXPECT_EQ(0, getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size));
  EXPECT_EQ(0, listen(fd, 64));
  port = ntohs(address.sin_port);
  return fd;
}

bool is_readable(int fd) {
  pollfd item = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&item, 1, 0) > 0;
}

}  // namespace

bool turn_until(Client& client, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + very_long;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    client.poll(1);
  }
  return true;
}

Peer::Peer(bool unix_socket) {
  if (unix_socket) {
    char folder[] = "/tmp/ringrpc_client_XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(folder));
    folder_ = folder;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ + "/s").c_str());
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(0, bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, listen(listener_, 64));
  } else {
    listener_ = listen_on_loopback(port_);
  }
}

Peer::~Peer() {
  close();
  stop_listening();
  if (folder_.empty()) return;
  unlink((folder_ + "/s").c_str());
  rmdir(folder_.c_str());
}

std::string Peer::url(std::string_view scheme) const {
  if (!folder_.empty()) return std::string(scheme) + ":" + folder_ + "/s";
  return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_);
}

bool Peer::has_caller() const { return is_readable(listener_); }

void Peer::accept(Client& client) {
  close();
  ASSERT_TRUE(turn_until(client, [&] { return has_caller(); })) << "nobody connects";
  take_caller();
}

void Peer::take_caller() {
  close();
  fd_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int one = 1;
  if (folder_.empty()) setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ASSERT_GE(fd_, 0);
  in_.clear();
}

bool Peer::receive() {
  char buffer[64 << 10];
  const ssize_t size = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size > 0) in_.append(buffer, static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && errno == EAGAIN);
}

std::string Peer::read_line(Client& client) {
  const bool whole = turn_until(client, [&] {
    const bool open = receive();
    return in_.find('\n') != std::string::npos || !open;
  });
  const std::size_t end = in_.find('\n');
  EXPECT_TRUE(whole && end != std::string::npos) << "no line comes: " << in_;
  if (end == std::string::npos) return {};
  std::string line = in_.substr(0, end);
  in_.erase(0, end + 1);
  return line;
}

std::string Peer::read_request(Client& client) {
  constexpr std::string_view field = "\r\nContent-Length: ";
  std::size_t size = 0;
  const bool whole = turn_until(client, [&] {
    const bool open = fd_ < 0 || receive();
    if (in_.empty() && has_caller()) {
      take_caller();
      return false;
    }
    const std::size_t head = in_.find("\r\n\r\n");
    const std::size_t length = in_.find(field);
    if (head == std::string::npos || length > head) return !open;
    size = head + 4 + std::strtoul(in_.c_str() + length + field.size(), nullptr, 10);
    return in_.size() >= size || !open;
  });
  EXPECT_TRUE(whole && size > 0 && in_.size() >= size) << "no request comes: " << in_;
  std::string request = in_.substr(0, size);
  in_.erase(0, std::min(size, in_.size()));
  return request;
}

std::string Peer::read_head(Client& client) {
  std::size_t end = std::string::npos;
  EXPECT_TRUE(turn_until(client,
                         [&] {
                           receive();
                           end = in_.find("\r\n\r\n");
                           return end != std::string::npos;
                         }))
      << "no head comes: " << in_;
  std::string head = in_.substr(0, end + 4);
  in_.erase(0, head.size());
  return head;
}

std::string Peer::take_some() {
  receive();
  return std::exchange(in_, {});
}

std::string Peer::read_to_end(Client& client) {
  EXPECT_TRUE(turn_until(client, [&] { return !receive(); })) << "the client does not close";
  return std::exchange(in_, {});
}

void Peer::write(std::string_view bytes) {
  EXPECT_EQ(static_cast<ssize_t>(bytes.size()),
            ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void Peer::finish() { ::shutdown(fd_, SHUT_WR); }

void Peer::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Peer::reset() {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void Peer::stop_listening() {
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
}

Answering::Answering(std::string answer) : answer_(std::move(answer)) {
  listener_ = listen_on_loopback(port_);
  thread_ = std::thread([this] { serve(); });
}

Answering::~Answering() {
  // Of use where nobody came.
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

std::string Answering::url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/rpc"; }

void Answering::serve() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  std::string in;
  bool answered = false;
  char buffer[4096];
  for (ssize_t size = 1; size > 0;) {
    size = recv(fd, buffer, sizeof buffer, 0);
    if (size > 0) in.append(buffer, static_cast<std::size_t>(size));
    const std::size_t head = in.find("\r\n\r\n");
    const std::size_t length = in.find("Content-Length: ");
    if (answered || head == std::string::npos || length > head) continue;
    if (in.size() - head - 4 < std::strtoul(in.c_str() + length + 16, nullptr, 10)) continue;
    body_ = in.substr(head + 4);
    answered = true;
    ::send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    if (answer_.find("Content-Length") == std::string::npos) shutdown(fd, SHUT_WR);
  }
  ::close(fd);
}

std::string id_of(std::string_view message) {
  constexpr std::string_view member = "\"id\":";
  const std::size_t at = message.rfind(member);
  EXPECT_NE(std::string_view::npos, at) << message;
  std::string id;
  for (std::size_t i = at + member.size(); i < message.size() && std::isdigit(message[i]); ++i) {
    id += message[i];
  }
  return id;
}

std::string http(std::string_view body, std::string_view head, std::string_view status) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(head) + "\r\n" + std::string(body);
}

std::string result(std::string_view id, std::string_view value) {
  return R"({"jsonrpc":"2.0","result":)" + std::string(value) + R"(,"id":)" + std::string(id) + "}";
}

std::string error(std::string_view id, int code, std::string_view data) {
  std::string text =
      R"({"jsonrpc":"2.0","error":{"code":)" + std::to_string(code) + R"(,"message":"m")";
  if (!data.empty()) text += R"(,"data":)" + std::string(data);
  return text + R"(},"id":)" + std::string(id) + "}";
}

}  // namespace ringrpc::client_test
