#include "tools/ringload/options.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tools/common/command_line.h"
#include "tools/common/json_text.h"
#include "tools/ringload/request.h"

namespace ringload {

namespace {

constexpr std::uint32_t connections_max = 1u << 20;
constexpr std::uint32_t depth_max = 4096;
constexpr std::uint32_t batch_max = 1'000'000;
constexpr std::uint32_t threads_max = 256;
constexpr double rate_max = 1e9;
constexpr double ramp_max_s = 86'400;
// Requests in flight, 16 bytes each; and the size of one.
constexpr std::uint64_t in_flight_max = 1u << 24;
constexpr std::size_t body_size_max = 256u << 20;

// What the user typed, before it is read.
struct Typed {
  std::string body;
  std::string body_file;
  std::string bodies_file;
  std::string expected;
  std::string ramp;
  double rate = 0;
  bool has_body = false;
  bool has_seconds = false;
  bool has_progress = false;
};

bool read_file(const std::string& name, std::string& out) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return false;
  out.assign(std::istreambuf_iterator<char>(file), {});
  return !file.bad();
}

// Reads "FROM:TO:SECONDS".
bool read_ramp(const std::string& text, RatePlan& rate) {
  double* const parts[] = {&rate.from, &rate.to, &rate.ramp_s};
  const char* at = text.c_str();
  for (int i = 0; i != 3; ++i) {
    char* end = nullptr;
    *parts[i] = std::strtod(at, &end);
    if (end == at || *end != (i == 2 ? '\0' : ':')) return false;
    if (!std::isfinite(*parts[i]) || *parts[i] < 0 || *parts[i] > rate_max) return false;
    at = end + 1;
  }
  return rate.ramp_s > 0 && rate.ramp_s <= ramp_max_s && rate.from + rate.to > 0;
}

// Returns: an empty sentence, or what is wrong.
std::string complete_bodies(Options& options, const Typed& typed) {
  std::string error;
  std::string text;
  if (!typed.bodies_file.empty()) {
    if (!read_file(typed.bodies_file, text)) return "cannot read the file given by --bodies";
    if (!typed.expected.empty()) return "with --bodies, each line has its own expected result";
    if (!read_bodies(text, options.bodies, error)) return error;
  } else {
    Body body;
    body.text = typed.body;
    if (!typed.body_file.empty() && !read_file(typed.body_file, body.text)) {
      return "cannot read the file given by --body-file";
    }
    if (!typed.has_body && (options.method == "POST" || options.url.websocket)) {
      body.text = canonical_body;
      body.expected = "5";
    }
    if (!typed.expected.empty()) {
      if (!tools::is_json(typed.expected)) return "--expect wants JSON";
      body.expected = tools::compact(typed.expected);
    }
    options.bodies.push_back(body);
  }
  if (!typed.expected.empty() && options.check_every == 0) options.check_every = 1000;
  if (options.check_every != 0) options.fresh_ids = options.batch == 0;
  if (options.url.two_way() && options.tracked()) {
    // Replies are told apart by their ids alone.
    options.fresh_ids = options.batch == 0;
    const std::string id = id_of_two_arrays(options.bodies);
    if (!id.empty())
      return "two arrays of bodies have the id " + id + ": replies come in any order";
  }
  std::size_t size = 0;
  for (const Body& body : options.bodies) {
    const bool object = tools::skip_blanks(body.text).starts_with('{');
    const bool json = options.tracked() || options.batch != 0 || options.url.two_way();
    if (json && !tools::is_json(body.text)) return "the body is no JSON";
    if (options.url.two_way() && make_message(body).calls.empty()) {
      return "a line without an id has no answer to wait for";
    }
    if (options.batch != 0 && !object) return "--batch wants bodies that are single calls";
    size += body.text.size() * std::max(options.batch, 1u);
  }
  return size > body_size_max ? "the bodies are over 256 MiB" : "";
}

std::string complete_rate(Options& options, const Typed& typed) {
  options.open_loop = typed.rate != 0 || !typed.ramp.empty();
  options.rate.from = options.rate.to = typed.rate;
  if (!typed.ramp.empty()) {
    if (!read_ramp(typed.ramp, options.rate)) {
      return "--ramp wants FROM:TO:SECONDS, such as 1000:50000:30";
    }
    if (!typed.has_seconds) options.seconds = options.rate.ramp_s;
  }
  options.timed = options.requests == 0 || typed.has_seconds;
  if (options.requests != 0) options.warmup = 0;  // All are measured.
  options.rate.warmup_s = options.warmup;
  return {};
}

// Bytes of a token (RFC 9110, section 5.6.2).
bool is_token(char c) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         marks.find(c) != std::string_view::npos;
}

