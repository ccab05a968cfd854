// The bare io_uring server: direct descriptors, multishot accept and receive, one ring of receive
// buffers, one send per connection and turn that is submitted together with the wait, no parsing.
//
// Sources: io_uring_setup(2), io_uring_prep_recv_multishot(3), io_uring_prep_accept(3),
// io_uring_register_buf_ring(3).

#include <liburing.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "bench/rivals/bare.h"

namespace {

// PERF: 256 x 4 KiB stay in the second-level cache (bench/README.md).
constexpr std::uint32_t buffer_count = 256;
constexpr std::uint32_t buffer_size = 4096;
constexpr std::uint32_t sqe_count = 1024;
constexpr std::uint32_t cqe_count = 8192;
constexpr int buffer_group = 0;

enum class Kind : std::uint64_t { accept, receive, send, close, stop };

constexpr std::uint64_t pack(Kind kind, std::uint32_t slot) {
  return (static_cast<std::uint64_t>(kind) << 32) | slot;
}

struct Connection {
  std::uint32_t remainder = 0;  // bytes received of a request that is not whole yet
  std::uint32_t owed = 0;       // replies not handed to a send yet
  std::uint32_t sending = 0;    // bytes in flight
  bool listed = false;          // in due_
  bool ended = false;           // the receive is over; close once the send is
};

class Server {
 public:
  explicit Server(const bare::Options& options)
      : options_(options), replies_(bare::make_replies()) {
    make_ring();
    make_buffers();
    const std::uint32_t slots = bare::raise_descriptor_limit();
    if (const int error = io_uring_register_files_sparse(&ring_, slots); error < 0) {
      bare::fail("io_uring_register_files_sparse", -error);
    }
    connections_.resize(slots);
    due_.reserve(slots);
  }

  void run(int listener, int stop) {
    listener_ = listener;
    accept();
    io_uring_sqe* const sqe = take_sqe();
    io_uring_prep_poll_add(sqe, stop, POLLIN);
    io_uring_sqe_set_data64(sqe, pack(Kind::stop, 0));
    while (!stopping_) turn();
    bare::print(totals_);
  }

 private:
  void make_ring() {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                   IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                   IORING_SETUP_CQSIZE;
    params.cq_entries = cqe_count;
    if (const int error = io_uring_queue_init_params(sqe_count, &ring_, &params); error < 0) {
      bare::fail("io_uring_queue_init_params", -error);
    }
    io_uring_register_ring_fd(&ring_);
  }

  void make_buffers() {
    constexpr std::size_t ring_size = buffer_count * sizeof(io_uring_buf);
    constexpr std::size_t size = ring_size + std::size_t{buffer_count} * buffer_size;
    void* const memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) bare::fail("mmap", errno);
    buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
    buffers_ = static_cast<char*>(memory) + ring_size;
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
    registration.ring_entries = buffer_count;
    registration.bgid = buffer_group;
    if (const int error = io_uring_register_buf_ring(&ring_, &registration, 0); error < 0) {
      bare::fail("io_uring_register_buf_ring", -error);
    }
    io_uring_buf_ring_init(buffer_ring_);
    for (std::uint32_t i = 0; i < buffer_count; ++i) give(static_cast<std::uint16_t>(i));
    publish_buffers();
  }

  void give(std::uint16_t buffer) {
    io_uring_buf_ring_add(buffer_ring_, buffers_ + std::size_t{buffer} * buffer_size, buffer_size,
                          buffer, buffer_count - 1, given_++);
  }

  void publish_buffers() {
    io_uring_buf_ring_advance(buffer_ring_, given_);
    given_ = 0;
  }

