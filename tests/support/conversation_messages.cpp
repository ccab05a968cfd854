#include "tests/support/conversation_messages.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/json/utf8.h"
#include "tests/support/conversation_frames.h"
#include "tests/support/conversation_lines.h"

namespace ringrpc::testing {
namespace {

Step send(std::string bytes) {
  Step step;
  step.bytes = std::move(bytes);
  return step;
}

Step hear(std::vector<std::string> frames) {
  Step step;
  step.kind = Step::Kind::reply;
  step.reply.frames = std::move(frames);
  return step;
}

Step hear(const ExpectedReply& reply) {
  Step step;
  step.kind = Step::Kind::reply;
  step.reply = reply;
  return step;
}

// Returns: false when a step is about lines as such.
bool add_step(const Step& line, Conversation& out) {
  if (line.kind == Step::Kind::send) {
    if (line.bytes.find('\n') + 1 != line.bytes.size() || line.bytes.size() < 2) return false;
    std::string bytes;
    frames_bytes("text " + line.bytes.substr(0, line.bytes.size() - 1), bytes);
    out.steps.push_back(send(std::move(bytes)));
  } else if (line.kind == Step::Kind::reply) {
    if (!line.reply.line) return false;
    Step heard = hear({"text " + line.reply.body});
    for (const std::string& more : line.reply.more_lines) {
      heard.reply.frames->push_back("text " + more);
    }
    heard.reply.any_order = !line.reply.more_lines.empty();
    out.steps.push_back(std::move(heard));
  } else {
    out.steps.push_back(line);
  }
  return true;
}

std::optional<Conversation> as_message(const Conversation& lines) {
  Conversation out = lines;
  out.sockets_only = true;
  out.name += " (messages)";
  out.steps.clear();
  out.steps.push_back(send(handshake_bytes("/rpc")));
  out.steps.back().handshake = true;
  out.steps.push_back(hear(handshake_reply()));
  for (const Step& step : lines.steps) {
    if (!add_step(step, out)) return std::nullopt;
    if (step.kind != Step::Kind::send || json::is_utf8(step.bytes)) continue;
    // Text that is no UTF-8 is no message, so it ends the connection and is not answered.
    out.steps.push_back(hear({"close 1007"}));
    out.steps.emplace_back().kind = Step::Kind::close;
    out.counts = {{"ringrpc_bad_frames_total", 1}};
    return out;
  }
  if (!lines.stays_open()) return out;
  std::string bye;
  frames_bytes("close 1000", bye);
  out.steps.push_back(send(std::move(bye)));
  out.steps.push_back(hear({"close 1000"}));
  out.steps.emplace_back().kind = Step::Kind::close;
  return out;
}

}  // namespace

ConversationFile as_messages(const ConversationFile& file) {
  ConversationFile lines = as_lines(file);
  ConversationFile out = lines;
  out.lines = false;
  out.conversations.clear();
  if (file.name == "lines") return out;  // About what lines are.
  for (const Conversation& one : lines.conversations) {
    std::optional<Conversation> message = as_message(one);
    if (message.has_value()) out.conversations.push_back(*std::move(message));
  }
  return out;
}

}  // namespace ringrpc::testing
