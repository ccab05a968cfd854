#include "tools/ringtop/options.h"

#include <ringrpc/version.h>

#include <cstdio>

#include "tools/common/command_line.h"

namespace ringtop {
namespace {

constexpr std::uint32_t interval_min_ms = 50;
constexpr std::uint32_t interval_max_ms = 3'600'000;
constexpr std::uint32_t count_max = 1'000'000'000;

}  // namespace

std::string read_target(const std::string& url, ringrpc::client::Target& out) {
  using ringrpc::client::Protocol;
  using ringrpc::client::Target;
  std::string sentence = ringrpc::client::read_url(url, out);
  if (!sentence.empty()) return sentence;
  if (out.protocol != Protocol::http || out.way == Target::Way::process) {
    return "counters come over http://HOST[:PORT] or unix-http:PATH only";
  }
  // An endpoint's URL, as ringcall takes it, means its server.
  if (out.target == "/" || out.target == "/rpc") out.target = "/metrics";
  return {};
}

bool parse_arguments(int argc, const char* const* argv, Options& options, int& exit_code) {
  CLI::App app("Shows a live ringrpc server's counters: rates, times, methods, limits.", "ringtop");
  app.set_version_flag("--version", "ringtop " RINGRPC_VERSION);
  app.add_option("URL", options.url, "The server: http://HOST[:PORT] or unix-http:PATH")
      ->capture_default_str();
  app.add_option("--interval", options.interval_ms, "Milliseconds from one look to the next")
      ->check(CLI::Range(interval_min_ms, interval_max_ms))
      ->capture_default_str();
  app.add_flag("--once", options.once,
               "Print one picture of an interval as plain text, and end; so it is, too, where "
               "stdout is no terminal and no --count is given");
  app.add_option("--count", options.count, "End after so many pictures")
      ->check(CLI::Range(1u, count_max));
  app.footer(
      "It reads GET /metrics, or the URL's own path if that is neither / nor /rpc, twice for a\n"
      "picture; each look is a request that the server counts. p50 and p99 are of the interval's\n"
      "calls, and as exact as the buckets of ringrpc_call_seconds. Ends with Ctrl-C.\n"
      "Exit codes: 0 done, 2 wrong usage, 3 no counters to be had (in a terminal it tries "
      "again).\n");
  if (!tools::parse(app, argc, argv, exit_code)) return false;
  std::string sentence = read_target(options.url, options.target);
  if (sentence.empty() && options.once && options.count > 1) sentence = "--once is a count of 1";
  if (sentence.empty()) return true;
  std::fprintf(stderr, "ringtop: %s\n", sentence.c_str());
  exit_code = tools::exit_usage;
  return false;
}

}  // namespace ringtop
