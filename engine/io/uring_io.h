#pragma once

// The io_uring backend: direct descriptors, single-shot accepts, multishot receives on a ring of
// provided buffers, one send in flight per socket, one io_uring_enter per turn.
//
// Sources: io_uring_setup(2), io_uring_enter(2), io_uring_prep_recv_multishot(3),
// io_uring_prep_accept_direct(3), io_uring_cancelation(7), kernel 6.1 to 6.18.

#include <liburing.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>

#include "engine/base/clock.h"
#include "engine/base/counters.h"
#include "engine/base/status.h"
#include "engine/io/backoff.h"
#include "engine/io/event.h"
#include "engine/io/memory.h"
#include "engine/io/options.h"
#include "engine/io/uring_op.h"

namespace ringrpc::io {

// Owns:     the ring, its table of direct descriptors, the receive buffers, the listeners.
// Thread:   the one that called start(), but for wake().
// Cost:     one io_uring_enter per wait(); one more when the submission queue (512) was full.
// Invariant: a socket has at most one receive armed and one send in flight; open sockets and armed
//           accepts together never exceed connections_max, so an accept always finds a slot.
class UringIo {
 public:
  UringIo() = default;
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;
  ~UringIo();

  // Tests only, before start(): nothing that kernel 6.0 does not have; a ring that overflows.
  void pretend_old_kernel() { old_kernel_ = true; }
  void pretend_small_ring() { small_ring_ = true; }

  // Fails: the kernel refuses io_uring or a part of it that is needed (kernel 6.0 is the floor);
  //        the sentence names the likely cause. Nothing is left open then, the listeners included.
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
  [[nodiscard]] bool accepting() const { return listener_count_ != 0; }

  // Thread: any.
  void wake();

  [[nodiscard]] static std::uint64_t now_ns() { return base::monotonic_ns(); }
  // Returns: sockets open, from their accepted event to their closed event.
  [[nodiscard]] std::uint32_t open_count() const { return open_count_; }
  // Returns: a word about what the kernel gave: "DEFER_TASKRUN, receive cap", for the start line.
  [[nodiscard]] const char* mode() const;

 private:
  using Op = UringOp;
  using Completion = UringCompletion;
  // What is in flight for one socket; one for each of connections_max.
  struct Slot {
    std::uint32_t generation;
    std::uint16_t turn;    // the turn that `taken` belongs to, modulo 2^16
    std::uint16_t held;    // its completions in held_
    std::uint8_t shuts;    // shutdowns in flight; a close waits for them
    std::uint8_t hang_up;  // POLLERR and POLLHUP, as its watch has seen them
    std::uint8_t taken;    // buffers delivered in that turn
    std::uint8_t flags;
  };
  static constexpr std::uint8_t flag_open = 1;
  static constexpr std::uint8_t flag_receiving = 2;
  static constexpr std::uint8_t flag_sending = 4;
  static constexpr std::uint8_t flag_closing = 8;
  static constexpr std::uint8_t flag_stopping = 16;   // the worker asked the receive to end
  static constexpr std::uint8_t flag_throttled = 32;  // we did, because it took too many buffers
  static constexpr std::uint8_t flag_watched = 64;
  static constexpr std::uint8_t flag_unwatched = 128;  // the worker asked the watch to end

  // One armed accept and where the kernel writes its peer's address.
  struct Accept {
    sockaddr_storage peer;
    socklen_t peer_size;
    std::uint16_t listener;
    bool armed;
    bool wanted;   // to be armed by the next wait() that has a free slot for it
    bool probing;  // armed and cancelled in one go, to learn whether the backlog is empty
  };
  static constexpr std::uint32_t accepts_max = 32;
  static constexpr std::uint32_t listeners_max = 32;

  static std::uint64_t pack(Op op, std::uint32_t slot, std::uint32_t generation);
  static std::uint64_t pack(Op op, Handle handle) {
    return pack(op, handle.slot, handle.generation);
  }
  Slot& slot_of(Handle handle);

