// What a server listens on, and how it tells so.

#include <ringrpc/version.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "engine/serve/server_impl.h"

namespace ringrpc {
namespace {

constexpr std::uint32_t unsent_grace_ms = 1'000;

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("localhost:");
}

bool is_wildcard(const std::string& address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

bool speaks_http(const serve::ListenSpec& spec) {
  return spec.door().protocol == serve::Protocol::http;
}

}  // namespace

base::Status Server::Impl::open_listeners() {
  listeners.clear();
  addresses.clear();
  host_policy.loopback = std::none_of(specs.begin(), specs.end(), speaks_http);
  for (const serve::ListenSpec& spec : specs) {
    base::Status status = open_listener(spec);
    if (!status.ok()) return status;
  }
  host_policy.hosts = hosts;
  return options.stdio ? stdio.open() : base::Status();
}

base::Status Server::Impl::open_listener(const serve::ListenSpec& spec) {
  io::Listener& listener = listeners.emplace_back();
  // A moment later than we do it ourselves, which takes more than the kernel's view of it.
  const std::uint32_t unsent_timeout_ms = options.stall_timeout_ms + unsent_grace_ms;
  base::Status status = spec.on_path()
                            ? listener.open_unix(spec.where, worker_count, options.unix_mode)
                            : listener.open(spec.where, worker_count, unsent_timeout_ms);
  if (!status.ok()) return status;
  addresses.push_back(listener.address());
  if (!speaks_http(spec)) return {};
  // A loopback listener and a Unix socket answer to the loopback names; another one to its own
  // address, and to what the options allow.
  if (spec.on_path() || is_loopback(spec.where) || is_loopback(addresses.back()) ||
      is_wildcard(addresses.back())) {
    host_policy.loopback = true;
  } else {
    hosts.push_back(addresses.back());
  }
  return {};
}

// The end of stdin ends the server, as a signal would.
void Server::Impl::start_stdio() {
  stdio_ended = false;
  stdio.start([this] {
    std::lock_guard lock(mutex);
    stdio_ended = true;
    changed.notify_all();
    // It is blocked there, so it waits until that thread waits for it.
    if (runner.has_value()) pthread_kill(*runner, SIGTERM);
  });
}

base::Status Server::Impl::write_port_file() const {
  if (options.port_file.empty()) return {};
  // Written aside and renamed: whoever sees the file sees all of it.
  const std::string aside = options.port_file + ".new";
  std::FILE* file = std::fopen(aside.c_str(), "we");
  if (file == nullptr) return base::Status::from_errno(errno, "cannot write " + aside);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string where =
        specs[i].on_path() ? addresses[i] : std::to_string(listeners[i].port());
    std::fprintf(file, "%s %s\n", std::string(specs[i].name()).c_str(), where.c_str());
  }
  const bool written = std::fclose(file) == 0;
  if (!written || std::rename(aside.c_str(), options.port_file.c_str()) != 0) {
    const int reason = errno;
    std::remove(aside.c_str());
    return base::Status::from_errno(reason, "cannot write " + options.port_file);
  }
  return {};
}

std::string Server::Impl::start_line() const {
  std::string line = options.name + " " RINGRPC_VERSION ": listening on";
  for (std::size_t i = 0; i < specs.size(); ++i) line += " " + specs[i].url(addresses[i]);
  if (options.stdio) line += " stdio";
  if (specs.empty() && !options.stdio) line += " nothing";
  line += ", " + std::to_string(worker_count) + (worker_count == 1 ? " worker" : " workers");
  line += std::string(", ") + workers.front().worker->mode();
  if (io_taken == IoChoice::epoll)
    line += io_reason.empty() ? " (as asked)" : " (" + io_reason + ")";
  return line + ", " + options.allocator;
}

}  // namespace ringrpc
