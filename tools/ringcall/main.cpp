// ringcall: one JSON-RPC call over HTTP from the command line.
//
// Exit codes: 0 a result, 1 a JSON-RPC error, 2 wrong usage, 3 a transport failure.

#include <ringrpc/version.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tools/ringcall/http_client.h"
#include "tools/ringcall/message.h"

namespace {

constexpr int exit_result = 0;
constexpr int exit_error = 1;
constexpr int exit_usage = 2;
constexpr int exit_transport = 3;

struct Arguments {
  std::vector<std::string> headers;
  std::string id;
  std::string url;
  std::string method;
  std::string params;
  double timeout_s = 30;
  bool notify = false;
  bool raw = false;
  bool verbose = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", "ringcall " RINGRPC_VERSION);
  app.add_option("--header", arguments.headers, "Header field to send, 'Name: value'; repeatable")
      ->allow_extra_args(false);
  app.add_option("--id", arguments.id,
                 "The request's id: a number, null, or a string (with or without quotes)");
  app.add_flag("--notify", arguments.notify, "Send a notification: no id, no reply");
  app.add_flag("--raw", arguments.raw, "Print the whole reply as it came");
  app.add_flag("--verbose", arguments.verbose, "Show both heads and both bodies on stderr");
  app.add_option("--timeout", arguments.timeout_s, "Seconds to wait for the whole reply")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("URL", arguments.url, "Endpoint, such as http://127.0.0.1:8080/rpc")->required();
  app.add_option("METHOD", arguments.method, "Method to call")->required();
  app.add_option("PARAMS-JSON", arguments.params, "Params as JSON: an object or an array");
}

int usage(const std::string& sentence) {
  std::fprintf(stderr, "ringcall: %s\n", sentence.c_str());
  return exit_usage;
}

int transport(const std::string& sentence) {
  std::fprintf(stderr, "ringcall: %s\n", sentence.c_str());
  return exit_transport;
}

void print(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

// Returns: false when the field cannot be sent as one line of a head.
bool parse_header(const std::string& text, ringcall::Header& header) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  if (text.find_first_of("\r\n") != std::string::npos) return false;
  header.name = text.substr(0, colon);
  if (header.name.find_first_of(" \t") != std::string::npos) return false;
  const std::size_t value = text.find_first_not_of(" \t", colon + 1);
  header.value = value == std::string::npos ? "" : text.substr(value);
  return true;
}

// An id that no other run of this program is likely to have taken.
std::string fresh_id() {
  std::random_device device;
  const std::uint64_t high = device();
  return std::to_string(((high << 21) ^ device()) & ((std::uint64_t{1} << 53) - 1));
}

// Prints what the server answered. Returns: the exit code.
int show(const Arguments& arguments, const ringcall::Response& response, std::string_view id) {
  if (response.body.empty() && arguments.notify && response.status / 100 == 2) return exit_result;
  ringcall::Reply reply;
  if (!ringcall::parse_reply(response.body, reply)) {
    if (arguments.raw && !response.body.empty()) print(response.body);
    const std::string status = response.head.substr(0, response.head.find("\r\n"));
    return transport("no JSON-RPC reply: " + status);
  }
  const bool is_error = !reply.error.empty();
  if (!arguments.notify && reply.id != id &&
      !(is_error && (reply.id.empty() || reply.id == "null"))) {
    return transport("the reply's id is " + std::string(reply.id) + ", not " + std::string(id));
  }
  print(arguments.raw ? response.body : is_error ? reply.error : reply.result);
  return is_error ? exit_error : exit_result;
}

int call(const Arguments& arguments) {
  ringcall::Request request;
  std::string error;
  if (!ringcall::parse_url(arguments.url, request.url, error)) return usage(error);
  for (const std::string& text : arguments.headers) {
    ringcall::Header header;
    if (!parse_header(text, header)) return usage("not a header field: " + text);
    request.headers.push_back(header);
  }
  if (arguments.notify && !arguments.id.empty()) return usage("a notification has no id");
  request.timeout_s = arguments.timeout_s;
  const std::string id = arguments.notify       ? std::string()
                         : arguments.id.empty() ? fresh_id()
                                                : ringcall::id_token(arguments.id);
  request.body = ringcall::request(arguments.method, arguments.params, id);
  if (arguments.verbose) std::fprintf(stderr, "%s\n\n", ringcall::render(request).c_str());

  ringcall::Response response;
  if (!ringcall::post(request, response, error)) return transport(error);
  if (arguments.verbose) {
    std::fprintf(stderr, "%s\r\n%s\n", response.head.c_str(), response.body.c_str());
  }
  return show(arguments, response, id);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Calls one method of a JSON-RPC 2.0 server over HTTP and prints its result.",
               "ringcall");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }
  return call(arguments);
}
