#include "tests/support/conversation_lines.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ringrpc::testing {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Line breaks between tokens become spaces. Returns: none when there is one in a string, which is
// where the line would end.
std::optional<std::string> on_one_line(std::string text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_break = text[i] == '\n' || text[i] == '\r';
    if (in_string && is_break) return std::nullopt;
    if (is_break) text[i] = ' ';
    if (in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    }
  }
  return text;
}

// Returns: whether it is what every answer is that HTTP has nothing to add to.
bool is_plain(const ExpectedReply& reply) {
  const std::vector<std::string> json = {"Content-Type: application/json"};
  if (reply.status == 204) return reply.fields.empty() && reply.body.empty();
  return reply.status == 200 && reply.fields == json;
}

// Where HTTP says that a notification has been taken, lines say nothing: what is asked next is
// answered when it has.
void ask_whether_it_is_done(Conversation& out) {
  Step asked;
  asked.bytes = "{}\n";
  out.steps.push_back(std::move(asked));
  Step said;
  said.kind = Step::Kind::reply;
  said.reply.line = true;
  said.reply.body =
      R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null})";
  out.steps.push_back(std::move(said));
}

// Answers that follow each other become one, of several lines in any order.
void add_line(std::string line, bool late, Conversation& out) {
  const bool follows = !out.steps.empty() && out.steps.back().kind == Step::Kind::reply;
  if (late && follows) {
    out.steps.back().reply.more_lines.push_back(std::move(line));
    return;
  }
  Step said;
  said.kind = Step::Kind::reply;
  said.reply.body = std::move(line);
  said.reply.line = true;
  out.steps.push_back(std::move(said));
}

bool add_step(const Step& step, bool late, Conversation& out) {
  if (step.kind == Step::Kind::reply) {
    if (!is_plain(step.reply)) return false;
    if (step.reply.status == 204) {
      if (!late) ask_whether_it_is_done(out);
      return true;
    }
    std::optional<std::string> body = on_one_line(step.reply.body);
    if (!body.has_value()) return false;
    add_line(*std::move(body), late, out);
    return true;
  }
  Step done = step;
  if (step.kind == Step::Kind::send) {
    if (!step.message.has_value() || is_blank(*step.message)) return false;
    const std::optional<std::string> message = on_one_line(*step.message);
    if (!message.has_value()) return false;
    done.bytes = *message + "\n";
  }
  out.steps.push_back(std::move(done));
  return true;
}

}  // namespace

std::optional<Conversation> as_lines(const Conversation& http, bool late) {
  if (http.http_only) return std::nullopt;
  Conversation lines = http;
  lines.steps.clear();
  lines.name += " (lines)";
  const bool fits = std::all_of(http.steps.begin(), http.steps.end(),
                                [&](const Step& step) { return add_step(step, late, lines); });
  if (!fits) return std::nullopt;
  // A notification at the end of which nothing is said.
  if (late && http.steps.back().kind == Step::Kind::reply &&
      http.steps.back().reply.status == 204) {
    ask_whether_it_is_done(lines);
  }
  return lines;
}

ConversationFile as_lines(const ConversationFile& http) {
  ConversationFile lines = http;
  lines.lines = true;
  if (http.lines) return lines;
  lines.conversations.clear();
  const auto methods = http.options.find("methods");
  const bool late = methods != http.options.end() && methods->second == "late";
  for (const Conversation& one : http.conversations) {
    std::optional<Conversation> line = as_lines(one, late);
    if (line.has_value()) lines.conversations.push_back(*std::move(line));
  }
  return lines;
}

}  // namespace ringrpc::testing
