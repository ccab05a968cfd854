// ringrpc::Server: the public door.

#include <ringrpc/server.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "engine/base/clock.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/server_impl.h"

namespace ringrpc {
namespace {

// The end of its terminal stops a server as SIGTERM does, unless it was told to outlive it (nohup).
sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  struct sigaction hangup{};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

// Sleeps for that time, or until another stop signal comes. Returns: whether one came.
bool wait_for_signal_ms(const sigset_t& set, std::uint32_t ms) {
  const timespec time{static_cast<std::time_t>(ms / 1000),
                      static_cast<long>(ms % 1000) * 1'000'000};
  int signal = 0;
  do {
    signal = sigtimedwait(&set, nullptr, &time);
  } while (signal < 0 && errno == EINTR);
  return signal > 0;
}

}  // namespace

Server::Server(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Server::~Server() {
  // A blocking handler that has not ended still uses its method and its call. Nobody can end its
  // thread, so what it uses lives on with it.
  if (impl_->started) impl_->stop();
  // Threads that have nothing to do need a moment, too.
  const std::uint32_t patience_ms = std::max(impl_->options.stop_timeout_ms, 100u);
  const bool ended = impl_->blocking_pool->stop_within(patience_ms);
  if (!ended) Impl::keep(impl_.release());
}

void Server::add(std::string_view name, const handlers::Handler& handler,
                 const MethodOptions& options) {
  auto method = std::make_unique<rpc::Method>();
  method->name = name;
  method->invoke = handler.invoke;
  method->state = handler.state;
  method->destroy = handler.destroy;
  method->params = handler.params;
  method->result = handler.result;
  method->strict = options.strict;
  method->timeout_ms = options.timeout_ms;
  method->streams = handler.streams;
  if (handler.deferred || handler.coroutine) method->kind = rpc::MethodKind::deferred;
  if (handler.coroutine) impl_->blocking_pool->start();  // It may offload.
  if (handler.blocking) {
    method->kind = rpc::MethodKind::blocking;
    impl_->blocking_pool->start();
  }
  const base::Status status = impl_->registry.add(std::move(method));
  if (status.ok()) return;
  // A handler that is not served must not go unnoticed, but it is no reason to end a server.
  std::fprintf(stderr, "ringrpc: method \"%.*s\" was not added: %s\n",
               static_cast<int>(name.size()), name.data(), status.sentence().c_str());
}

bool Server::remove(std::string_view name) { return impl_->registry.remove(name); }

Server& Server::mount(std::string_view path, const EndpointOptions& options) {
  const std::string wrong = impl_->mount(path, options);
  if (!wrong.empty()) {
    std::fprintf(stderr, "%s: \"%.*s\" is not mounted: %s\n", impl_->options.name.c_str(),
                 static_cast<int>(path.size()), path.data(), wrong.c_str());
  }
  return *this;
}

int Server::run() {
  const sigset_t set = stop_signals();
  sigset_t before;
  // Blocked before the workers exist, so that their threads inherit it and this one takes them.
  pthread_sigmask(SIG_BLOCK, &set, &before);
  impl_->runner = pthread_self();
  if (!start()) {
    std::fprintf(stderr, "%s: %s\n", impl_->options.name.c_str(), impl_->error.c_str());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return impl_->exit_code;
  }
  std::fprintf(stderr, "%s\n", impl_->start_line().c_str());
  while (sigwaitinfo(&set, nullptr) < 0 && errno == EINTR) {
  }
  impl_->enter(serve::Phase::leaving);
  if (impl_->options.drain_delay_ms != 0) wait_for_signal_ms(set, impl_->options.drain_delay_ms);
  const int code = impl_->stop();
  // What was asked again meanwhile has been done: left pending, it would kill the process now.
  while (wait_for_signal_ms(set, 0)) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

bool Server::check() { return impl_->check(); }
bool Server::start() { return impl_->start(); }
int Server::stop() { return impl_->stop(); }
const std::string& Server::error() const { return impl_->error; }
int Server::exit_code() const { return impl_->exit_code; }

std::string Server::address(std::size_t listener) const {
  return listener < impl_->addresses.size() ? impl_->addresses[listener] : std::string();
}

std::uint16_t Server::port(std::size_t listener) const {
  return listener < impl_->listeners.size() ? impl_->listeners[listener].port()
                                            : static_cast<std::uint16_t>(0);
}

void Server::call(std::string_view json, std::string& reply) {
  impl_->in_memory.call(json, false, reply);
}
void Server::call_padded(std::string_view json, std::string& reply) {
  impl_->in_memory.call(json, true, reply);
}
void Server::call_http(std::string_view request, std::string& response) {
  impl_->in_memory.call_http(request, false, response);
}
void Server::call_http_padded(std::string_view request, std::string& response) {
  impl_->in_memory.call_http(request, true, response);
}

std::string Server::plan() const {
  return serve::format_plan(serve::memory_plan(impl_->worker_options(), impl_->worker_count),
                            impl_->worker_count);
}

std::string Server::metrics() const { return impl_->metrics(); }

}  // namespace ringrpc