// Returns: whether this process may run on that CPU.
bool may_use(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return cpu < CPU_SETSIZE && sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
         CPU_ISSET(static_cast<unsigned>(cpu), &cpus);
}

// Reads what the options point to, and checks what hangs together.
std::string complete(Options& options, const Typed& typed) {
  const std::string_view reason = tools::parse_url(options.url_text, options.url);
  if (!reason.empty()) return std::string(reason);
  if (options.url.lines && (!options.fields.empty() || options.method != "POST")) {
    return "lines of JSON have no head: --header and --method are for HTTP";
  }
  for (const std::string& field : options.fields) {
    if (!is_field(field)) return "--header wants 'NAME: VALUE'";
  }
  if (!std::all_of(options.method.begin(), options.method.end(), is_token)) {
    return "--method wants the name of a method of HTTP";
  }
  if (options.url.websocket) {
    if (options.churn != 0) return "--churn is not for ws://";
    if (options.method != "POST") return "--method is for HTTP";
    options.method = "messages to";  // in the report
  }
  for (std::uint32_t i = 0; options.pin >= 0 && i < options.threads; ++i) {
    if (!may_use(options.pin + static_cast<int>(i))) return "--pin names a CPU that is not ours";
  }
  if (options.server_pid != 0 && kill(options.server_pid, 0) != 0 && errno == ESRCH) {
    return "--server-pid names no process";
  }
  if (options.connections < options.threads) return "fewer connections than threads";
  if (options.requests != 0 && options.requests < options.threads) {
    return "fewer requests than threads";
  }
  if (std::uint64_t{options.connections} * options.depth > in_flight_max) {
    return "connections times depth is more than 16777216";
  }
  if (!typed.has_progress) options.progress = isatty(STDERR_FILENO) == 1;
  std::string sentence = complete_rate(options, typed);
  return sentence.empty() ? complete_bodies(options, typed) : sentence;
}

void declare_what(CLI::App& app, Options& options, Typed& typed) {
  const char* const group = "What is sent";
  app.add_option("URL", options.url_text,
                 "http://HOST:PORT/PATH, ws://HOST:PORT/PATH, unix-http:PATH; lines of JSON: "
                 "tcp://HOST:PORT, unix:PATH")
      ->required();
  CLI::Option* const body = app.add_option("--body", typed.body, "Body (default: a call of sum)");
  CLI::Option* const file = app.add_option("--body-file", typed.body_file, "File with the body");
  file->excludes(body)->check(tools::not_empty());
  CLI::Option* const bodies = app.add_option(
      "--bodies", typed.bodies_file,
      "File of bodies, mixed by weight; lines '[WEIGHT] JSON [EXPECTED-RESULT]', # for comments");
  bodies->excludes(body)->excludes(file)->check(tools::not_empty());
  CLI::Option* const batch =
      app.add_option("--batch", options.batch, "Calls in one body: the body so many times");
  batch->check(CLI::Range(1u, batch_max));
  CLI::Option* const ids = app.add_flag("--fresh-ids", options.fresh_ids,
                                        "Each request has an id of its own, and its reply too");
  CLI::Option* const header =
      app.add_option("-H,--header", options.fields, "Field of the head, 'NAME: VALUE'; repeatable");
  header->expected(1)->take_all();
  CLI::Option* const method = app.add_option("--method", options.method, "HTTP method");
  method->capture_default_str();
  CLI::Option* const show =
      app.add_flag("--show-request", options.show_request, "Write the first request and leave");
  for (CLI::Option* option : {body, file, bodies, batch, ids, header, method, show}) {
    option->group(group);
  }
}

