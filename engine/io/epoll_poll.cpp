// Descriptors of others, whose readiness is waited for in the worker's own epoll set, and sockets
// of ours that are watched for the end of their peers.
//
// Sources: epoll_ctl(2), fcntl(2).

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/assert.h"
#include "engine/io/epoll_io.h"

namespace ringrpc::io {

void EpollIo::poll(Handle name, int fd, std::uint32_t events) {
  RINGRPC_ASSERT(name.slot < polls_max_, name.slot);
  Poll& poll = polls_[name.slot];
  RINGRPC_ASSERT(poll.state != PollState::watched, name.slot);
  if (name.slot >= polls_used_) polls_used_ = name.slot + 1;
  poll.generation = name.generation;
  poll.state = PollState::watched;
  const std::int32_t result = watch_polled(poll, name.slot, fd, events);
  if (result != 0) end_poll(name.slot, result);
}

// Returns: 0 when an event will come, else what there is to say at once.
std::int32_t EpollIo::watch_polled(Poll& poll, std::uint32_t index, int fd, std::uint32_t events) {
  const std::uint64_t key = std::uint64_t{3} << 32 | index;
  poll.fd = fd;
  poll.own = false;
  if (watch(fd, events | EPOLLONESHOT, key, EPOLL_CTL_ADD)) return 0;
  int error = errno;
  if (error == EEXIST) {
    poll.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    poll.own = poll.fd >= 0;
    if (poll.own && watch(poll.fd, events | EPOLLONESHOT, key, EPOLL_CTL_ADD)) return 0;
    error = errno;
  }
  // What is no stream, as a regular file, is always ready.
  const std::int32_t result = error == EPERM ? static_cast<std::int32_t>(events) : -error;
  if (poll.own) ::close(poll.fd);
  poll.own = false;
  poll.fd = -1;
  return result;
}

void EpollIo::unwatch(Poll& poll) {
  if (poll.fd < 0) return;
  // It fails for one that has been closed meanwhile, which has ended the watching, too.
  epoll_ctl(set_fd_, EPOLL_CTL_DEL, poll.fd, nullptr);
  if (poll.own) ::close(poll.fd);
  poll.own = false;
  poll.fd = -1;
}

void EpollIo::end_poll(std::uint32_t index, std::int32_t result) {
  Poll& poll = polls_[index];
  if (poll.state != PollState::watched) return;
  unwatch(poll);
  poll.state = PollState::over;
  poll.result = result;
  if (poll.listed) return;
  poll.listed = true;
  poll.next = 0;
  (polled_first_ == 0 ? polled_first_ : polls_[polled_last_ - 1].next) = index + 1;
  polled_last_ = index + 1;
  ++polled_count_;
}

void EpollIo::stop_polling(Handle name) {
  Poll& poll = polls_[name.slot];
  if (poll.state == PollState::idle || poll.generation != name.generation) return;
  unwatch(poll);
  poll.state = PollState::idle;
}

// Returns: false when none of this turn is left.
bool EpollIo::tell_polled(Event& event) {
  while (polled_left_ != 0) {
    --polled_left_;
    --polled_count_;
    const std::uint32_t index = polled_first_ - 1;
    Poll& poll = polls_[index];
    polled_first_ = poll.next;
    poll.listed = false;
    if (poll.state != PollState::over) continue;
    poll.state = PollState::idle;
    event = Event{.kind = EventKind::polled,
                  .result = poll.result,
                  .socket = {index, poll.generation},
                  .peer = {}};
    return true;
  }
  return false;
}

void EpollIo::close_polled() {
  for (std::uint32_t i = 0; i < polls_used_; ++i) {
    if (polls_[i].state == PollState::watched) unwatch(polls_[i]);
  }
  polls_used_ = 0;
}

void EpollIo::watch(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & (flag_guarded | flag_closing)) == 0, slot.flags);
  set(slot, flag_guarded);
  if ((slot.flags & flag_gone) != 0) enqueue(handle.slot);
}

void EpollIo::stop_watching(Handle handle) {
  Slot& slot = slot_of(handle);
  RINGRPC_ASSERT((slot.flags & flag_guarded) != 0, slot.flags);
  set(slot, flag_unguarded);
  enqueue(handle.slot);
}

// Returns: false when the peer is there and goes on being watched.
bool EpollIo::tell_gone(std::uint32_t index, Slot& slot, Event& event) {
  const bool asked = (slot.flags & flag_unguarded) != 0;
  if (!asked && (slot.flags & flag_gone) == 0) return false;
  clear(slot, flag_guarded | flag_unguarded);
  const int seen = (slot.flags & flag_reset) != 0 ? POLLHUP | POLLERR : POLLHUP;
  event = Event{.kind = EventKind::gone,
                .result = asked ? -ECANCELED : seen,
                .socket = {index, slot.generation},
                .peer = {}};
  return true;
}

}  // namespace ringrpc::io
