// ringrpcd: the demo server, and the program that the benchmarks measure.
//
// Exit codes: 0 clean stop, 1 forced after the stop deadline, 2 bad arguments, 3 could not start.

#include <ringrpc/server.h>
#include <ringrpc/version.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/ringrpcd/methods.h"

// Defined when mimalloc is loaded; it replaces malloc by being there.
extern "C" [[gnu::weak]] int mi_version();

namespace {

// The flags that each add a listener, with what stands before their values in an option.
struct ListenFlag {
  const char* flag;
  const char* prefix;
  const char* help;
  bool path;
};
constexpr ListenFlag listen_flags[] = {
    {"--listen", "",
     "HTTP listener HOST:PORT, port 0 for a free one, or tcp://HOST:PORT, unix:PATH, "
     "unix-http:PATH as below; repeatable (127.0.0.1:8080)",
     false},
    {"--tcp", "tcp://", "Listener for lines of JSON, HOST:PORT; repeatable", false},
    {"--unix", "unix:", "The same on a Unix socket, PATH; repeatable", true},
    {"--unix-http", "unix-http:", "HTTP on a Unix socket, PATH; repeatable", true},
};

struct Arguments {
  ringrpc::Options options;
  std::vector<std::string> listeners[std::size(listen_flags)];  // by flag
  std::vector<std::string> hosts;
  std::vector<std::string> later;  // flags given that this version does not serve yet
  std::string stdio;
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
  for (std::size_t i = 0; i < std::size(listen_flags); ++i) {
    app.add_option(listen_flags[i].flag, arguments.listeners[i], listen_flags[i].help)
        ->check(listen_flags[i].path ? tools::socket_path() : tools::not_empty())
        ->allow_extra_args(false);
  }
  app.add_option_function<std::string>(
         "--unix-mode",
         [&options](const std::string& text) {
           options.unix_mode = static_cast<std::uint32_t>(std::stoul(text, nullptr, 8));
         },
         "Permissions of Unix sockets, octal (0600)")
      ->check(tools::permissions());
  app.add_option_function<std::string>(
         "--stdio", [&arguments](const std::string& name) { arguments.stdio = name; },
         "Serve stdin and stdout: rpc, or mcp (not yet)")
      ->check(CLI::IsMember({"rpc", "mcp"}));
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
  app.add_option("--heartbeat-ms", options.heartbeat_ms,
                 "After how much silence an event stream says that it lives (15000)")
      ->check(CLI::Range(ringrpc::limits::heartbeat_ms_min, ringrpc::limits::timeout_ms_max));
  app.add_option("--port-file", options.port_file, "File that tells the ports once it serves")
      ->check(tools::not_empty());
  app.add_flag("--plan", arguments.plan, "Print the memory plan and exit");
  declare_later(app, arguments, "--config", 1, "Configuration file");
  declare_later(app, arguments, "--conformance", 0, "Fixtures of the public suites, =MODE");
}

// Lists the listeners in the order in which they were given. Without any, the default stays.
void order_listeners(const CLI::App& app, Arguments& arguments) {
  std::vector<std::string> all;
  std::size_t taken[std::size(listen_flags)] = {};
  for (const CLI::Option* option : app.parse_order()) {
    for (std::size_t i = 0; i < std::size(listen_flags); ++i) {
      if (option->get_name() != listen_flags[i].flag) continue;
      all.push_back(listen_flags[i].prefix + arguments.listeners[i][taken[i]++]);
    }
  }
  ringrpc::Options& options = arguments.options;
  if (!all.empty() || options.stdio) options.listen.clear();
  options.more_listeners = std::move(all);
}

bool has_unix_socket(const ringrpc::Options& options) {
  const std::vector<std::string>& all = options.more_listeners;
  return std::any_of(all.begin(), all.end(), [](const std::string& text) {
    return text.starts_with("unix:") || text.starts_with("unix-http:");
  });
}

// Returns: ":PORT" at the end of an address or a Host; empty when there is none.
std::string_view port_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool found = colon != std::string_view::npos && text.find(']', colon) == text.npos;
  return found ? text.substr(colon) : std::string_view();
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") ||
         address.starts_with("localhost:");
}

// Returns: HOST:PORT of each listener for HTTP.
std::vector<std::string> http_addresses(const ringrpc::Options& options) {
  std::vector<std::string> all = options.more_listeners;
  if (!options.listen.empty()) all.push_back(options.listen);
  std::vector<std::string> out;
  for (const std::string& text : all) {
    std::string address = ringrpc::http_address(text);
    if (!address.empty()) out.push_back(std::move(address));
  }
  return out;
}

// A name without a port is allowed alone, which is port 80, and with each listener's port.
void allow_hosts(Arguments& arguments) {
  ringrpc::Options& options = arguments.options;
  for (const std::string& host : arguments.hosts) {
    options.hosts.push_back(host);
    if (!port_of(host).empty()) continue;
    for (const std::string& listener : http_addresses(options)) {
      options.hosts.push_back(host + std::string(port_of(listener)));
    }
  }
}

// Whoever can be reached from outside and names no host is told what will happen.
void tell_of_names(const Arguments& arguments) {
  if (!arguments.hosts.empty()) return;
  for (const std::string& listener : http_addresses(arguments.options)) {
    if (is_loopback(listener)) continue;
    std::fprintf(stderr,
                 "ringrpcd: %s is reachable under names that it does not know and answers 403 to; "
                 "allow them with --host NAME\n",
                 listener.c_str());
  }
}

int run(const CLI::App& app, Arguments& arguments) {
  if (!arguments.later.empty()) {
    std::fprintf(stderr, "ringrpcd: %s: not yet\n", arguments.later.front().c_str());
    return tools::exit_usage;
  }
  if (arguments.stdio == "mcp") {
    std::fprintf(stderr, "ringrpcd: --stdio mcp: not yet\n");
    return tools::exit_usage;
  }
  ringrpc::Options& options = arguments.options;
  options.stdio = !arguments.stdio.empty();
  order_listeners(app, arguments);
  if (app.count("--unix-mode") > 0 && !has_unix_socket(options)) {
    std::fprintf(stderr, "ringrpcd: --unix-mode is for Unix sockets, and there is none\n");
    return tools::exit_usage;
  }
  allow_hosts(arguments);
  options.name = "ringrpcd";
  if (mi_version != nullptr) {
    const int version = mi_version();  // 209 is 2.0.9
    options.allocator = "mimalloc " + std::to_string(version / 100) + "." +
                        std::to_string(version / 10 % 10) + "." + std::to_string(version % 10);
  }
  ringrpc::Server server(options);
  if (!server.check()) {
    std::fprintf(stderr, "ringrpcd: %s\n", server.error().c_str());
    return server.exit_code();
  }
  tell_of_names(arguments);
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
  return run(app, arguments);
}
