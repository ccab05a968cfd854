// Goal: whatever bytes clients of lines send, in whatever pieces, each hears exactly one line for
// each of its own that asks something, those that are said at once in order, and nothing is left
// behind.
// Method: the worker of production on the fake kernel. The first byte of the input chooses limits
// and harmless faults; the rest is a script (scripted_server.h). A model works out the answers from
// each client's whole stream, line by line; of those that come later it knows what they may be.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/fuzz/late_model.h"
#include "tests/fuzz/rpc_model.h"
#include "tests/fuzz/scripted_server.h"
#include "tests/support/conversation.h"

namespace ringrpc::fuzz {
namespace {

constexpr std::string_view too_large =
    R"({"jsonrpc":"2.0","error":{"code":-31008,"message":"Request too large",)"
    R"("data":{"reason":"message_size_max"}},"id":null})";
constexpr std::string_view no_lines =
    R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error",)"
    R"("data":{"reason":"http"}},"id":null})";
constexpr std::string_view too_slow = R"("data":{"reason":"body_rate_min"}},"id":null})";

// What a stream of lines is answered.
struct Model {
  Awaited awaited;
  bool ends = false;  // the server ends the connection
  std::map<std::string, std::uint64_t> started = {};
};

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

// A text as it stands in a line.
std::string unbroken(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out),
               [](char c) { return c != '\r' && c != '\n'; });
  return out;
}

void say(std::string_view text, Model& out) {
  out.awaited.add({.body = std::string(text), .has_body = true});
}

void add_line(std::string_view line, const ModelLimits& limits, std::size_t size_max, Model& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > size_max) return say(too_large, out);
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  const bool upper = line.front() >= 'A' && line.front() <= 'Z';
  const bool http = upper && line.find(" HTTP/") != line.npos;
  if (http || folded(line.substr(0, 5)) == "host:") {
    say(no_lines, out);
    out.ends = true;
    return;
  }
  Answer answer = answer_of(line, limits);
  for (const auto& [name, times] : answer.started) out.started[name] += times;
  answer.body = unbroken(answer.body);
  for (std::string& entry : answer.entries) entry = unbroken(entry);
  out.awaited.add(answer);
}

// `finished`: the stream's end ends its last line. Without, one that is too long is still refused.
void read_stream(std::string_view stream, bool finished, const ModelLimits& limits,
                 std::size_t size_max, Model& model) {
  while (!stream.empty() && !model.ends) {
    const std::size_t end = stream.find('\n');
    if (end == stream.npos && !finished) {
      if (stream.size() > size_max + (stream.ends_with('\r') ? 1 : 0)) say(too_large, model);
      return;
    }
    add_line(stream.substr(0, end), limits, size_max, model);
    stream.remove_prefix(end == stream.npos ? stream.size() : end + 1);
  }
}

class Check {
 public:
  explicit Check(ScriptedServer& server) : server_(server), limits_(server.model()) {
    limits_.two_way = true;
  }

  void all() {
    for (const Client& client : server_.clients()) one(client);
    const bool exact = !disturbed_ && !server_.timed() && !server_.stopping();
    server_.check_starts(certainly_, possibly_, exact);
  }

 private:
  void one(const Client& client) {
    Model model{.awaited = Awaited(server_.excuses())};
    read_stream(client.sent, client.fin, limits_, server_.options().message_size_max, model);
    Notified notified;
    bool over = false;
    std::string_view rest = client.heard;
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      std::string complaint;
      if (over) complaint = "a line behind the last one";
      if (notified.hear(line, complaint)) continue;
      if (server_.timed() && line.ends_with(too_slow)) {
        over = true;
      } else if (complaint.empty() && !model.awaited.take(line)) {
        complaint = "another answer: " + testing::shown(line) + model.awaited.shown();
      }
      if (!complaint.empty()) ScriptedServer::complain(client, complaint);
    }
    if (!model.awaited.settle()) {
      ScriptedServer::complain(client, "too many answers of one kind:" + model.awaited.shown());
    }
    for (const auto& [name, times] : model.started) {
      possibly_[name] += times;
      if (!model.awaited.any()) certainly_[name] += client.reset ? 0 : times;
    }
    disturbed_ |= client.reset;
    if (client.reset || server_.timed() || server_.stopping()) return;
    if (!rest.empty()) ScriptedServer::complain(client, "half a line");
    if (model.awaited.any()) {
      ScriptedServer::complain(client, "answers are missing:" + model.awaited.shown());
    }
    if (server_.at_end(client) != (model.ends || client.fin)) {
      ScriptedServer::complain(client, "another end");
    }
  }

  ScriptedServer& server_;
  ModelLimits limits_;
  bool disturbed_ = false;
  std::map<std::string, std::uint64_t> certainly_;
  std::map<std::string, std::uint64_t> possibly_;
};

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringrpc::fuzz;
  static House* const house = new House;  // for the life of the program
  if (size == 0 || size > script_size_max) return 0;
  ScriptedServer server(*house, data[0], ringrpc::serve::Protocol::lines);
  server.play({reinterpret_cast<const char*>(data) + 1, size - 1});
  Check(server).all();
  server.close();
  return 0;
}
