#include "tools/ringcall/options.h"

#include <ringrpc/client.h>
#include <ringrpc/version.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/common/command_line.h"

namespace ringcall {

namespace {

constexpr double timeout_min_s = 0.001;
constexpr double timeout_max_s = 86'400;
constexpr unsigned retries_max = 100;
constexpr std::size_t text_size_max = std::size_t{1} << 30;

// Splits "NAME: VALUE". Returns: false when there is no colon.
bool read_header(std::string_view text, ringrpc::HttpField& header) {
  constexpr std::string_view blanks = " \t";
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view value = text.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
  header.name = text.substr(0, colon);
  header.value = value.substr(0, value.find_last_not_of(blanks) + 1);
  return true;
}

bool is_http(std::string_view url) {
  return url.starts_with("http:") || url.starts_with("unix-http:");
}

bool is_source(const std::string& text) { return text == "-" || text.starts_with('@'); }

// Reads "-" (stdin) or "@FILE". Returns: an empty sentence, or why not.
std::string read_source(const std::string& source, std::string& text) {
  const std::string name = source == "-" ? "stdin" : source.substr(1);
  std::FILE* const file = source == "-" ? stdin : std::fopen(name.c_str(), "rb");
  if (file == nullptr) return "cannot read " + name + ": " + std::strerror(errno);
  char buffer[64 << 10];
  std::size_t size = 0;
  while (text.size() < text_size_max && (size = std::fread(buffer, 1, sizeof buffer, file)) != 0) {
    text.append(buffer, size);
  }
  const bool failed = std::ferror(file) != 0;
  const int code = errno;
  if (file != stdin) std::fclose(file);
  if (failed) return "cannot read " + name + ": " + std::strerror(code);
  if (text.size() >= text_size_max) return name + " holds more than 1 GiB";
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.empty() ? name + " is empty" : std::string();
}

void declare(CLI::App& app, Arguments& arguments, std::vector<std::string>& headers) {
  app.set_version_flag("--version", "ringcall " RINGRPC_VERSION);
  app.add_option("URL", arguments.url, "Endpoint, such as http://127.0.0.1:8080/rpc; see below")
      ->required();
  app.add_option("METHOD", arguments.method,
                 "Method to call; - or @FILE: a whole message from stdin or a file");
  app.add_option("PARAMS", arguments.params,
                 "Params as JSON, an object or an array; - or @FILE as above");
  app.add_flag("--batch", arguments.batch,
               "One message of many calls: a line each, a message or METHOD [PARAMS] (from stdin)");
  app.add_flag("--notify", arguments.notify, "Send a notification: no id, no reply");
  app.add_option("--id", arguments.id,
                 "The request's id: a number, null, or a string (with or without quotes)");
  app.add_option("-H,--header", headers, "Header field to send, 'Name: value'; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--follow", arguments.follow,
               "Print notifications as they come, METHOD PARAMS a line (--raw: the message)");
  app.add_flag("--stay", arguments.stay,
               "Follow beyond the answer, until the connection ends (not HTTP)");
  app.add_option("--timeout", arguments.timeout_s, "Seconds for each try, from first to last byte")
      ->check(tools::number_between(timeout_min_s, timeout_max_s))
      ->capture_default_str();
  app.add_option("--retries", arguments.retries,
                 "Further tries after 429, 503, -31001, -31002, and where no connection is made; "
                 "after -32603 one at most")
      ->check(CLI::Range(0u, retries_max))
      ->capture_default_str();
  app.add_flag("--time", arguments.time, "Tell on stderr when it connected, heard, and was done");
  app.add_flag("--raw", arguments.raw, "Print the whole reply as it came");
  app.add_flag("-v,--verbose", arguments.verbose, "Show both heads and both bodies on stderr");
  app.footer(
      "URLs: http://HOST[:PORT][/PATH], ws://HOST[:PORT][/PATH], tcp://HOST:PORT, unix:PATH,\n"
      "unix-http:PATH, unix-ws:PATH, and 'stdio:COMMAND ARGUMENT...', which starts the command.\n"
      "Exit codes: 0 a result, 1 a JSON-RPC error, 2 wrong usage, 3 no answer that can be used.\n"
      "A status other than 200 is told on stderr.\n");
}

// Checks what hangs together and reads what is named. Returns: an empty sentence, or why not.
std::string complete(Arguments& arguments, const std::vector<std::string>& headers) {
  for (const std::string& text : headers) {
    if (!read_header(text, arguments.headers.emplace_back())) return "not a header field: " + text;
  }
  const ringrpc::Client checked(arguments.url, {.headers = arguments.headers});
  if (!checked.error().empty()) return checked.error();
  arguments.follow = arguments.follow || arguments.stay;
  if (arguments.stay && is_http(arguments.url)) return "--stay has no meaning on HTTP";
  if (arguments.notify && !arguments.id.empty()) return "a notification has no id";
  if (arguments.batch && arguments.method.empty()) arguments.method = "-";
  if (arguments.method.empty()) return "METHOD is missing";
  arguments.whole = is_source(arguments.method);
  if (arguments.batch && !arguments.whole) return "--batch wants - or @FILE, not a method";
  if (!arguments.whole) {
    if (!is_source(arguments.params)) return {};
    const std::string source = arguments.params;
    arguments.params.clear();
    return read_source(source, arguments.params);
  }
  if (!arguments.params.empty() || arguments.notify || !arguments.id.empty()) {
    return "a whole message has its own id and params";
  }
  return read_source(arguments.method, arguments.message);
}

}  // namespace

bool parse_arguments(int argc, const char* const* argv, Arguments& arguments, int& exit_code) {
  CLI::App app("Calls a method of a JSON-RPC 2.0 server and prints its result.", "ringcall");
  std::vector<std::string> headers;
  declare(app, arguments, headers);
  if (!tools::parse(app, argc, argv, exit_code)) return false;
  const std::string sentence = complete(arguments, headers);
  if (sentence.empty()) return true;
  std::fprintf(stderr, "ringcall: %s\n", sentence.c_str());
  exit_code = tools::exit_usage;
  return false;
}

}  // namespace ringcall
