#pragma once

// The io_uring of one load thread: a fixed table of sockets, one ring of receive buffers.
//
// Sources: io_uring_setup(2), io_uring_prep_recv_multishot(3), io_uring_register_buf_ring(3).

#include <liburing.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ringload {

enum class Kind : std::uint32_t { receive, send, tick, connect, shut };

struct Completion {
  Kind kind;
  std::uint32_t slot;
  std::int32_t result;
  bool more;             // a receive that stays armed
  std::uint16_t buffer;  // a receive with result > 0: give() it back
};

// Owns:     the ring and its receive buffers.
// Thread:   the one that called start().
// Lifetime: the bytes given to send() stay where they are until the send completes.
class Ring {
 public:
  Ring() = default;
  ~Ring() { stop(); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Returns: false with a sentence when the kernel refuses.
  bool start(std::string& error);

  // Closes everything. On the thread that called start(), or in the destructor.
  void stop();

  // Makes the descriptors reachable as slots 0, 1, ...; they may be closed afterwards.
  bool register_sockets(std::span<const int> sockets, std::string& error);

  // Puts another descriptor in a slot's place; it may be closed afterwards.
  bool replace_socket(std::uint32_t slot, int fd);

  void connect(std::uint32_t slot, int fd, const sockaddr* address, socklen_t address_size);
  // Of a registered socket. The address stays where it is until the completion.
  void connect(std::uint32_t slot, const sockaddr* address, socklen_t address_size);
  void receive(std::uint32_t slot);
  void send(std::uint32_t slot, const char* data, std::size_t size);
  void shut(std::uint32_t slot);  // both directions, so that an armed receive ends
  // A tick completion after tick_ms; once.
  void tick();

  // Submits what is queued, and sleeps until a completion is there.
  void wait();
  // The same, but no longer than that; 0 only submits and looks.
  void wait_for(std::uint64_t ns);
  // The same without sleeping: looks again and again.
  void spin();

  // Calls take(const Completion&) for all completions that are there.
  template <typename Take>
  void drain(Take&& take) {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      const std::uint64_t data = cqe->user_data;
      take(Completion{static_cast<Kind>(data >> 32), static_cast<std::uint32_t>(data), cqe->res,
                      (cqe->flags & IORING_CQE_F_MORE) != 0,
                      static_cast<std::uint16_t>(cqe->flags >> IORING_CQE_BUFFER_SHIFT)});
    }
    io_uring_cq_advance(&ring_, count);
    publish();
  }

  [[nodiscard]] const char* buffer(std::uint16_t index) const {
    return buffers_ + std::size_t{index} * buffer_size;
  }
  // The buffer returns to the kernel at the end of drain().
  void give(std::uint16_t index) {
    io_uring_buf_ring_add(buffer_ring_, buffers_ + std::size_t{index} * buffer_size, buffer_size,
                          index, buffer_count - 1, given_++);
  }

  [[nodiscard]] bool has_completions() const { return io_uring_cq_ready(&ring_) != 0; }
  [[nodiscard]] std::uint64_t enters() const { return enters_; }

  static constexpr std::uint64_t tick_ms = 20;

 private:
  // PERF: few buffers stay in cache; more and larger ones were not faster (bench/README.md).
  static constexpr std::uint32_t buffer_count = 256;
  static constexpr std::uint32_t buffer_size = 4096;

  bool make_buffers(std::string& error);
  io_uring_sqe* take_sqe();
  static void name(io_uring_sqe* sqe, Kind kind, std::uint32_t slot);
  void publish() {
    if (given_ != 0) io_uring_buf_ring_advance(buffer_ring_, given_);
    given_ = 0;
  }

  io_uring ring_{};
  bool started_ = false;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  char* buffers_ = nullptr;
  int given_ = 0;  // buffers added and not yet published
  std::uint64_t enters_ = 0;
  __kernel_timespec tick_time_{};
};

}  // namespace ringload
