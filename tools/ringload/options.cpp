#include "tools/ringload/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tools/ringload/request.h"

namespace ringload {

namespace {

constexpr std::uint32_t connections_max = 1u << 20;
constexpr std::uint32_t depth_max = 4096;
constexpr std::uint32_t threads_max = 256;
// Requests in flight, 16 bytes each; and the size of one.
constexpr std::uint64_t in_flight_max = 1u << 24;
constexpr std::size_t body_size_max = 256u << 20;

bool read_file(const std::string& name, std::string& out) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return false;
  out.assign(std::istreambuf_iterator<char>(file), {});
  return !file.bad();
}

Parsed refuse(int& exit_code, std::string_view sentence) {
  std::fprintf(stderr, "ringload: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  exit_code = exit_usage;
  return Parsed::leave;
}

// Reads what the options point to, and checks what hangs together.
Parsed complete(Options& options, const std::string& body_file, int& exit_code) {
  const std::string_view reason = tools::parse_url(options.url_text, options.url);
  if (!reason.empty()) return refuse(exit_code, reason);
  for (const std::string& field : options.fields) {
    if (!is_field(field)) return refuse(exit_code, "--header wants 'NAME: VALUE'");
  }
  if (!body_file.empty() && !read_file(body_file, options.body)) {
    return refuse(exit_code, "cannot read the file given by --body-file");
  }
  if (options.connections < options.threads) {
    return refuse(exit_code, "fewer connections than threads");
  }
  if (options.requests != 0 && options.requests < options.threads) {
    return refuse(exit_code, "fewer requests than threads");
  }
  if (std::uint64_t{options.connections} * options.depth > in_flight_max) {
    return refuse(exit_code, "connections times depth is more than 16777216");
  }
  if (options.body.size() > body_size_max) return refuse(exit_code, "the body is over 256 MiB");
  return Parsed::run;
}

}  // namespace

Parsed parse_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app("Sends one request again and again over many connections, and measures.",
               "ringload");
  std::string body_file;
  CLI::Option* const body = app.add_option("--body", options.body, "Body (default: a call of sum)");
  app.add_option("--body-file", body_file, "File with the body")->excludes(body);
  app.add_option("--connections", options.connections, "Connections")
      ->check(CLI::Range(1u, connections_max))
      ->capture_default_str();
  app.add_option("--depth", options.depth, "Requests in flight on each connection")
      ->check(CLI::Range(1u, depth_max))
      ->capture_default_str();
  CLI::Option* const seconds =
      app.add_option("--seconds", options.seconds, "Length of the measurement")
          ->check(CLI::Range(0.001, 86'400.0))
          ->capture_default_str();
  app.add_option("--requests", options.requests, "Send so many instead, and measure all of them")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40))
      ->excludes(seconds);
  app.add_option("--warmup", options.warmup, "Seconds before the measurement")
      ->check(CLI::Range(0.0, 3'600.0))
      ->capture_default_str();
  app.add_option("--timeout", options.timeout, "Seconds to connect, and without any reply")
      ->check(CLI::Range(0.1, 3'600.0))
      ->capture_default_str();
  app.add_option("--header", options.fields, "Field of the head, 'NAME: VALUE'; may be repeated")
      ->expected(1)
      ->take_all();
  app.add_option("--method", options.method, "HTTP method")->capture_default_str();
  app.add_option("--threads", options.threads, "Load threads")
      ->check(CLI::Range(1u, threads_max))
      ->capture_default_str();
  app.add_option("--pin", options.pin, "CPU of the first thread; the others follow")
      ->check(CLI::Range(0, 4095));
  app.add_option("--server-pid", options.server_pid, "Report the CPU time of this process too")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--spin", options.spin, "Never sleep: shows the server's latency without ours");
  app.add_flag("--json", options.json, "Report as one JSON object");
  app.add_flag("--show-request", options.show_request, "Write the request's bytes and leave");
  app.add_option("URL", options.url_text, "http://HOST:PORT/PATH")->required();
  app.set_version_flag("--version", std::string("ringload " RINGLOAD_VERSION));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? exit_good : exit_usage;
    return Parsed::leave;
  }

  if (body_file.empty() && body->count() == 0 && options.method == "POST") {
    options.body = canonical_body;
  }
  return complete(options, body_file, exit_code);
}

}  // namespace ringload