  io_uring_sqe* take_sqe() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) [[unlikely]] {
      ++totals_.enters;
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    return sqe;
  }

  void accept() {
    io_uring_sqe* const sqe = take_sqe();
    io_uring_prep_multishot_accept_direct(sqe, listener_, nullptr, nullptr, 0);
    io_uring_sqe_set_data64(sqe, pack(Kind::accept, 0));
  }

  void receive(std::uint32_t slot) {
    io_uring_sqe* const sqe = take_sqe();
    io_uring_prep_recv_multishot(sqe, static_cast<int>(slot), nullptr, 0, 0);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe->buf_group = buffer_group;
    io_uring_sqe_set_data64(sqe, pack(Kind::receive, slot));
  }

  void send(std::uint32_t slot, Connection& connection) {
    const std::uint32_t count = std::min(connection.owed, bare::replies_per_send);
    connection.owed -= count;
    connection.sending = count * replies_.size;
    io_uring_sqe* const sqe = take_sqe();
    io_uring_prep_send(sqe, static_cast<int>(slot), replies_.bytes.data(), connection.sending,
                       MSG_WAITALL | MSG_NOSIGNAL);
    sqe->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(sqe, pack(Kind::send, slot));
  }

  void close(std::uint32_t slot) {
    io_uring_sqe* const sqe = take_sqe();
    io_uring_prep_close_direct(sqe, slot);
    io_uring_sqe_set_data64(sqe, pack(Kind::close, slot));
    connections_[slot] = Connection{};
  }

  void turn() {
    wait();
    std::uint32_t head = 0;
    std::uint32_t count = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      take(*cqe);
    }
    io_uring_cq_advance(&ring_, count);
    if (given_ != 0) publish_buffers();
    for (const std::uint32_t slot : due_) {
      Connection& connection = connections_[slot];
      connection.listed = false;
      if (connection.sending == 0 && connection.owed != 0) send(slot, connection);
    }
    due_.clear();
  }

  // Submits what is queued and sleeps until a completion is there.
  void wait() {
    ++totals_.enters;
    if (options_.spin_us == 0) {
      io_uring_submit_and_wait(&ring_, 1);
      return;
    }
    io_uring_submit_and_get_events(&ring_);
    if (io_uring_cq_ready(&ring_) != 0) return;
    const std::uint64_t end = now_ns() + std::uint64_t{options_.spin_us} * 1000;
    do {
      for (int i = 0; i < 16; ++i) {
        if ((IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) != 0) {
          ++totals_.enters;
          io_uring_get_events(&ring_);
          return;
        }
        __builtin_ia32_pause();
      }
    } while (now_ns() < end);
    ++totals_.enters;
    io_uring_submit_and_wait(&ring_, 1);
  }

  static std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  }

  void take(const io_uring_cqe& cqe) {
    const std::uint64_t data = cqe.user_data;
    const auto slot = static_cast<std::uint32_t>(data);
    switch (static_cast<Kind>(data >> 32)) {
      case Kind::receive:
        return received(slot, cqe.res, cqe.flags);
      case Kind::send:
        return sent(slot, cqe.res);
      case Kind::accept:
        return accepted(cqe.res, cqe.flags);
      case Kind::stop:
        stopping_ = true;
        return;
      case Kind::close:
        return;
    }
  }

  void received(std::uint32_t slot, std::int32_t result, std::uint32_t flags) {
    Connection& connection = connections_[slot];
    if (result > 0) [[likely]] {
      ++totals_.receives;
      give(static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT));
      const std::uint32_t bytes = connection.remainder + static_cast<std::uint32_t>(result);
      const std::uint32_t requests = bytes / options_.request_size;
      connection.remainder = bytes % options_.request_size;
      connection.owed += requests;
      totals_.requests += requests;
      list(slot, connection);
    }
    if ((flags & IORING_CQE_F_MORE) != 0) [[likely]]
      return;
    if (result > 0) return receive(slot);
    if (result == -ENOBUFS) {  // Buffers went back above, or do so in this turn.
      ++totals_.buffers_exhausted;
      return receive(slot);
    }
    connection.ended = true;
    if (connection.sending == 0) close(slot);
  }

  void sent(std::uint32_t slot, std::int32_t result) {
    Connection& connection = connections_[slot];
    ++totals_.sends;
    const bool whole = result == static_cast<std::int32_t>(connection.sending);
    connection.sending = 0;
    if (connection.ended) return close(slot);
    if (!whole) {  // The peer is gone: no bytes for it any more, and the receive says so too.
      connection.owed = 0;
      return;
    }
    if (connection.owed != 0) list(slot, connection);
  }

  void accepted(std::int32_t result, std::uint32_t flags) {
    if (result >= 0) {
      ++totals_.accepts;
      receive(static_cast<std::uint32_t>(result));
    }
    if ((flags & IORING_CQE_F_MORE) == 0) accept();
  }

  void list(std::uint32_t slot, Connection& connection) {
    if (connection.listed) return;
    connection.listed = true;
    due_.push_back(slot);
  }

  bare::Options options_;
  bare::Replies replies_;
  io_uring ring_{};
  io_uring_buf_ring* buffer_ring_ = nullptr;
  char* buffers_ = nullptr;
  int given_ = 0;  // buffers added and not yet published
  int listener_ = -1;
  bool stopping_ = false;
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> due_;  // slots that received something or may send again
  bare::Totals totals_;
};

}  // namespace

int main(int argc, char** argv) {
  const bare::Options options = bare::parse(argc, argv);
  const int stop = bare::stop_descriptor();
  Server server(options);
  const int listener = bare::listen_on(options.port);
  server.run(listener, stop);
  return 0;
}
