// The bare epoll server: one hot receive buffer, one receive and one send for each readable
// connection and turn, no parsing.
//
// Edge-triggered: a receive that does not fill the buffer has emptied the socket, so no second
// receive is needed and the kernel does not look at the socket again (epoll(7), question 9).

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

#include "bench/rivals/bare.h"

namespace {

constexpr std::size_t buffer_size = 16u << 10;
constexpr int events_max = 256;

struct Connection {
  std::uint32_t remainder = 0;  // bytes received of a request that is not whole yet
  std::uint64_t owed = 0;       // reply bytes not sent yet
};

class Server {
 public:
  explicit Server(const bare::Options& options)
      : options_(options), replies_(bare::make_replies()), buffer_(buffer_size) {
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    if (poll_ < 0) bare::fail("epoll_create1", errno);
    connections_.resize(bare::raise_descriptor_limit());
  }

  void run(int listener, int stop) {
    listener_ = listener;
    stop_ = stop;
    watch(listener, EPOLLIN);
    watch(stop, EPOLLIN);
    while (!stopping_) turn();
    bare::print(totals_);
  }

 private:
  void watch(int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0) bare::fail("epoll_ctl", errno);
  }

  void turn() {
    epoll_event events[events_max];
    const int count = wait(events);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener_) {
        accept();
      } else if (fd == stop_) {
        stopping_ = true;
      } else {
        serve(fd, events[i].events);
      }
    }
  }

  int wait(epoll_event* events) {
    ++totals_.enters;
    if (options_.spin_us == 0) return epoll_wait(poll_, events, events_max, -1);
    const std::uint64_t end = now_ns() + std::uint64_t{options_.spin_us} * 1000;
    do {
      const int count = epoll_wait(poll_, events, events_max, 0);
      if (count != 0) return count;
      ++totals_.enters;
    } while (now_ns() < end);
    return epoll_wait(poll_, events, events_max, -1);
  }

  static std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  }

  void accept() {
    while (true) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (static_cast<std::size_t>(fd) >= connections_.size()) {
        close(fd);
        continue;
      }
      ++totals_.accepts;
      connections_[static_cast<std::size_t>(fd)] = Connection{};
      watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    }
  }

  void serve(int fd, std::uint32_t events) {
    Connection& connection = connections_[static_cast<std::size_t>(fd)];
    while (true) {
      const ssize_t size = recv(fd, buffer_.data(), buffer_size, 0);
      if (size > 0) {
        ++totals_.receives;
        const std::uint32_t bytes = connection.remainder + static_cast<std::uint32_t>(size);
        const std::uint32_t requests = bytes / options_.request_size;
        connection.remainder = bytes % options_.request_size;
        connection.owed += std::uint64_t{requests} * replies_.size;
        totals_.requests += requests;
        if (!send(fd, connection)) break;
        if (static_cast<std::size_t>(size) == buffer_size) continue;
        if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) continue;
        return;
      }
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) {
        if (send(fd, connection)) return;
      }
      break;
    }
    close(fd);
  }

  // Returns: false when the connection is gone. What does not fit goes at the next EPOLLOUT edge.
  bool send(int fd, Connection& connection) {
    while (connection.owed != 0) {
      // What is owed ends with a reply, so its length says where in a reply it begins.
      const std::uint64_t part = connection.owed % replies_.size;
      const std::uint64_t start = part == 0 ? 0 : replies_.size - part;
      const std::uint64_t size = std::min(connection.owed, replies_.bytes.size() - start);
      const ssize_t taken = ::send(fd, replies_.bytes.data() + start, size, MSG_NOSIGNAL);
      ++totals_.sends;
      if (taken < 0) return errno == EAGAIN;
      connection.owed -= static_cast<std::uint64_t>(taken);
    }
    return true;
  }

  bare::Options options_;
  bare::Replies replies_;
  std::vector<char> buffer_;
  std::vector<Connection> connections_;
  int poll_ = -1;
  int listener_ = -1;
  int stop_ = -1;
  bool stopping_ = false;
  bare::Totals totals_;
};

}  // namespace

int main(int argc, char** argv) {
  const bare::Options options = bare::parse(argc, argv);
  const int stop = bare::stop_descriptor();
  Server server(options);
  server.run(bare::listen_on(options.port), stop);
  return 0;
}
