#pragma once

// What stands behind ringrpc::Server: options, the table, the workers in their threads.

#include <pthread.h>
#include <ringrpc/server.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/status.h"
#include "engine/http/hosts.h"
#include "engine/io/listener.h"
#include "engine/rpc/table.h"
#include "engine/serve/blocking_pool.h"
#include "engine/serve/endpoints.h"
#include "engine/serve/hub.h"
#include "engine/serve/in_memory.h"
#include "engine/serve/listen_spec.h"
#include "engine/serve/responder.h"
#include "engine/serve/stdio.h"
#include "engine/serve/worker_options.h"

namespace ringrpc::serve {

// A Worker<Io> without its Io: virtual calls at start and stop only.
class AnyWorker {
 public:
  virtual ~AnyWorker() = default;
  virtual base::Status start(std::span<const int> listeners, int adopted) = 0;
  virtual bool run() = 0;
  virtual void wake() = 0;
  [[nodiscard]] virtual const char* mode() const = 0;
  [[nodiscard]] virtual const base::Counters& counters() const = 0;
  [[nodiscard]] virtual const Endpoints& endpoints() const = 0;
  [[nodiscard]] virtual const Gauges& gauges() const = 0;
};

// One worker and the thread that it lives in from its making to its end.
struct WorkerThread {
  std::thread thread;
  std::unique_ptr<AnyWorker> worker;
  base::Status started;
  bool ended_by_itself = false;
};

}  // namespace ringrpc::serve

namespace ringrpc {

struct Server::Impl final : serve::Oracle {
  explicit Impl(Options given);
  ~Impl() override;

  // Cold path; one thread at a time.
  bool start();
  // Keeps what is still used for as long as the process lives, where leak checkers find it.
  static void keep(Impl* used);
  bool start_on(IoChoice io);
  void start_worker(std::size_t index, IoChoice io);
  void run_worker(std::size_t index, IoChoice io);
  // Returns: the exit code, 0 or 1.
  int stop();
  void enter(serve::Phase phase);
  void abandon_workers();
  void join_all();
  base::Status open_listeners();
  base::Status open_listener(const serve::ListenSpec& spec);
  void start_stdio();
  base::Status write_port_file() const;
  [[nodiscard]] std::string start_line() const;
  bool refuse(int code, std::string sentence);
  bool check();
  [[nodiscard]] serve::WorkerOptions worker_options() const;

  // Oracle. Thread: any.
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::string metrics() const override;

  // Returns: what is wrong, empty when nothing is.
  std::string mount(std::string_view path, const EndpointOptions& rules);

  // Calls `visit` with the counters and endpoints of each worker and in-memory context.
  template <typename Visit>
  void for_each_counted(Visit visit) const {
    for (const serve::WorkerThread& one : workers) {
      if (one.worker != nullptr) visit(one.worker->counters(), one.worker->endpoints());
    }
    in_memory.for_each(
        [&](const serve::InMemoryContext& context) { visit(context.counters, context.endpoints); });
  }

  Impl* kept_before = nullptr;  // see keep()
  Options options;
  std::uint32_t worker_count = 1;
  std::uint32_t connections_max = 0;     // of one worker, after the descriptor limit
  std::string bad_options;               // what is wrong with them, if anything
  std::vector<serve::ListenSpec> specs;  // of the listeners
  rpc::Registry registry;
  std::vector<std::string> hosts;
  http::HostPolicy host_policy;
  serve::WorkerShared shared;
  std::unique_ptr<serve::BlockingPool> blocking_pool;
  serve::Hub hub;
  serve::InMemory in_memory;
  std::deque<io::Listener> listeners;
  std::vector<std::string> addresses;
  serve::Stdio stdio;
  std::deque<serve::WorkerThread> workers;
  std::string workers_refused;  // what a worker said that could not start
  std::string io_reason;        // why epoll was taken, for the start line
  IoChoice io_taken = IoChoice::automatic;
  bool started = false;
  std::optional<pthread_t> runner;  // the thread that waits for a signal
  std::string error;
  int exit_code = 0;

  std::mutex mutex;
  std::condition_variable changed;  // a worker has started, or ended
  std::size_t reported = 0;         // workers whose start() has returned
  std::size_t running = 0;
  bool stdio_ended = true;  // nothing of it is left to be written
  bool may_run = false;     // all have started: begin to serve
  bool give_up = false;     // one has not: end
};

}  // namespace ringrpc
