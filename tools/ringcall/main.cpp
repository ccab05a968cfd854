// ringcall: JSON-RPC calls over HTTP from the command line.
//
// Exit codes: 0 a result, 1 a JSON-RPC error, 2 wrong usage, 3 a transport failure.

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/ringcall/http_client.h"
#include "tools/ringcall/message.h"
#include "tools/ringcall/options.h"
#include "tools/ringcall/retry.h"

namespace {

using ringcall::Arguments;
using ringcall::Message;
using ringcall::Reply;
using ringcall::Response;

constexpr int exit_result = 0;
constexpr int exit_error = 1;
constexpr int exit_transport = 3;

int transport(const std::string& sentence) {
  std::fprintf(stderr, "ringcall: %s\n", sentence.c_str());
  return exit_transport;
}

void print(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
}

// A message made here gets a new id for each try; one that was given keeps its own.
bool make_message(const Arguments& arguments, Message& message, std::string& error) {
  if (arguments.batch) return ringcall::make_batch(arguments.message, message, error);
  if (arguments.whole) {
    message = ringcall::take_message(arguments.message);
    return true;
  }
  if (!arguments.notify) {
    message.ids.push_back(arguments.id.empty() ? ringcall::fresh_id()
                                               : ringcall::id_token(arguments.id));
  }
  message.text = ringcall::request(arguments.method, arguments.params,
                                   arguments.notify ? std::string() : message.ids.front());
  return true;
}

std::string status_line(const Response& response) {
  return response.head.substr(0, response.head.find("\r\n"));
}

// Prints what the server answered. Returns: the exit code.
int show(const Arguments& arguments, const Message& message, const Response& response) {
  if (response.status != 200) {
    std::fprintf(stderr, "ringcall: %s\n", status_line(response).c_str());
  }
  if (response.body.empty() && message.ids.empty() && message.known && response.status / 100 == 2) {
    return exit_result;
  }
  std::vector<Reply> replies;
  if (!ringcall::parse_replies(response.body, replies)) {
    if (arguments.raw && !response.body.empty()) print(response.body);
    return transport("no JSON-RPC reply: " + status_line(response));
  }
  std::vector<Reply> ordered;
  std::string error;
  const bool matched = ringcall::match_replies(message, replies, ordered, error);
  if (!matched && !message.batch) return transport(error);
  if (arguments.raw) print(response.body);
  int code = exit_result;
  for (const Reply& reply : ordered) {
    if (!reply.error.empty()) code = exit_error;
    if (!arguments.raw) print(reply.error.empty() ? reply.result : reply.error);
  }
  return matched ? code : transport(error);
}

// Returns: the error object of the only reply; empty when there is none.
std::string_view sole_error(const Response& response) {
  Reply reply;
  return ringcall::parse_reply(response.body, reply) ? reply.error : std::string_view();
}

int call(const Arguments& arguments) {
  ringcall::Request request;
  request.url = arguments.url;
  request.headers = arguments.headers;
  request.timeout_s = arguments.timeout_s;
  ringcall::Retries retries(arguments.retries);
  while (true) {
    Message message;
    std::string error;
    if (!make_message(arguments, message, error)) {
      std::fprintf(stderr, "ringcall: %s\n", error.c_str());
      return tools::exit_usage;
    }
    request.body = message.text;
    if (arguments.verbose) std::fprintf(stderr, "%s\n\n", ringcall::render(request).c_str());
    Response response;
    if (!ringcall::post(request, response, error)) return transport(error);
    if (arguments.verbose) {
      std::fprintf(stderr, "%s\r\n%s\n", response.head.c_str(), response.body.c_str());
    }
    if (arguments.time) {
      std::fprintf(stderr, "ringcall: connected %.3f ms, first byte %.3f ms, total %.3f ms\n",
                   response.timing.connected, response.timing.first_byte, response.timing.total);
    }
    std::string note;
    const double wait_s = retries.next(response, sole_error(response), note);
    if (!note.empty()) std::fprintf(stderr, "ringcall: %s\n", note.c_str());
    if (wait_s < 0) return show(arguments, message, response);
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  int exit_code = 0;
  if (!ringcall::parse_arguments(argc, argv, arguments, exit_code)) return exit_code;
  return tools::finish("ringcall", call(arguments));
}
