// How a server starts and stops: listeners, threads, phases.

#include "engine/serve/server_impl.h"

#include <ringrpc/limits.h>
#include <ringrpc/version.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "engine/base/assert.h"
#include "engine/io/epoll_io.h"
#include "engine/io/uring_io.h"
#include "engine/serve/discover.h"
#include "engine/serve/machine.h"
#include "engine/serve/options_check.h"
#include "engine/serve/worker.h"

namespace ringrpc {
namespace {

constexpr int exit_forced = 1;
constexpr int exit_usage = 2;
constexpr int exit_not_started = 3;

template <class Io>
class WorkerOf final : public serve::AnyWorker {
 public:
  WorkerOf(const serve::WorkerOptions& options, serve::WorkerShared& shared)
      : worker_(std::make_unique<serve::Worker<Io>>(options, shared)) {}
  base::Status start(std::span<const int> listeners, int adopted) override {
    return worker_->start(listeners, adopted);
  }
  bool run() override { return worker_->run(); }
  void wake() override { worker_->wake(); }
  const char* mode() const override { return worker_->io().mode(); }
  const base::Counters& counters() const override { return worker_->counters(); }
  const serve::Endpoints& endpoints() const override { return worker_->endpoints(); }
  const serve::Gauges& gauges() const override { return worker_->gauges(); }

