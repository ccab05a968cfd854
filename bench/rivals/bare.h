#pragma once

// What the bare servers share: their arguments, the listener, the fixed reply, the counters.
//
// A bare server is the limit that ringrpc is compared with: the cheapest way found to move the
// canonical request and a reply of ringrpc's size through a socket, with no parsing at all. It
// counts requests by dividing the bytes received by the size of one request.

#include <cstdint>
#include <string>

namespace bare {

struct Options {
  std::uint16_t port = 0;          // 0: the kernel picks one, printed as "http PORT"
  std::uint32_t request_size = 0;  // bytes of one request, head and body
  std::uint32_t spin_us = 0;       // how long to poll before sleeping
};

// Returns: the options. Prints the usage and exits with 2 when they are wrong.
Options parse(int argc, char** argv);

// Returns: a non-blocking listener on 127.0.0.1 with TCP_NODELAY, which accepted sockets inherit.
// Prints "http PORT" on stdout. Exits with 3 when the port is taken.
int listen_on(std::uint16_t port);

// Blocks SIGTERM and SIGINT. Returns: a descriptor that is readable once one of them came.
int stop_descriptor();

// Raises the descriptor limit as far as it goes. Returns: the new limit, at most 65,536.
std::uint32_t raise_descriptor_limit();

// Replies that one send carries at most; a longer burst takes several sends.
inline constexpr std::uint32_t replies_per_send = 256;

// Ready-made bytes: replies_per_send copies of one reply, byte for byte of ringrpc's size.
struct Replies {
  std::string bytes;
  std::uint32_t size = 0;  // of one
};
Replies make_replies();

struct Totals {
  std::uint64_t enters = 0;  // io_uring_enter, or epoll_wait
  std::uint64_t receives = 0;
  std::uint64_t sends = 0;
  std::uint64_t requests = 0;
  std::uint64_t accepts = 0;
  std::uint64_t buffers_exhausted = 0;
};

// One line on stderr.
void print(const Totals& totals);

// Prints "what: errno's text" and exits with 3.
[[noreturn]] void fail(const char* what, int error);

}  // namespace bare
