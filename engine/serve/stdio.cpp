#include "engine/serve/stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "engine/base/assert.h"

namespace ringrpc::serve {
namespace {

using base::Status;

constexpr std::size_t piece_size = 64u << 10;
// What poll calls writable takes so much without blocking: PIPE_BUF, for pipes.
constexpr std::size_t write_size_max = 4096;
constexpr short gone = POLLERR | POLLHUP | POLLNVAL;

// Whoever has read what we say may have gone: that is an errno here, and no signal.
void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Status no_descriptor(const char* what) {
  return Status::from_errno(errno, std::string("cannot serve stdin and stdout (") + what + ")");
}

// Descriptor 1 becomes stderr, or nothing where there is none. Returns: whether it did.
bool point_stdout_to_stderr() {
  if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return true;
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0) return false;
  const bool moved = dup2(nothing, STDOUT_FILENO) >= 0;
  if (nothing != STDOUT_FILENO) close(nothing);
  return moved;
}

}  // namespace

base::Status Stdio::open() {
  RINGRPC_ASSERT(!in_thread_.joinable() && !out_thread_.joinable());
  close_pair();
  if (out_ < 0) {
    if (fcntl(STDIN_FILENO, F_GETFD) < 0) return no_descriptor("stdin is closed");
    out_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (out_ < 0) return no_descriptor("stdout");
    if (!point_stdout_to_stderr()) return no_descriptor("stderr");
  }
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return no_descriptor("socketpair");
  }
  near_ = pair[0];
  far_ = pair[1];
  quit_ = eventfd(0, EFD_CLOEXEC);
  return quit_ >= 0 ? Status() : no_descriptor("eventfd");
}

void Stdio::start(std::function<void()> ended) {
  ended_ = std::move(ended);
  out_thread_ = std::thread([this] { copy_out(); });
  in_thread_ = std::thread([this] { copy_in(); });
}

void Stdio::stop() {
  if (out_thread_.joinable()) {
    const std::uint64_t one = 1;
    RINGRPC_ASSERT(write(quit_, &one, sizeof(one)) == sizeof(one));
    shutdown(near_, SHUT_RDWR);  // A send that waits for room ends, too.
    out_thread_.join();
    in_thread_.join();
  }
  close_pair();
  if (out_ >= 0) close(out_);
  out_ = -1;
}

void Stdio::close_pair() {
  for (int* fd : {&near_, &far_, &quit_}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

bool Stdio::wait(int fd, short events, int other, short other_events) {
  pollfd waited[] = {{.fd = fd, .events = events, .revents = 0},
                     {.fd = other, .events = other_events, .revents = 0},
                     {.fd = quit_, .events = POLLIN, .revents = 0}};
  while (poll(waited, std::size(waited), -1) < 0) {
    RINGRPC_ASSERT(errno == EINTR || errno == ENOMEM || errno == EAGAIN, errno);
  }
  return waited[2].revents == 0;
}

// Stdin to the socket. Ends when one of them does.
void Stdio::copy_in() {
  block_sigpipe();
  char piece[piece_size];
  while (wait(STDIN_FILENO, POLLIN, near_, POLLRDHUP)) {
    pollfd peer{.fd = near_, .events = POLLRDHUP, .revents = 0};
    if (poll(&peer, 1, 0) > 0) break;  // The worker has ended the connection.
    const ssize_t size = read(STDIN_FILENO, piece, sizeof(piece));
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) break;
    std::size_t sent = 0;
    while (sent < static_cast<std::size_t>(size)) {
      const ssize_t count =
          send(near_, piece + sent, static_cast<std::size_t>(size) - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }
  shutdown(near_, SHUT_WR);
}

// The socket to stdout. Ends when one of them does.
void Stdio::copy_out() {
  block_sigpipe();
  char piece[piece_size];
  while (wait(near_, POLLIN, out_, 0)) {
    pollfd reader{.fd = out_, .events = 0, .revents = 0};
    if (poll(&reader, 1, 0) > 0 && (reader.revents & gone) != 0) break;
    const ssize_t size = recv(near_, piece, sizeof(piece), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || !write_out(piece, static_cast<std::size_t>(size))) break;
  }
  // The worker need not wait for our end.
  shutdown(near_, SHUT_RDWR);
  ended_();
}

// Returns: false when nobody reads any more, or at stop().
bool Stdio::write_out(const char* data, std::size_t size) {
  while (size > 0) {
    if (!wait(out_, POLLOUT, out_, 0)) return false;
    const ssize_t count = write(out_, data, std::min(size, write_size_max));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace ringrpc::serve
