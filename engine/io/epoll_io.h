#pragma once

// The epoll backend, for kernels and containers that refuse io_uring.
//
// Everything is registered once, edge-triggered, and readiness is remembered here: a request costs
// one recv(2) and one send(2), and a paused connection with unread bytes costs nothing.
//
// Sources: epoll(7), accept(2), recv(2), send(2).

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/status.h"
#include "engine/io/backoff.h"
#include "engine/io/event.h"
#include "engine/io/memory.h"
#include "engine/io/options.h"

namespace ringrpc::io {

// Owns:     the epoll set, the sockets, the receive buffers, the listeners.
// Thread:   the one that called start(), but for wake().
// Cost:     at most one epoll_wait per wait(), none when events of its own are pending and the last
//           wait() had one.
// Invariant: a socket is in queue_ at most once.
class EpollIo {
 public:
  EpollIo() = default;
  EpollIo(const EpollIo&) = delete;
  EpollIo& operator=(const EpollIo&) = delete;
  ~EpollIo();

  // Fails: no descriptors or memory. The listeners are the caller's then.
  base::Status start(const IoOptions& options);

  void wait(std::int64_t timeout_ns);
  bool next(Event& event);

  [[nodiscard]] char* buffer(std::uint16_t index) { return buffers_.at(index); }
  void give(std::uint16_t index);

  void receive(Handle handle);
  void stop_receiving(Handle handle);
  void send(Handle handle, const char* data, std::uint32_t size);
  void shut(Handle handle, bool both);
  void close(Handle handle);
  void stop_accepting();
  void watch(Handle handle);
  void stop_watching(Handle handle);
  void poll(Handle name, int fd, std::uint32_t events);
  void stop_polling(Handle name);
  // Returns: whether a listener is still open.
  [[nodiscard]] bool accepting() const { return listener_count_ != 0; }

  // Thread: any.
  void wake();

