// ringrpcd: the demo server, and the program that the benchmarks measure.
//
// Exit codes: 0 clean stop, 1 forced after the stop deadline, 2 bad arguments, 3 could not start.

#include <ringrpc/server.h>
#include <ringrpc/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tools/ringrpcd/methods.h"

// Defined when mimalloc is loaded; it replaces malloc by being there.
extern "C" [[gnu::weak]] int mi_version();

namespace {

constexpr int exit_usage = 2;

struct Arguments {
  ringrpc::Options options;
  std::vector<std::string> listeners;
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
      ->allow_extra_args(false);
  app.add_option("--workers", options.workers, "Loops, one per CPU (all CPUs it may use)")
      ->check(CLI::Range(1u, ringrpc::limits::workers_max));
  app.add_option_function<std::string>(
         "--io", [&options](const std::string& name) { options.io = io_choices.at(name); },
         "How bytes move; auto is uring, else epoll (auto)")
      ->check(CLI::IsMember(io_choices));
  app.add_option("--spin-us", options.spin_us, "Microseconds to poll before sleeping (0)")
      ->check(CLI::Range(0u, 1'000'000u));
  app.add_option("--port-file", options.port_file, "File that tells the ports once it serves");
  app.add_flag("--plan", arguments.plan, "Print the memory plan and exit");
  declare_later(app, arguments, "--tcp", 1, "Listener for lines of JSON, HOST:PORT");
  declare_later(app, arguments, "--unix", 1, "The same on a Unix socket, PATH");
  declare_later(app, arguments, "--unix-http", 1, "HTTP on a Unix socket, PATH");
  declare_later(app, arguments, "--stdio", 1, "Serve stdin and stdout: rpc or mcp");
  declare_later(app, arguments, "--config", 1, "Configuration file");
  declare_later(app, arguments, "--conformance", 0, "Fixtures of the public suites, =MODE");
}

int run(Arguments& arguments) {
  if (!arguments.later.empty()) {
    std::fprintf(stderr, "ringrpcd: %s: not yet\n", arguments.later.front().c_str());
    return exit_usage;
  }
  ringrpc::Options& options = arguments.options;
  if (!arguments.listeners.empty()) {
    options.listen = arguments.listeners.front();
    options.more_listeners.assign(arguments.listeners.begin() + 1, arguments.listeners.end());
  }
  options.name = "ringrpcd";
  if (mi_version != nullptr) {
    const int version = mi_version();  // 209 is 2.0.9
    options.allocator = "mimalloc " + std::to_string(version / 100) + "." +
                        std::to_string(version / 10 % 10) + "." + std::to_string(version % 10);
  }
  ringrpc::Server server(options);
  if (arguments.plan) {
    std::fputs(server.plan().c_str(), stdout);
    return 0;
  }
  ringrpcd::add_methods(server, options.reply_size_max);
  return server.run();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Serves JSON-RPC 2.0 with the demo methods of ringrpc.", "ringrpcd");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  return run(arguments);
}
