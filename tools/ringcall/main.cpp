// ringcall: JSON-RPC calls from the command line, over every transport of the client.
//
// Exit codes: 0 a result, 1 a JSON-RPC error, 2 wrong usage, 3 a transport failure.

#include <ringrpc/client.h>
#include <strings.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/ringcall/message.h"
#include "tools/ringcall/options.h"

namespace {

using ringcall::Arguments;
using ringcall::Message;
using ringcall::Reply;
using ringrpc::Exchange;

constexpr int exit_result = 0;
constexpr int exit_error = 1;
constexpr int exit_transport = 3;

constexpr int ok_status = 200;
constexpr std::size_t message_size_max = std::size_t{1} << 30;

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
  message = Message();
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

ringrpc::RawMessage raw(const Message& message) {
  return {.text = message.text, .ids = message.ids, .any_reply = !message.known};
}

std::string status_line(const Exchange& done) {
  return done.head.substr(0, done.head.find("\r\n"));
}

// Prints what the server answered. Returns: the exit code.
int show(const Arguments& arguments, const Message& message, const Exchange& done) {
  const bool http = done.http_status != 0;
  if (http && done.http_status != ok_status) {
    std::fprintf(stderr, "ringcall: %s\n", status_line(done).c_str());
  }
  const bool accepted = !http || done.http_status / 100 == 2;
  if (done.body.empty() && message.ids.empty() && message.known && accepted) return exit_result;
  std::vector<Reply> replies;
  if (!ringcall::parse_replies(done.body, replies)) {
    if (arguments.raw && !done.body.empty()) print(done.body);
    return transport("no JSON-RPC reply: " + status_line(done));
  }
  std::vector<Reply> ordered;
  std::string error;
  const bool matched = ringcall::match_replies(message, replies, ordered, error);
  if (!matched && !message.batch) return transport(error);
  if (arguments.raw) print(done.body);
  int code = exit_result;
  for (const Reply& reply : ordered) {
    if (!reply.error.empty()) code = exit_error;
    if (!arguments.raw) print(reply.error.empty() ? reply.result : reply.error);
  }
  return matched ? code : transport(error);
}

void show_time(const Arguments& arguments, const Exchange& done) {
  if (!arguments.time || done.failure) return;
  std::fprintf(stderr, "ringcall: connected %.3f ms, first byte %.3f ms, total %.3f ms\n",
               done.timing.connected, done.timing.first_byte, done.timing.total);
}

void show_retry(const ringrpc::Retry& retry) {
  if (retry.given_up) {
    std::fprintf(stderr, "ringcall: not tried again: the server asks for %.0f s\n", retry.wait_s);
    return;
  }
  std::string what = retry.exchange.failure.sentence;
  if (retry.exchange.http_status != 0) {
    what = "HTTP " + std::to_string(retry.exchange.http_status);
  }
  if (retry.code != 0) {
    if (!what.empty()) what += ", ";
    what += "error " + std::to_string(retry.code);
  }
  std::fprintf(stderr, "ringcall: %s: try %u of %u again in %.2f s\n", what.c_str(), retry.number,
               retry.most, retry.wait_s);
}

// One line for each, as soon as it comes.
void show_event(const Arguments& arguments, const ringrpc::Notification& event) {
  std::string line(event.text);
  if (!arguments.raw) {
    line = event.method;
    if (!event.params.empty()) line.append(" ").append(event.params);
  }
  std::erase_if(line, [](char c) { return c == '\r' || c == '\n'; });
  print(line);
  std::fflush(stdout);
}

void show_traffic(bool outgoing, std::string_view head, std::string_view body) {
  std::string text(head);
  if (!outgoing && !head.empty()) text += "\r\n";
  text.append(body).append(outgoing ? "\n\n" : "\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

ringrpc::ClientOptions client_options(const Arguments& arguments) {
  ringrpc::ClientOptions options;
  options.timeout_ms = 0;
  options.try_timeout_ms = static_cast<std::uint32_t>(std::ceil(arguments.timeout_s * 1000));
  options.connect_timeout_ms = 0;
  options.retries = arguments.retries;
  options.message_size_max = message_size_max;
  options.reply_size_max = message_size_max;
  options.headers = arguments.headers;
  const bool given = std::any_of(
      options.headers.begin(), options.headers.end(),
      [](const auto& field) { return strcasecmp(field.name.c_str(), "connection") == 0; });
  // One call, and then the connection is of no more use.
  if (!given) options.headers.insert(options.headers.begin(), {"Connection", "close"});
  if (arguments.verbose) options.trace = show_traffic;
  return options;
}

int call(const Arguments& arguments) {
  Message message;
  std::string error;
  if (!make_message(arguments, message, error)) {
    std::fprintf(stderr, "ringcall: %s\n", error.c_str());
    return tools::exit_usage;
  }
  ringrpc::Client client(arguments.url, client_options(arguments));
  if (arguments.follow) {
    client.on_notification(
        [&](const ringrpc::Notification& event) { show_event(arguments, event); });
  }
  ringrpc::CallOptions options;
  options.on_retry = [&](ringrpc::Retry& retry) {
    show_time(arguments, retry.exchange);
    show_retry(retry);
    if (retry.given_up || !make_message(arguments, message, error)) return;
    *retry.message = raw(message);
  };
  const Exchange done = client.exchange(raw(message), options);
  show_time(arguments, done);
  if (done.failure) return transport(done.failure.sentence);
  const int code = show(arguments, message, done);
  if (arguments.stay) std::fflush(stdout);
  while (arguments.stay && client.connected()) client.poll(-1);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  int exit_code = 0;
  if (!ringcall::parse_arguments(argc, argv, arguments, exit_code)) return exit_code;
  return tools::finish("ringcall", call(arguments));
}