void declare_how(CLI::App& app, Options& options, Typed& typed) {
  const char* const group = "How it is sent";
  CLI::Option* const connections =
      app.add_option("--connections", options.connections, "Connections");
  connections->check(CLI::Range(1u, connections_max))->capture_default_str();
  CLI::Option* const depth =
      app.add_option("--depth", options.depth, "Requests in flight on each connection, at most");
  depth->check(CLI::Range(1u, depth_max))->capture_default_str();
  CLI::Option* const churn =
      app.add_option("--churn", options.churn, "Close a connection after so many, and reconnect");
  churn->check(CLI::Range(1u, 1u << 30));
  CLI::Option* const spread =
      app.add_option("--spread", options.spread, "Open the connections over so many seconds");
  spread->check(tools::number_between(0, 3'600));
  CLI::Option* const rate = app.add_option(
      "--rate", typed.rate, "Open loop: so many requests each second, whatever comes back");
  rate->check(tools::number_between(0.001, rate_max));
  CLI::Option* const ramp = app.add_option(
      "--ramp", typed.ramp, "Open loop, FROM:TO:SECONDS: the rate grows or falls in a line");
  ramp->excludes(rate)->check(tools::not_empty());
  CLI::Option* const threads = app.add_option("--threads", options.threads, "Load threads");
  threads->check(CLI::Range(1u, threads_max))->capture_default_str();
  CLI::Option* const pin =
      app.add_option("--pin", options.pin, "CPU of the first thread; the others follow");
  pin->check(CLI::Range(0, 4095));
  CLI::Option* const spin =
      app.add_flag("--spin", options.spin, "Never sleep: shows the server's latency without ours");
  for (CLI::Option* option : {connections, depth, churn, spread, rate, ramp, threads, pin, spin}) {
    option->group(group);
  }
}

void declare_bounds(CLI::App& app, Options& options) {
  const char* const group = "How long";
  CLI::Option* const seconds =
      app.add_option("--seconds", options.seconds, "Length of the measurement (a ramp: its own)");
  seconds->check(tools::number_between(0.001, 86'400))->capture_default_str();
  CLI::Option* const requests =
      app.add_option("--requests", options.requests,
                     "Send so many, all measured; with --seconds, the first bound");
  requests->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  CLI::Option* const warmup =
      app.add_option("--warmup", options.warmup, "Seconds before the measurement");
  warmup->check(tools::number_between(0, 3'600))->capture_default_str();
  CLI::Option* const timeout = app.add_option("--timeout", options.timeout,
                                              "Seconds to connect, and of a connection's silence");
  timeout->check(tools::number_between(0.1, 3'600))->capture_default_str();
  for (CLI::Option* option : {seconds, requests, warmup, timeout}) option->group(group);
}

void declare_results(CLI::App& app, Options& options, Typed& typed) {
  const char* const group = "What comes out";
  CLI::Option* const check = app.add_option(
      "--check", options.check_every,
      "Check the first reply and each N-th from there in full: head, JSON, id, expected result "
      "(implies --fresh-ids)");
  check->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  CLI::Option* const expect = app.add_option(
      "--expect", typed.expected, "The result that is right, as JSON; --check 1000 unless given");
  expect->check(tools::not_empty());
  CLI::Option* const spectrum = app.add_option(
      "--spectrum", options.spectrum_file, "Write the latencies as an .hgrm file; -: to stdout");
  spectrum->check(tools::not_empty());
  CLI::Option* const pid =
      app.add_option("--server-pid", options.server_pid, "Report the CPU time of this process too");
  pid->check(CLI::Range(1, 1 << 30));
  CLI::Option* const json = app.add_flag("--json", options.json, "Report as one JSON object");
  CLI::Option* const progress =
      app.add_flag("--progress,!--no-progress", options.progress,
                   "A line each second on stderr (default: when it is a terminal)");
  for (CLI::Option* option : {check, expect, spectrum, pid, json, progress}) option->group(group);
}

}  // namespace

Parsed parse_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app("Sends requests over many connections, checks every reply, and measures.",
               "ringload");
  Typed typed;
  declare_what(app, options, typed);
  declare_how(app, options, typed);
  declare_bounds(app, options);
  declare_results(app, options, typed);
  app.set_version_flag("--version", std::string("ringload " RINGLOAD_VERSION));
  app.footer(
      "Without --rate or --ramp the loop is closed: each reply makes the next request. With them\n"
      "latency counts from the moment a request was meant to leave. See bench/ringload.md.\n"
      "Exit codes: 0 every reply was good, 1 one was not, 2 wrong usage, 3 could not connect or\n"
      "write its result.\n");
  if (!tools::parse(app, argc, argv, exit_code)) return Parsed::leave;
  typed.has_body = app.count("--body") + app.count("--body-file") != 0;
  typed.has_seconds = app.count("--seconds") != 0;
  typed.has_progress = app.count("--progress") != 0;
  const std::string sentence = complete(options, typed);
  if (sentence.empty()) return Parsed::run;
  std::fprintf(stderr, "ringload: %s\n", sentence.c_str());
  exit_code = exit_usage;
  return Parsed::leave;
}

}  // namespace ringload
