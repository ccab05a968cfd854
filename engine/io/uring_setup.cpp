// How a ring is made, and what is asked of the kernel before it is trusted.

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/assert.h"
#include "engine/io/uring_io.h"

namespace ringrpc::io {

namespace {

using base::Status;

// 512 x 64 + 4096 x 16 bytes = 96 KiB for each worker. From 6.14 on it counts as locked memory of
// users without CAP_IPC_LOCK (8 MiB by default), so the rings stay small: 80 workers fit.
constexpr unsigned submissions = 512;
constexpr unsigned completions = 4096;
// What is tried when memory is short.
constexpr unsigned submissions_small = 64;
constexpr unsigned completions_small = 1024;
// What tests overflow.
constexpr unsigned submissions_tiny = 8;
constexpr unsigned completions_tiny = 8;
static_assert(completions_small >= 4 * limits::receive_buffers,
              "receives do not overflow the queue");

constexpr unsigned base_flags = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
// The best first: 6.1, 6.0, 5.19, and whatever takes none of them.
constexpr unsigned flag_ladder[] = {
    base_flags | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
        IORING_SETUP_TASKRUN_FLAG,
    base_flags | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN |
        IORING_SETUP_TASKRUN_FLAG,
    base_flags | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    base_flags,
};

std::string locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(limit.rlim_cur / 1024) + " KiB";
}

// Requires: error is a positive errno of a step of the set-up.
Status refused(int error, const char* step) {
  const std::string what = std::string("io_uring is not usable (") + step + "): ";
  switch (error) {
    case EPERM:
    case EACCES:
      return Status::failure(error, what +
                                        "not permitted, by a seccomp filter as containers have it "
                                        "or by the sysctl kernel.io_uring_disabled");
    case ENOSYS:
      return Status::failure(error, what + "this kernel has none, or a seccomp filter hides it");
    case EOPNOTSUPP:
    case EINVAL:
      return Status::failure(error, what + "this kernel is too old (6.0 is needed)");
    case ENOMEM:
      return Status::failure(error, what + "no memory; the limit for locked memory may be short (" +
                                        locked_memory_limit() +
                                        "; raise `ulimit -l`, or use fewer workers)");
    case EMFILE:
    case ENFILE:
      return Status::failure(error, what +
                                        "no descriptor left, or more connections than descriptors "
                                        "(raise `ulimit -n`, or lower the connections)");
    default:
      return Status::from_errno(error, what);
  }
}

int make_ring_with(io_uring& ring, unsigned flags, unsigned entries, unsigned completion_entries,
                   io_uring_params& parameters) {
  parameters = io_uring_params{};
  parameters.flags = flags;
  parameters.cq_entries = completion_entries;
  return io_uring_queue_init_params(entries, &ring, &parameters);
}

}  // namespace

base::Status UringIo::start(const IoOptions& options) {
  RINGRPC_ASSERT(!ring_made_ && options.counters != nullptr);
  RINGRPC_ASSERT(options.connections_max > 0 &&
                 options.connections_max <= limits::connections_max_max + limits::refusals_max);
  RINGRPC_ASSERT(options.listeners.size() <= listeners_max, options.listeners.size());
  counters_ = options.counters;
  connections_max_ = options.connections_max;
  spin_us_ = options.spin_us;
  Status status = make_ring();
  if (status.ok()) status = make_tables(options);
  if (status.ok()) status = make_buffer_ring();
  if (status.ok()) status = test_receive();
  if (status.ok()) status = make_wake();
  if (status.ok()) status = adopt_socket(options);
  if (!status.ok()) {
    tear_down();
    return status;
  }
  cq_head_ = cq_end_ = *ring_.cq.khead;
  adopt_listeners(options);
  return {};
}

base::Status UringIo::make_ring() {
  io_uring_params parameters{};
  int error = -EINVAL;
  for (const unsigned flags : flag_ladder) {
    if (old_kernel_ && (flags & IORING_SETUP_DEFER_TASKRUN) != 0) continue;
    setup_flags_ = flags;
    if (small_ring_) {
      error = make_ring_with(ring_, flags, submissions_tiny, completions_tiny, parameters);
    } else {
      error = make_ring_with(ring_, flags, submissions, completions, parameters);
    }
    if (error == -ENOMEM) {
      error = make_ring_with(ring_, flags, submissions_small, completions_small, parameters);
    }
    if (error != -EINVAL) break;
  }
  if (error < 0) return refused(-error, "io_uring_setup");
  ring_made_ = true;
  constexpr unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
  if ((parameters.features & needed) != needed) return refused(EINVAL, "features");
  // Spares the kernel a look-up of the ring's descriptor at each enter. Not all kernels have it.
  io_uring_register_ring_fd(&ring_);
  // Only shutdowns run on the kernel's own threads, and one thread is enough for them.
  unsigned workers[2] = {1, 1};
  io_uring_register_iowq_max_workers(&ring_, workers);
  return {};
}

base::Status UringIo::make_tables(const IoOptions& options) {
  const int error = io_uring_register_files_sparse(&ring_, connections_max_);
  if (error < 0) return refused(-error, "table of direct descriptors");
  Status status = slots_.make(connections_max_);
  // At most every buffer, and the last completion of every socket that has one there.
  held_mask_ = 2 * options.receive_buffers - 1;
  if (status.ok()) status = held_.make(held_mask_ + 1);
  if (status.ok()) status = buffers_.make(options.receive_buffers, options.receive_buffer_size);
  return status;
}

