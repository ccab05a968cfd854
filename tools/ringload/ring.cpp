#include "tools/ringload/ring.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ringload {

namespace {

constexpr unsigned sqe_count = 1024;
constexpr unsigned cqe_count = 8192;
constexpr int buffer_group = 0;

bool refused(std::string& error, const char* what, int code) {
  error = std::string(what) + ": " + std::strerror(code);
  if (code == ENOSYS || code == EPERM) {
    error +=
        " (io_uring is switched off here: see kernel.io_uring_disabled and the container's "
        "seccomp profile)";
  } else if (code == EINVAL) {
    error += " (ringload needs Linux 6.1)";
  } else if (code == ENOMEM) {
    error += " (raise ulimit -l)";
  }
  return false;
}

}  // namespace

void Ring::stop() {
  if (started_) io_uring_queue_exit(&ring_);
  started_ = false;
  constexpr std::size_t size =
      buffer_count * sizeof(io_uring_buf) + std::size_t{buffer_count} * buffer_size;
  if (buffer_ring_ != nullptr) munmap(buffer_ring_, size);
  buffer_ring_ = nullptr;
}

bool Ring::start(std::string& error) {
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                 IORING_SETUP_CQSIZE;
  params.cq_entries = cqe_count;
  if (const int code = io_uring_queue_init_params(sqe_count, &ring_, &params); code < 0) {
    return refused(error, "cannot make an io_uring", -code);
  }
  started_ = true;
  io_uring_register_ring_fd(&ring_);  // Saves a look-up for each enter; works without.
  return make_buffers(error);
}

bool Ring::make_buffers(std::string& error) {
  constexpr std::size_t ring_size = buffer_count * sizeof(io_uring_buf);
  constexpr std::size_t size = ring_size + std::size_t{buffer_count} * buffer_size;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return refused(error, "cannot map receive buffers", errno);
  buffer_ring_ = static_cast<io_uring_buf_ring*>(memory);
  buffers_ = static_cast<char*>(memory) + ring_size;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = buffer_count;
  registration.bgid = buffer_group;
  if (const int code = io_uring_register_buf_ring(&ring_, &registration, 0); code < 0) {
    return refused(error, "cannot register receive buffers", -code);
  }
  io_uring_buf_ring_init(buffer_ring_);
  for (std::uint32_t i = 0; i < buffer_count; ++i) give(static_cast<std::uint16_t>(i));
  publish();
  return true;
}

bool Ring::register_sockets(std::span<const int> sockets, std::string& error) {
  const int code =
      io_uring_register_files(&ring_, sockets.data(), static_cast<unsigned>(sockets.size()));
  return code >= 0 || refused(error, "cannot register the sockets", -code);
}

bool Ring::replace_socket(std::uint32_t slot, int fd) {
  return io_uring_register_files_update(&ring_, slot, &fd, 1) == 1;
}

io_uring_sqe* Ring::take_sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) [[unlikely]] {
    ++enters_;
    io_uring_submit(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

void Ring::name(io_uring_sqe* sqe, Kind kind, std::uint32_t slot) {
  io_uring_sqe_set_data64(sqe, (static_cast<std::uint64_t>(kind) << 32) | slot);
}

void Ring::connect(std::uint32_t slot, int fd, const sockaddr* address, socklen_t address_size) {
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_connect(sqe, fd, address, address_size);
  name(sqe, Kind::connect, slot);
}

void Ring::connect(std::uint32_t slot, const sockaddr* address, socklen_t address_size) {
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_connect(sqe, static_cast<int>(slot), address, address_size);
  sqe->flags |= IOSQE_FIXED_FILE;
  name(sqe, Kind::connect, slot);
}

void Ring::receive(std::uint32_t slot) {
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_recv_multishot(sqe, static_cast<int>(slot), nullptr, 0, 0);
  sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
  sqe->buf_group = buffer_group;
  name(sqe, Kind::receive, slot);
}

void Ring::send(std::uint32_t slot, const char* data, std::size_t size) {
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_send(sqe, static_cast<int>(slot), data, size, MSG_WAITALL | MSG_NOSIGNAL);
  sqe->flags |= IOSQE_FIXED_FILE;
  name(sqe, Kind::send, slot);
}

void Ring::shut(std::uint32_t slot) {
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_shutdown(sqe, static_cast<int>(slot), SHUT_RDWR);
  sqe->flags |= IOSQE_FIXED_FILE;
  name(sqe, Kind::shut, slot);
}

void Ring::tick() {
  tick_time_.tv_sec = 0;
  tick_time_.tv_nsec = static_cast<long long>(tick_ms) * 1'000'000;
  io_uring_sqe* const sqe = take_sqe();
  io_uring_prep_timeout(sqe, &tick_time_, 0, 0);
  name(sqe, Kind::tick, 0);
}

void Ring::wait() {
  ++enters_;
  // EINTR and EBUSY (completions wait for room) leave something to do or to try again.
  io_uring_submit_and_wait(&ring_, 1);
}

void Ring::wait_for(std::uint64_t ns) {
  ++enters_;
  if (ns == 0) {
    io_uring_submit_and_get_events(&ring_);
    return;
  }
  __kernel_timespec time{};
  time.tv_sec = static_cast<long long>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<long long>(ns % 1'000'000'000);
  io_uring_cqe* cqe = nullptr;
  io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &time, nullptr);
}

void Ring::spin() {
  ++enters_;
  io_uring_submit_and_get_events(&ring_);
  constexpr int looks_max = 1000;  // Then the kernel is asked, whatever its flag says.
  int looks = 0;
  while (io_uring_cq_ready(&ring_) == 0) {
    if ((IO_URING_READ_ONCE(*ring_.sq.kflags) & IORING_SQ_TASKRUN) == 0 && ++looks < looks_max) {
      __builtin_ia32_pause();
      continue;
    }
    looks = 0;
    ++enters_;
    io_uring_get_events(&ring_);
  }
}

}  // namespace ringload
