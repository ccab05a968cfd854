// How the epoll backend is made and taken down.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bit>
#include <cerrno>

#include "engine/base/assert.h"
#include "engine/io/epoll_io.h"

namespace ringrpc::io {

using base::Status;

base::Status EpollIo::start(const IoOptions& options) {
  RINGRPC_ASSERT(set_fd_ < 0 && options.counters != nullptr);
  RINGRPC_ASSERT(options.connections_max > 0 &&
                 options.connections_max <= limits::connections_max_max + limits::refusals_max);
  RINGRPC_ASSERT(options.listeners.size() <= listeners_max, options.listeners.size());
  counters_ = options.counters;
  connections_max_ = options.connections_max;
  spin_us_ = options.spin_us;
  Status status = make_tables(options);
  if (status.ok()) status = make_set(options);
  if (!status.ok()) tear_down();
  return status;
}

base::Status EpollIo::make_tables(const IoOptions& options) {
  Status status = slots_.make(connections_max_);
  queue_mask_ = std::bit_ceil(connections_max_) - 1;
  if (status.ok()) status = queue_.make(std::size_t{queue_mask_} + 1);
  if (status.ok()) status = outgoing_.make(options.connections_max);
  polls_max_ = options.polls_max;
  if (status.ok() && polls_max_ != 0) status = polls_.make(polls_max_);
  if (status.ok()) status = buffers_.make(options.receive_buffers, options.receive_buffer_size);
  if (status.ok()) status = free_buffers_.make(options.receive_buffers);
  for (std::uint32_t i = 0; status.ok() && i < options.receive_buffers; ++i) {
    give(static_cast<std::uint16_t>(options.receive_buffers - 1 - i));
  }
  return status;
}

base::Status EpollIo::make_set(const IoOptions& options) {
  const std::string advice = " (no descriptor left: raise `ulimit -n`, or no memory)";
  set_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (set_fd_ < 0) return Status::from_errno(errno, "cannot make an epoll set" + advice);
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0 || !watch(wake_fd_, EPOLLIN | EPOLLET, std::uint64_t{2} << 32, EPOLL_CTL_ADD)) {
    return Status::from_errno(errno, "cannot make an eventfd" + advice);
  }
  std::uint32_t count = 0;
  for (const int listener : options.listeners) {
    const int flags = fcntl(listener, F_GETFL);
    fcntl(listener, F_SETFL, flags | O_NONBLOCK);
    if (!watch(listener, EPOLLIN | EPOLLET, std::uint64_t{1} << 32 | count, EPOLL_CTL_ADD)) {
      return Status::from_errno(errno, "cannot watch a listening socket" + advice);
    }
    listeners_[count++] = listener;
  }
  listener_count_ = count;
  if (options.adopted < 0) return {};
  const int flags = fcntl(options.adopted, F_GETFL);
  fcntl(options.adopted, F_SETFL, flags | O_NONBLOCK);
  adopted_ = Event{.kind = EventKind::accepted,
                   .result = static_cast<std::int32_t>(count),
                   .socket = {},
                   .peer = {}};
  if (!open_slot(options.adopted, adopted_)) {
    return Status::from_errno(errno, "cannot watch a socket that is there" + advice);
  }
  woken_.store(true, std::memory_order_relaxed);  // The first turn tells of it.
  return {};
}

bool EpollIo::watch(int fd, std::uint32_t events, std::uint64_t key, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return epoll_ctl(set_fd_, operation, fd, &event) == 0;
}

void EpollIo::stop_accepting() {
  if (draining_) return;
  draining_ = true;
  backoff_.cancel();
  listeners_ready_ = 0;
  for (std::uint32_t i = 0; i < listener_count_; ++i) listeners_ready_ |= 1u << i;
}

void EpollIo::close_listener(std::uint32_t listener) {
  RINGRPC_ASSERT(listener_count_ > 0 && listeners_[listener] >= 0, listener);
  listeners_ready_ &= ~(1u << listener);
  ::close(listeners_[listener]);
  listeners_[listener] = -1;
  --listener_count_;
}

void EpollIo::tear_down() {
  close_polled();
  for (std::uint32_t i = 0; i < slots_used_; ++i) {
    const Slot& slot = slots_[i];
    if ((slot.flags & flag_open) != 0 && slot.fd >= 0) ::close(slot.fd);
  }
  slots_used_ = 0;
  if (listener_count_ > 0) {
    for (std::uint32_t i = 0; i < listeners_max; ++i) {
      if (listeners_[i] > 0) ::close(listeners_[i]);
    }
    listener_count_ = 0;
  }
  if (wake_fd_ >= 0) ::close(wake_fd_);
  if (set_fd_ >= 0) ::close(set_fd_);
  wake_fd_ = set_fd_ = -1;
}

}  // namespace ringrpc::io
