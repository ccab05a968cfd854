#pragma once

// The bytes of one connection of a client: connecting, sending and receiving without waiting.

#include <netdb.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/client/child.h"
#include "engine/client/target.h"

namespace ringrpc::client {

// A non-blocking stream socket to a target: TCP, a Unix socket, or a program's stdio.
// Owns:      the descriptor, the program, the addresses that are left to try, bytes to be sent.
// Thread:    one owner.      Cost: open() looks the host up, and that blocks.
// Invariant: one of closed, connecting and open.
class Socket {
 public:
  enum class State : std::uint8_t { closed, connecting, open };

  Socket() = default;
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int fd() const { return fd_; }
  // Returns: the events of poll(2) that it waits for.
  [[nodiscard]] short events() const;

  // Begins to connect. Requires: it is closed.
  // Returns: false with a sentence when that has failed already.
  bool open(const Target& target, std::string& error);
  // Goes on when poll(2) has said something, with the next address where one refuses.
  // Requires: it is connecting. Returns: false with a sentence when no address is left.
  bool connect_more(const Target& target, std::string& error);

  // Queues bytes. Requires: it is open, or connecting.
  void send(std::string_view bytes);
  // Gives the kernel what it takes. Returns: 0, or an errno value; nothing is sent after that.
  int flush();
  [[nodiscard]] std::size_t unsent() const { return out_.size() - out_at_; }

  // Appends what has come, up to `room` bytes.
  // Returns: how many, 0 at the end of input, -EAGAIN when there is nothing, or a negated errno.
  std::int64_t receive(std::string& into, std::size_t room);
  // Returns: whether the other side has ended it, or sent what nobody waits for. For idle ones.
  [[nodiscard]] bool is_stale() const;

  void close();
  // Waits for the end of a program that says nothing more. Requires: it is open, to a program.
  // Returns: how that ended, for people.
  std::string end_program();
  // Closes it so that the other side is told at once and not only that no more requests come: after
  // a FIN, servers answer what has begun. (On Unix sockets there is no difference.)
  void reset();

 private:
  bool try_next(const Target& target, std::string& error);
  void close_descriptor();

  Child child_;
  std::string out_;
  std::size_t out_at_ = 0;  // of out_, what is sent
  addrinfo* list_ = nullptr;
  addrinfo* next_ = nullptr;  // to be tried
  int last_error_ = 0;        // of the addresses that were tried
  int send_error_ = 0;
  int fd_ = -1;
  State state_ = State::closed;
};

}  // namespace ringrpc::client