base::Status UringIo::make_buffer_ring() {
  static_assert(offsetof(io_uring_buf_ring, tail) == offsetof(io_uring_buf, resv));
  Status status = buffer_ring_.make(buffers_.count());
  if (!status.ok()) return status;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(&buffer_ring_[0]);
  registration.ring_entries = buffers_.count();
  registration.bgid = 0;
  const int error = io_uring_register_buf_ring(&ring_, &registration, 0);
  if (error < 0) return refused(-error, "ring of buffers");
  for (std::uint32_t i = 0; i < buffers_.count(); ++i) give(static_cast<std::uint16_t>(i));
  publish_buffers();
  return {};
}

base::Status UringIo::make_wake() {
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  return wake_fd_ >= 0 ? Status() : refused(errno, "eventfd");
}

// Receives a byte over a socketpair, as the worker will, and finds out whether the kernel takes a
// length with a multishot receive (6.17): neither can be read from a feature bit.
base::Status UringIo::test_receive() {
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return refused(errno, "socketpair");
  }
  const std::uint32_t cap = limits::receives_per_turn_max * buffers_.size();
  Status status;
  if (!old_kernel_) status = test_receive_on(pair[0], pair[1], cap, receive_cap_);
  receive_length_ = receive_cap_ ? cap : 0;
  bool works = receive_cap_;
  if (status.ok() && !works) status = test_receive_on(pair[0], pair[1], 0, works);
  ::close(pair[0]);
  ::close(pair[1]);
  if (status.ok() && !works) status = refused(EINVAL, "multishot receive");
  return status;
}

base::Status UringIo::test_receive_on(int near, int far, std::uint32_t length, bool& works) {
  io_uring_sqe* sqe = this->sqe();
  io_uring_prep_recv_multishot(sqe, near, nullptr, length, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->user_data = 1;
  const char byte = 'r';
  if (write(far, &byte, 1) != 1) return refused(errno, "socketpair");
  works = false;
  bool stopped = false;
  // Two completions: the byte, and the end after the cancel; or one error.
  for (int i = 0; i < 4; ++i) {
    __kernel_timespec second{.tv_sec = 1, .tv_nsec = 0};
    io_uring_cqe* cqe = nullptr;
    const int error = io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &second, nullptr);
    if (cqe == nullptr) return refused(error < 0 ? -error : ETIME, "receive");
    const bool has_buffer = (cqe->flags & IORING_CQE_F_BUFFER) != 0;
    const bool more = (cqe->flags & IORING_CQE_F_MORE) != 0;
    if (has_buffer) {
      const std::uint16_t index = static_cast<std::uint16_t>(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
      works = cqe->res == 1 && more && index < buffers_.count() && *buffers_.at(index) == byte;
      if (index < buffers_.count()) give(index);
    }
    io_uring_cqe_seen(&ring_, cqe);
    publish_buffers();
    if (!more) return {};
    if (!stopped) cancel(2, 1);
    stopped = true;
  }
  return refused(EINVAL, "multishot receive");
}

// Requires: no accept is armed, which might take the slot.
base::Status UringIo::adopt_socket(const IoOptions& options) {
  if (options.adopted < 0) return {};
  const int updated = io_uring_register_files_update(&ring_, 0, &options.adopted, 1);
  if (updated != 1) return refused(updated < 0 ? -updated : EINVAL, "a socket that is there");
  ::close(options.adopted);  // The table has it now.
  ++slots_[0].generation;
  slots_[0].flags = flag_open;
  ++open_count_;
  adopted_ = Event{.kind = EventKind::accepted,
                   .result = static_cast<std::int32_t>(options.listeners.size()),
                   .socket = {0, slots_[0].generation},
                   .peer = {}};
  woken_.store(true, std::memory_order_relaxed);  // The first turn tells of it.
  return {};
}

void UringIo::adopt_listeners(const IoOptions& options) {
  const std::uint32_t count = static_cast<std::uint32_t>(options.listeners.size());
  if (count == 0) return;
  const std::uint32_t each = std::clamp(accepts_max / count, 1u, accepts_max / 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    listeners_[i] = options.listeners[i];
    // Old kernels do not wait in an accept on a non-blocking listener.
    const int flags = fcntl(listeners_[i], F_GETFL);
    fcntl(listeners_[i], F_SETFL, flags & ~O_NONBLOCK);
  }
  listener_count_ = count;
  accept_count_ = each * count;
  for (std::uint32_t i = 0; i < accept_count_; ++i) {
    accepts_[i].listener = static_cast<std::uint16_t>(i % count);
    want(accepts_[i]);
  }
}

const char* UringIo::mode() const {
  if ((setup_flags_ & IORING_SETUP_DEFER_TASKRUN) == 0) return "io_uring without deferred work";
  return receive_cap_ ? "io_uring" : "io_uring without receive cap";
}

void UringIo::tear_down() {
  if (ring_made_) {
    // The kernel takes a ring apart after its descriptor is closed, at its leisure. Cancelling
    // first makes it let go of the listeners (and so of their ports) and of our memory before we
    // return.
    io_uring_sync_cancel_reg everything{};
    everything.fd = -1;
    everything.flags = IORING_ASYNC_CANCEL_ANY;
    everything.timeout.tv_sec = 1;
    io_uring_register_sync_cancel(&ring_, &everything);
    io_uring_get_events(&ring_);
    io_uring_queue_exit(&ring_);
    ring_made_ = false;
  }
  close_listeners();
  if (wake_fd_ >= 0) ::close(wake_fd_);
  wake_fd_ = -1;
}

}  // namespace ringrpc::io
