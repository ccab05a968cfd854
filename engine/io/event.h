#pragma once

// What passes between a worker and its io backend: handles down, events up.
//
// Sources: io_uring_prep_recv_multishot(3), io_uring_prep_accept_direct(3), epoll(7).

#include <netinet/in.h>

#include <cstdint>

namespace ringrpc::io {

// Names one socket of a backend. The slot is reused, the generation is not: a handle of a socket
// that has been closed compares unequal to whatever lives in its slot now.
struct Handle {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  bool operator==(const Handle&) const = default;
};

// A peer's address, IPv4 mapped into IPv6 (::ffff:a.b.c.d), so that it has one shape. A Unix
// socket's peer is all zero.
struct Address {
  std::uint8_t bytes[16] = {};
  std::uint16_t port = 0;  // host byte order
  bool operator==(const Address&) const = default;
};

enum class EventKind : std::uint8_t {
  accepted,  // socket is new, result is its listener's position, peer is its address; also once for
             // the socket that start() was given, whose position is the number of listeners
  received,  // result > 0: bytes in buffer; 0: the peer's FIN; < 0: -errno. See `more`.
  sent,      // result >= 0: bytes taken, maybe fewer than asked; < 0: -errno
  gone,      // watch() has ended: result > 0: nothing connects the socket to its peer any more, and
             // POLLERR is in it when that was a reset; < 0: stop_watching(), or -errno
  closed,    // the slot is free from now on; nothing more arrives for this handle
  woken,     // wake() was called from another thread
  polled,    // poll() has ended: socket is its name, result what the descriptor is ready for, as
             // poll(2) says it, or -errno
};

inline constexpr std::uint16_t no_buffer = 0xFFFF;

// One completion, translated. Delivered exactly once by Io::next().
struct Event {
  EventKind kind = EventKind::woken;
  bool more = false;                 // received: the receive stays armed after this event
  std::uint16_t buffer = no_buffer;  // received: give() it back exactly once, whatever result is
  std::int32_t result = 0;
  Handle socket;
  Address peer;  // accepted only
};

// The interface of a backend, given as a type parameter (Worker<Io>), so that production has no
// virtual call and the simulation runs the same worker on a fake kernel. All calls but wake() are
// made by the worker's thread.
//
//   Status start(const IoOptions&)       make everything; on the worker's thread
//   void   wait(std::int64_t timeout_ns) submit what is queued and sleep until an event is there or
//                                        the timeout has passed (0: do not sleep; < 0: no timeout).
//                                        One io_uring_enter, or one epoll_wait.
//   bool   next(Event& event)            the next completion of this turn, false when there is none
//   char*  buffer(std::uint16_t index)   the bytes of a receive buffer; 64 readable bytes follow it
//   void   give(std::uint16_t index)     hands a receive buffer back; published by the next wait()
//   void   receive(Handle)               arms the receive. Requires: not armed. Stays armed while
//                                        events say `more`; at most 8 buffers between two waits.
//   void   stop_receiving(Handle)        asks an armed receive to end: a last received event
//   without
//                                        `more` follows (result may be data, 0 or -ECANCELED)
//   void   send(Handle, const char* data, std::uint32_t size)
//                                        Requires: none in flight on this socket. The bytes stay
//                                        owned by the backend until the sent event. It takes
//                                        send_size_max bytes at most; the rest is another send.
//   void   shut(Handle, bool both)       shutdown(2): SHUT_WR, or SHUT_RDWR to end what is armed.
//                                        Fire and forget. SHUT_WR waits for no send in flight.
//   void   watch(Handle)                 One gone event follows when the peer is gone altogether:
//   it
//                                        has reset the connection, or, on a Unix socket, closed it;
//                                        or when both have sent their FIN. The peer's alone is not
//                                        told, nor is what it sent taken. Requires: not watched.
//   void   stop_watching(Handle)         asks a watch to end: its gone event follows
//   void   close(Handle)                 Requires: no receive armed, no send in flight, not
//   watched.
//                                        A closed event follows. Bytes that were not received make
//                                        the kernel send a reset instead of a FIN.
//   void   stop_accepting()              closes the listeners after serving their backlog
//   bool   accepting()                   whether a listener is still open
//   void   poll(Handle name, int fd, std::uint32_t events)
//                                        One polled event follows when the descriptor, which is no
//                                        socket of the backend's, is ready for POLLIN or POLLOUT.
//                                        Requires: slot < polls_max, and nobody polls by that slot;
//                                        the descriptor stays open until the event or
//                                        stop_polling(). The generation tells old events from new.
//   void   stop_polling(Handle name)     An event that was under way may still come.
//   void   wake()                        any thread; makes wait() return with a woken event
//   std::uint64_t now_ns()               the monotonic clock; the fake kernel has one of its own
//   std::uint32_t open_count()           sockets between their accepted and their closed event
//   const char* mode()                   what the kernel gave, in a few words for people
//
// "Armed", "in flight" and "watched" last until next() has returned the event that ends them.
//
// A receive that finds no free buffer ends with -ENOBUFS and without `more`: the worker gives its
// buffers back and arms it again. Buffers given back are there from the next wait() on. A worker
// that keeps buffers back while every one is taken turns round without sleeping.

}  // namespace ringrpc::io