  // Set-up and the end, in uring_setup.cpp.
  base::Status make_ring();
  base::Status make_tables(const IoOptions& options);
  base::Status make_buffer_ring();
  base::Status make_wake();
  base::Status test_receive();
  base::Status adopt_socket(const IoOptions& options);
  base::Status test_receive_on(int near, int far, std::uint32_t length, bool& works);
  void adopt_listeners(const IoOptions& options);
  void tear_down();
  // Accepting, in uring_accept.cpp.
  void arm_accepts();
  bool on_accept(std::uint32_t index, std::int32_t result, Event& event);
  void accept_failed(Accept& accept, std::int32_t error);
  void want(Accept& accept);
  void close_listeners();

  io_uring_sqe* sqe();
  io_uring_sqe* sqe_slow();
  void arm_receive(Handle handle);
  void arm_wake();
  void cancel(std::uint64_t user_data, std::uint64_t target);
  void submit_close(Handle handle);
  void publish_buffers();
  void enter(std::int64_t timeout_ns);
  void submit_and_collect();
  bool spin(std::int64_t timeout_ns);
  [[nodiscard]] unsigned completions_end() const;

  bool translate(const Completion& completion, Event& event);
  bool on_receive(const Completion& completion, bool was_held, Event& event);
  bool on_last_receive(const Completion& completion, Handle handle, Slot& slot);
  void arm_watch(Handle handle);
  bool on_watch(const Completion& completion, Handle handle, Event& event);
  void on_shut(Handle handle);
  void on_cancel_failed(Handle handle);
  void throttle(Handle handle, Slot& slot);
  void hold(const Completion& completion, Slot& slot);

  io_uring ring_{};
  bool ring_made_ = false;
  bool old_kernel_ = false;
  bool small_ring_ = false;
  bool receive_cap_ = false;  // the kernel takes a multishot receive's length as a cap
  unsigned setup_flags_ = 0;
  std::uint32_t receive_length_ = 0;
  std::uint16_t turn_ = 0;
  unsigned cq_head_ = 0;  // the next completion to translate
  unsigned cq_end_ = 0;   // the end of this turn's completions
  base::Counters* counters_ = nullptr;

  ZeroedArray<Slot> slots_;
  std::uint32_t connections_max_ = 0;
  std::uint32_t open_count_ = 0;

  BufferPool buffers_;
  ZeroedArray<io_uring_buf> buffer_ring_;  // the last field of the first entry is the ring's tail
  std::uint16_t buffer_tail_ = 0;          // next entry of the buffer ring to fill
  bool buffers_given_ = false;             // since the last publication

  // Completions of sockets that have had their share of this turn: first thing of the next one.
  ZeroedArray<Completion> held_;
  std::uint32_t held_mask_ = 0;
  std::uint32_t held_head_ = 0;
  std::uint32_t held_tail_ = 0;
  std::uint32_t held_end_ = 0;  // what was held before this turn

  Accept accepts_[accepts_max] = {};
  int listeners_[listeners_max] = {};
  std::uint32_t listener_count_ = 0;
  std::uint32_t accept_count_ = 0;
  std::uint32_t accepts_armed_ = 0;
  std::uint32_t accepts_wanted_ = 0;
  bool draining_ = false;
  Backoff backoff_;

  std::uint32_t spin_us_ = 0;
  Event adopted_;  // of the socket that start() was given, until it has been told
  int wake_fd_ = -1;
  std::uint64_t wake_value_ = 0;
  bool wake_armed_ = false;

  // Written by other threads, so on lines of their own.
  alignas(64) std::atomic<bool> woken_ = false;
  std::atomic<bool> sleeping_ = false;
  alignas(64) bool woken_pending_ = false;  // this turn's woken event is still to be delivered
};

}  // namespace ringrpc::io
