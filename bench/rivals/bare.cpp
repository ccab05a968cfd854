#include "bench/rivals/bare.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

namespace bare {

namespace {

[[noreturn]] void usage(const char* program) {
  std::fprintf(stderr, "usage: %s --request-size BYTES [--port N] [--spin-us N]\n", program);
  std::exit(2);
}

template <typename T>
bool read_number(const char* text, T& out) {
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, out);
  return error == std::errc() && rest == end;
}

}  // namespace

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) usage(argv[0]);
    bool good = false;
    if (name == "--port") good = read_number(argv[i + 1], options.port);
    if (name == "--request-size") good = read_number(argv[i + 1], options.request_size);
    if (name == "--spin-us") good = read_number(argv[i + 1], options.spin_us);
    if (!good) usage(argv[0]);
  }
  if (options.request_size == 0) usage(argv[0]);
  return options;
}

int listen_on(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket", errno);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) fail("bind", errno);
  if (listen(fd, SOMAXCONN) != 0) fail("listen", errno);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("getsockname", errno);
  std::printf("http %u\n", static_cast<unsigned>(ntohs(address.sin_port)));
  std::fflush(stdout);
  return fd;
}

int stop_descriptor() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) fail("sigprocmask", errno);
  const int fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd < 0) fail("signalfd", errno);
  return fd;
}

std::uint32_t raise_descriptor_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::uint32_t>(std::min<rlim_t>(limit.rlim_cur, 65'536));
}

Replies make_replies() {
  const std::string_view body = R"({"jsonrpc":"2.0","result":5,"id":1})";
  const std::time_t now = std::time(nullptr);
  std::tm calendar{};
  gmtime_r(&now, &calendar);
  char date[64];
  std::strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &calendar);
  char one[512];
  const int size = std::snprintf(one, sizeof(one),
                                 "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                 "X-Content-Type-Options: nosniff\r\nDate: %s\r\n"
                                 "Content-Length: %9zu\r\n\r\n%s",
                                 date, body.size(), body.data());
  Replies replies;
  replies.size = static_cast<std::uint32_t>(size);
  for (std::uint32_t i = 0; i < replies_per_send; ++i) replies.bytes.append(one, replies.size);
  return replies;
}

void print(const Totals& totals) {
  std::fprintf(stderr,
               "requests %llu enters %llu receives %llu sends %llu accepts %llu "
               "buffers_exhausted %llu\n",
               static_cast<unsigned long long>(totals.requests),
               static_cast<unsigned long long>(totals.enters),
               static_cast<unsigned long long>(totals.receives),
               static_cast<unsigned long long>(totals.sends),
               static_cast<unsigned long long>(totals.accepts),
               static_cast<unsigned long long>(totals.buffers_exhausted));
}

void fail(const char* what, int error) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(error));
  std::exit(3);
}

}  // namespace bare
