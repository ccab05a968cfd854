// ringrpcd: the demo server, and the program that the benchmarks measure.
//
// Exit codes: 0 clean stop, 1 forced after the stop deadline, 2 bad arguments, 3 could not start.

#include <ringrpc/server.h>
#include <ringrpc/version.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/ringrpcd/methods.h"

// Defined when mimalloc is loaded; it replaces malloc by being there.
extern "C" [[gnu::weak]] int mi_version();

namespace {

struct Arguments {
  ringrpc::Options options;
  std::vector<std::string> listeners;
  std::vector<std::string> hosts;
  std::vector<std::string> later;  // flags given that this version does not serve yet
  bool plan = false;
};

const std::map<std::string, ringrpc::IoChoice> io_choices = {
    {"auto", ringrpc::IoChoice::automatic},
    {"uring", ringrpc::IoChoice::uring},
    {"epoll", ringrpc::IoChoice::epoll},
};

// A flag whose meaning is fixed and whose code is not there yet. `values`: how many it takes.
void declare_later(CLI::App& app, Arguments& arguments, const std::string& flag, int values_min,
                   const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         flag, [&arguments, flag](const auto&) { arguments.later.push_back(flag); },
         help + " (not yet)")
      ->expected(values_min, 1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void declare(CLI::App& app, Arguments& arguments) {
  ringrpc::Options& options = arguments.options;
  app.set_version_flag("--version", "ringrpcd " RINGRPC_VERSION);
  app.add_option("--listen", arguments.listeners,
                 "HTTP listener HOST:PORT, port 0 for a free one; repeatable (127.0.0.1:8080)")
      ->check(tools::not_empty())
      ->allow_extra_args(false);
  app.add_option("--host", arguments.hosts,
                 "NAME or NAME:PORT allowed in Host, beside localhost; repeatable")
      ->check(tools::host_name())
      ->allow_extra_args(false);
  app.add_option("--origin", options.origins,
                 "Origin allowed for browsers, such as https://example.com; repeatable")
      ->check(tools::origin())
      ->allow_extra_args(false);
  app.add_option("--workers", options.workers, "Loops, one per CPU (all CPUs it may use)")
      ->check(CLI::Range(1u, ringrpc::limits::workers_max));
  app.add_option_function<std::string>(
         "--io", [&options](const std::string& name) { options.io = io_choices.at(name); },
         "How bytes move; auto is uring, else epoll (auto)")
      ->check(CLI::IsMember(io_choices));
  app.add_option("--spin-us", options.spin_us, "Microseconds to poll before sleeping (0)")
      ->check(CLI::Range(0u, 1'000'000u));
  app.add_option("--port-file", options.port_file, "File that tells the ports once it serves")
      ->check(tools::not_empty());
  app.add_flag("--plan", arguments.plan, "Print the memory plan and exit");
  declare_later(app, arguments, "--tcp", 1, "Listener for lines of JSON, HOST:PORT");
  declare_later(app, arguments, "--unix", 1, "The same on a Unix socket, PATH");
  declare_later(app, arguments, "--unix-http", 1, "HTTP on a Unix socket, PATH");
  declare_later(app, arguments, "--stdio", 1, "Serve stdin and stdout: rpc or mcp");
  declare_later(app, arguments, "--config", 1, "Configuration file");
  declare_later(app, arguments, "--conformance", 0, "Fixtures of the public suites, =MODE");
}

// Returns: ":PORT" at the end of an address or a Host; empty when there is none.
std::string_view port_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool found = colon != std::string_view::npos && text.find(']', colon) == text.npos;
  return found ? text.substr(colon) : std::string_view();
}

bool is_loopback(std::string_view listener) {
  return listener.starts_with("127.") || listener.starts_with("[::1]") ||
         listener.starts_with("localhost:");
}

// A name without a port is allowed alone, which is port 80, and with each listener's port. Whoever
// can be reached from outside and names no host is told what will happen.
void allow_hosts(Arguments& arguments) {
  ringrpc::Options& options = arguments.options;
  std::vector<std::string> listeners = options.more_listeners;
  listeners.insert(listeners.begin(), options.listen);
  for (const std::string& host : arguments.hosts) {
    options.hosts.push_back(host);
    if (!port_of(host).empty()) continue;
    for (const std::string& listener : listeners) {
      options.hosts.push_back(host + std::string(port_of(listener)));
    }
  }
  if (!arguments.hosts.empty()) return;
  for (const std::string& listener : listeners) {
    // What cannot be listened on is refused, and told, by the server.
    if (is_loopback(listener) || port_of(listener).size() < 2) continue;
    std::fprintf(stderr,
                 "ringrpcd: %s is reachable under names that it does not know and answers 403 to; "
                 "allow them with --host NAME\n",
                 listener.c_str());
  }
}

int run(Arguments& arguments) {
  if (!arguments.later.empty()) {
    std::fprintf(stderr, "ringrpcd: %s: not yet\n", arguments.later.front().c_str());
    return tools::exit_usage;
  }
  ringrpc::Options& options = arguments.options;
  if (!arguments.listeners.empty()) {
    options.listen = arguments.listeners.front();
    options.more_listeners.assign(arguments.listeners.begin() + 1, arguments.listeners.end());
  }
  allow_hosts(arguments);
  options.name = "ringrpcd";
  if (mi_version != nullptr) {
    const int version = mi_version();  // 209 is 2.0.9
    options.allocator = "mimalloc " + std::to_string(version / 100) + "." +
                        std::to_string(version / 10 % 10) + "." + std::to_string(version % 10);
  }
  ringrpc::Server server(options);
  if (arguments.plan) {
    std::fputs(server.plan().c_str(), stdout);
    return tools::finish("ringrpcd", 0);
  }
  ringrpcd::add_methods(server, options.reply_size_max);
  return server.run();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Serves JSON-RPC 2.0 with the demo methods of ringrpc.", "ringrpcd");
  Arguments arguments;
  declare(app, arguments);
  int exit_code = 0;
  if (!tools::parse(app, argc, argv, exit_code)) return exit_code;
  return run(arguments);
}