  [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
  // Returns: sockets open, from their accepted event to their closed event.
  [[nodiscard]] std::uint32_t open_count() const { return open_count_; }
  [[nodiscard]] const char* mode() const { return "epoll"; }

 private:
  struct Slot {
    const char* data;  // of a send
    std::uint32_t size;
    std::uint32_t generation;
    std::int32_t fd;
    std::int32_t sent;        // result of the send that is to be reported
    std::uint32_t next_free;  // 1 + the next slot of the free list
    std::uint16_t flags;
    std::uint8_t taken;  // buffers delivered in this turn
  };
  static_assert(sizeof(Slot) == 32);
  static constexpr unsigned flag_open = 1u << 0;
  static constexpr unsigned flag_receiving = 1u << 1;
  static constexpr unsigned flag_stopping = 1u << 2;
  static constexpr unsigned flag_readable = 1u << 3;  // as far as we know
  static constexpr unsigned flag_hung_up = 1u << 4;   // a FIN or an error follows what is unread
  static constexpr unsigned flag_sending = 1u << 5;
  static constexpr unsigned flag_sent = 1u << 6;     // its result is to be reported
  static constexpr unsigned flag_blocked = 1u << 7;  // the send waits for room
  static constexpr unsigned flag_writable = 1u << 8;
  static constexpr unsigned flag_watched = 1u << 9;  // EPOLLOUT is asked for
  static constexpr unsigned flag_closing = 1u << 10;
  static constexpr unsigned flag_queued = 1u << 11;
  static constexpr unsigned flag_gone = 1u << 12;       // nothing connects it to its peer any more
  static constexpr unsigned flag_guarded = 1u << 13;    // that is to be told
  static constexpr unsigned flag_unguarded = 1u << 14;  // the worker asked that to end
  static constexpr unsigned flag_reset = 1u << 15;      // and that was no mere close
  static void set(Slot& slot, unsigned flags);
  static void clear(Slot& slot, unsigned flags);

  // A descriptor of somebody else's. In epoll_poll.cpp.
  enum class PollState : std::uint8_t { idle, watched, over };
  struct Poll {
    std::int32_t fd;  // as it is registered
    std::uint32_t generation;
    std::int32_t result;
    std::uint32_t next;  // 1 + the next one that is over
    PollState state;
    bool own;     // a duplicate, because the descriptor was registered already
    bool listed;  // among those that are over, or were
  };
  static_assert(sizeof(Poll) <= 24);

  static constexpr std::uint32_t listeners_max = 32;
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  base::Status make_tables(const IoOptions& options);
  base::Status make_set(const IoOptions& options);
  bool watch(int fd, std::uint32_t events, std::uint64_t key, int operation);
  void tear_down();

  Slot& slot_of(Handle handle);
  void enqueue(std::uint32_t index);
  void collect(int timeout_ms);
  void on_ready(const epoll_event& ready);
  bool serve(std::uint32_t index, Event& event);
  bool serve_receive(std::uint32_t index, Slot& slot, Event& event);
  void serve_blocked(Slot& slot);
  static bool tell_gone(std::uint32_t index, Slot& slot, Event& event);
  void serve_outgoing();
  void wait_for_room(std::uint32_t index, Slot& slot);
  bool accept_one(Event& event);
  bool open_slot(int fd, Event& event);
  void accept_failed(std::uint32_t listener, int error);
  void close_listener(std::uint32_t listener);
  std::int32_t watch_polled(Poll& poll, std::uint32_t index, int fd, std::uint32_t events);
  void end_poll(std::uint32_t index, std::int32_t result);
  void unwatch(Poll& poll);
  bool tell_polled(Event& event);
  void close_polled();

  int set_fd_ = -1;
  int wake_fd_ = -1;
  base::Counters* counters_ = nullptr;
  std::uint32_t spin_us_ = 0;
  Event adopted_;  // of the socket that start() was given, until it has been told

  ZeroedArray<Slot> slots_;
  std::uint32_t connections_max_ = 0;
  std::uint32_t slots_used_ = 0;  // slots from here on have never been used
  std::uint32_t free_head_ = 0;   // 1 + the first slot of the free list, 0: none
  std::uint32_t open_count_ = 0;

  // Sockets with something to do, in the order in which they get their share of a turn.
  ZeroedArray<std::uint32_t> queue_;
  std::uint32_t queue_mask_ = 0;
  std::uint32_t queue_head_ = 0;
  std::uint32_t queue_tail_ = 0;
  std::uint32_t queue_end_ = 0;   // what is for this turn
  std::uint32_t current_ = none;  // the socket being served
  bool skipped_ = false;          // the last wait() had no epoll_wait

  // Sockets whose sends have been asked for in this turn.
  ZeroedArray<std::uint32_t> outgoing_;
  std::uint32_t outgoing_count_ = 0;

  ZeroedArray<Poll> polls_;
  std::uint32_t polls_max_ = 0;
  std::uint32_t polls_used_ = 0;    // places from here on have never been used
  std::uint32_t polled_first_ = 0;  // 1 + the first that is over, 0: none
  std::uint32_t polled_last_ = 0;
  std::uint32_t polled_count_ = 0;
  std::uint32_t polled_left_ = 0;  // of them, those that are for this turn

  BufferPool buffers_;
  ZeroedArray<std::uint16_t> free_buffers_;  // last in, first out: the hottest first
  std::uint32_t free_buffer_count_ = 0;

  int listeners_[listeners_max] = {};
  std::uint32_t listener_count_ = 0;   // open ones
  std::uint32_t listeners_ready_ = 0;  // a bit for each one whose backlog is not known to be empty
  std::uint32_t accepts_left_ = 0;     // of this turn
  bool draining_ = false;
  Backoff backoff_;

  // Written by other threads, so on a line of their own.
  alignas(64) std::atomic<bool> woken_ = false;
  std::atomic<bool> sleeping_ = false;
  alignas(64) bool woken_pending_ = false;
};

}  // namespace ringrpc::io