 private:
  std::unique_ptr<serve::Worker<Io>> worker_;
};

// Stdin and stdout alone are one connection, which more loops would not serve better.
std::uint32_t workers_for(const Options& options) {
  if (options.workers != 0) return options.workers;
  const bool listens = !options.listen.empty() || !options.more_listeners.empty();
  return options.stdio && !listens ? 1 : serve::default_workers();
}

}  // namespace

Server::Impl::Impl(Options given)
    : options(std::move(given)),
      worker_count(workers_for(options)),
      connections_max(options.connections_max),
      bad_options(serve::check_options(options)),
      in_memory(worker_options(), shared) {
  if (!options.listen.empty()) specs.push_back(serve::read_listen_spec(options.listen));
  for (const std::string& text : options.more_listeners) {
    specs.push_back(serve::read_listen_spec(text));
  }
  hosts = options.hosts;
  host_policy.hosts = hosts;
  host_policy.origins = options.origins;
  shared.registry = &registry;
  shared.hosts = &host_policy;
  shared.oracle = this;
  blocking_pool =
      std::make_unique<serve::BlockingPool>(options.blocking_threads, options.blocking_queue_max);
  shared.blocking = blocking_pool->door();
  shared.hub = &hub;
  auto discover = std::make_unique<rpc::Method>();
  discover->name = "rpc.discover";
  discover->state = this;
  discover->invoke = [](void* state, bool, Call&, Reply& reply) {
    // The caller's worker has announced itself, so the table stays while it is read.
    const Impl& self = *static_cast<const Impl*>(state);
    reply.result().raw(serve::openrpc(*self.registry.current(), self.options.name));
  };
  registry.add_engine_method(std::move(discover));
}

void Server::Impl::keep(Impl* used) {
  static std::atomic<Impl*> kept{nullptr};
  used->kept_before = kept.exchange(used, std::memory_order_acq_rel);
}

Server::Impl::~Impl() {
  if (started) stop();
}

serve::WorkerOptions Server::Impl::worker_options() const {
  serve::WorkerOptions worker;
  worker.connections_max = connections_max;
  worker.receive_buffers = options.receive_buffers;
  worker.message_size_max = options.message_size_max;
  worker.reply_size_max = options.reply_size_max;
  worker.batch_length_max = options.batch_length_max;
  worker.partial_pool_size = options.partial_pool_size;
  worker.large_replies_size_max =
      std::max(limits::large_replies_size_max, 2 * options.reply_size_max);
  worker.spin_us = options.spin_us;
  worker.in_flight_max = options.in_flight_max;
  worker.in_flight_per_connection_max = options.in_flight_per_connection_max;
  worker.late_memory_size_max = options.late_memory_size_max;
  worker.frame_memory_size_max = options.frame_memory_size_max;
  worker.call_timeout_ms = options.call_timeout_ms;
  worker.heartbeat_ms = options.heartbeat_ms;
  worker.head = {.size_max = options.head_size_max,
                 .fields_max = options.head_fields_max,
                 .target_size_max = options.target_size_max};
  for (const serve::ListenSpec& spec : specs) worker.doors.push_back(spec.door());
  if (options.stdio) {
    worker.doors.push_back({.protocol = serve::Protocol::lines, .patient = true});
  }
  worker.peer = {.head_timeout_ms = options.head_timeout_ms,
                 .idle_timeout_ms = options.idle_timeout_ms,
                 .body_grace_ms = options.body_grace_ms,
                 .body_rate_min = options.body_rate_min,
                 .stall_timeout_ms = options.stall_timeout_ms,
                 .linger_timeout_ms = options.linger_timeout_ms,
                 .websocket_ping_ms = options.websocket_ping_ms,
                 .drain_size_max = options.drain_size_max};
  return worker;
}

std::string Server::Impl::mount(std::string_view path, const EndpointOptions& rules) {
  bool in_use = started;
  in_memory.for_each([&in_use](const serve::InMemoryContext&) { in_use = true; });
  if (in_use) return "the server answers already";
  std::string wrong = serve::check_mount_path(path);
  if (!wrong.empty()) return wrong;
  if (rules.accepted_status != 202 && rules.accepted_status != 204) {
    return "accepted_status is 202 or 204";
  }
  for (serve::Mount& mount : shared.mounts) {
    if (mount.path != path) continue;
    mount.options = rules;
    return {};
  }
  if (shared.mounts.size() == limits::mounts_max) return "there are too many paths";
  shared.mounts.push_back({.path = std::string(path), .options = rules});
  return {};
}

bool Server::Impl::refuse(int code, std::string sentence) {
  exit_code = code;
  error = std::move(sentence);
  return false;
}

void Server::Impl::run_worker(std::size_t index, IoChoice io) {
  serve::WorkerThread& self = workers[index];
  if (options.pin) {
    const std::vector<int> cpus = serve::allowed_cpus();
    serve::pin_to_cpu(cpus[index % cpus.size()]);
  }
  if (io == IoChoice::uring) {
    self.worker = std::make_unique<WorkerOf<io::UringIo>>(worker_options(), shared);
  } else {
    self.worker = std::make_unique<WorkerOf<io::EpollIo>>(worker_options(), shared);
  }
  std::vector<int> sockets;
  for (const io::Listener& listener : listeners) {
    sockets.push_back(listener.socket(static_cast<std::uint32_t>(index)));
  }
  // Stdin and stdout are one connection, so one worker has them.
  const bool first = index == 0 && options.stdio;
  self.started = self.worker->start(sockets, first ? stdio.socket() : -1);
  {
    std::unique_lock lock(mutex);
    ++reported;
    changed.notify_all();
    changed.wait(lock, [this] { return may_run || give_up; });
    if (give_up) return;
  }
  self.ended_by_itself = self.worker->run();
  std::lock_guard lock(mutex);
  --running;
  changed.notify_all();
}

void Server::Impl::start_worker(std::size_t index, IoChoice io) {
  workers.emplace_back();
  workers[index].thread = std::thread([this, index, io] { run_worker(index, io); });
  std::unique_lock lock(mutex);
  changed.wait(lock, [this, index] { return reported == index + 1; });
}

// Starts all workers on one backend, one after the other, so that the first refusal ends it.
bool Server::Impl::start_on(IoChoice io) {
  base::Status status = open_listeners();
  if (!status.ok()) {
    listeners.clear();
    const bool usage = status.error() == EINVAL || status.error() == -1;
    return refuse(usage ? exit_usage : exit_not_started, status.sentence());
  }
  reported = 0;
  may_run = give_up = false;
  for (std::size_t i = 0; i < worker_count; ++i) {
    start_worker(i, io);
    if (!workers[i].started.ok()) {
      workers_refused = workers[i].started.sentence();
      abandon_workers();
      return refuse(exit_not_started, workers_refused);
    }
    // The worker's sockets are its own now.
    for (io::Listener& listener : listeners) listener.release(static_cast<std::uint32_t>(i));
    if (i == 0 && options.stdio) stdio.release();
  }
  io_taken = io;
  return true;
}

// Ends the workers that have started, before any of them serves.
void Server::Impl::abandon_workers() {
  for (io::Listener& listener : listeners) listener.remove_path();
  {
    std::lock_guard lock(mutex);
    give_up = true;
    changed.notify_all();
  }
  join_all();
  workers.clear();
  listeners.clear();
}

bool Server::Impl::check() {
  if (!bad_options.empty()) return refuse(exit_usage, bad_options);
  for (const serve::ListenSpec& spec : specs) {
    const base::Status status = serve::check(spec);
    if (!status.ok()) return refuse(exit_usage, status.sentence());
    const auto same = [&spec](const serve::ListenSpec& one) { return serve::collide(spec, one); };
    if (std::count_if(specs.begin(), specs.end(), same) > 1) {
      return refuse(exit_usage, "cannot listen on " + spec.where + ": it is given twice");
    }
  }
  return true;
}

bool Server::Impl::start() {
  RINGRPC_ASSERT(!started);
  if (!check()) return false;
  const std::uint64_t descriptors = serve::raise_descriptor_limit();
  const std::uint64_t room = descriptors > limits::descriptors_reserved + worker_count
                                 ? (descriptors - limits::descriptors_reserved) / worker_count
                                 : 1;
  // Peers over the limit take a few descriptors, too, until they are told so.
  const std::uint64_t served = room > 2 * limits::refusals_max ? room - limits::refusals_max : room;
  connections_max =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(options.connections_max, served));
  const IoChoice first = options.io == IoChoice::epoll ? IoChoice::epoll : IoChoice::uring;
  if (!start_on(first)) {
    if (options.io != IoChoice::automatic || workers_refused.empty()) return false;
    io_reason = workers_refused;
    if (!start_on(IoChoice::epoll)) return false;
  }
  error.clear();
  exit_code = 0;
  if (options.stdio) start_stdio();
  const base::Status status = write_port_file();
  {
    std::lock_guard lock(mutex);
    running = worker_count;
    may_run = true;
    started = true;
    changed.notify_all();
  }
  if (!status.ok()) {
    stop();
    return refuse(exit_not_started, status.sentence());
  }
  return true;
}

// Phases only go forward; every loop is woken to see the new one.
void Server::Impl::enter(serve::Phase phase) {
  // Release: pairs with the acquire in Worker::begin_turn() and run().
  shared.phase.store(phase, std::memory_order_release);
  for (serve::WorkerThread& one : workers) one.worker->wake();
}

int Server::Impl::stop() {
  if (!started) return exit_code;
  // While its sockets are there: afterwards a path could be somebody else's and look like ours.
  for (io::Listener& listener : listeners) listener.remove_path();
  enter(serve::Phase::stopping);
  bool clean = false;
  {
    std::unique_lock lock(mutex);
    clean = changed.wait_for(lock, std::chrono::milliseconds(options.stop_timeout_ms),
                             [this] { return running == 0 && stdio_ended; });
  }
  if (!clean) enter(serve::Phase::forced);
  join_all();
  stdio.stop();
  started = false;
  exit_code = clean ? 0 : exit_forced;
  return exit_code;
}

void Server::Impl::join_all() {
  for (serve::WorkerThread& one : workers) {
    if (one.thread.joinable()) one.thread.join();
  }
}

bool Server::Impl::ready() const {
  return shared.phase.load(std::memory_order_acquire) == serve::Phase::serving;
}

}  // namespace ringrpc
