#include "tools/ringcall/message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "tools/common/json_text.h"

namespace ringcall {

namespace {

// Notes the id of one request, if it has one. Returns: false when the text is no object.
bool note_call(std::string_view text, Message& message) {
  std::vector<tools::Member> members;
  if (!tools::split_object(text, members)) return false;
  const std::string_view id = tools::find_member(members, "id");
  if (!id.empty()) message.ids.emplace_back(id);
  return true;
}

std::string_view trim_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

void add_element(std::string& batch, std::string_view text) {
  if (batch.size() > 1) batch += ',';
  batch += text;
}

// Returns: false when the line is neither a message nor a batch nor a method with params.
bool add_line(std::string_view line, Message& message) {
  std::vector<std::string_view> elements;
  if (tools::split_array(line, elements)) {
    for (const std::string_view element : elements) {
      note_call(element, message);
      add_element(message.text, element);
    }
    return true;
  }
  if (line.front() == '{' || line.front() == '[') {
    if (!note_call(line, message)) return false;
    add_element(message.text, line);
    return true;
  }
  const std::size_t size = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view params = tools::skip_blanks(line.substr(size));
  if (!params.empty() && !tools::is_json(params)) return false;
  message.ids.push_back(fresh_id());
  add_element(message.text, request(line.substr(0, size), params, message.ids.back()));
  return true;
}

bool is_null(std::string_view id) { return id.empty() || id == "null"; }

}  // namespace

std::string fresh_id() {
  std::random_device device;
  const std::uint64_t high = device();
  return std::to_string(((high << 21) ^ device()) & ((std::uint64_t{1} << 53) - 1));
}

std::string id_token(std::string_view text) {
  const bool number = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) &&
                      tools::json_value_size(text) == text.size();
  const bool is_string = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_string || number || text == "null" ? std::string(text) : tools::quoted(text);
}

std::string request(std::string_view method, std::string_view params, std::string_view id) {
  std::string out = R"({"jsonrpc":"2.0","method":)" + tools::quoted(method);
  if (!params.empty()) out.append(R"(,"params":)").append(params);
  if (!id.empty()) out.append(R"(,"id":)").append(id);
  return out + "}";
}

Message take_message(std::string text) {
  Message message;
  message.text = std::move(text);
  std::vector<std::string_view> elements;
  message.batch = tools::split_array(message.text, elements);
  if (!message.batch) {
    message.known = note_call(message.text, message);
    return message;
  }
  for (const std::string_view element : elements) {
    if (!note_call(element, message)) message.known = false;
  }
  message.known = message.known && !elements.empty();
  return message;
}

bool make_batch(std::string_view lines, Message& message, std::string& error) {
  message.batch = true;
  message.text = "[";
  std::size_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = trim_end(tools::skip_blanks(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.empty()) continue;
    if (!add_line(line, message)) {
      error = "line " + std::to_string(number) +
              " of the batch is neither a JSON message nor METHOD [PARAMS-JSON]";
      return false;
    }
  }
  if (message.text.size() == 1) error = "the batch is empty";
  message.text += ']';
  return error.empty();
}

bool parse_reply(std::string_view text, Reply& reply) {
  std::vector<tools::Member> members;
  if (!tools::split_object(text, members)) return false;
  reply.result = tools::find_member(members, "result");
  reply.error = tools::find_member(members, "error");
  reply.id = tools::find_member(members, "id");
  return reply.result.empty() != reply.error.empty();
}

bool parse_replies(std::string_view text, std::vector<Reply>& replies) {
  replies.clear();
  std::vector<std::string_view> elements;
  if (!tools::split_array(text, elements)) elements.assign(1, text);
  for (const std::string_view element : elements) {
    if (!parse_reply(element, replies.emplace_back())) return false;
  }
  return !replies.empty();
}

bool match_replies(const Message& message, const std::vector<Reply>& replies,
                   std::vector<Reply>& ordered, std::string& error) {
  ordered.clear();
  if (!message.known) {
    ordered = replies;
    return true;
  }
  std::vector<bool> used(replies.size());
  std::string_view missing;
  std::size_t i = 0;  // The search begins behind the last find: most replies come in order.
  for (const std::string& id : message.ids) {
    std::size_t tried = 0;
    while (tried != replies.size() && (used[i] || replies[i].id != id)) {
      ++tried;
      i = (i + 1) % replies.size();
    }
    if (tried == replies.size()) {
      missing = id;
    } else {
      used[i] = true;
      ordered.push_back(replies[i]);
    }
  }
  bool refused = false;
  for (std::size_t left = 0; left != replies.size(); ++left) {
    const Reply& reply = replies[left];
    if (used[left]) continue;
    // A server may answer a message without an id as a call whose id is null.
    const bool idless = message.ids.empty() && !message.batch;
    if ((reply.error.empty() && !idless) || !is_null(reply.id)) {
      error = "the reply's id is " + std::string(reply.id) + ", not ";
      error += message.ids.empty() ? "that of any call" : std::string(message.ids.front());
      return false;
    }
    refused = true;
    ordered.push_back(reply);
  }
  if (missing.empty() || refused) return true;
  error = "no reply to the call with id " + std::string(missing);
  return false;
}

}  // namespace ringcall
