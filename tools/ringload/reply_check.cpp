#include "tools/ringload/reply_check.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include "tools/common/json_text.h"
#include "tools/ringload/framing.h"

namespace ringload {

namespace {

bool is_token(std::string_view text) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return letter || (c >= '0' && c <= '9') || marks.find(c) != std::string_view::npos;
  });
}

bool is_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
  });
}

// The lines of a head. What read_head() has seen (framing, length) is not looked at again.
std::string check_lines(std::string_view head) {
  bool first = true;
  while (!head.empty()) {
    const std::size_t size = head.find("\r\n");
    const std::string_view line = head.substr(0, size);
    head.remove_prefix(size + 2);
    if (line.empty()) return {};
    if (!is_text(line)) return "a line of the head holds a control character";
    if (first && !line.starts_with("HTTP/1.1 ")) return "the reply is not HTTP/1.1";
    const std::string_view name = line.substr(0, line.find(':'));
    if (!first && !is_token(name)) return "a field name is no token";
    first = false;
  }
  return "the head does not end";
}

bool is_integer(std::string_view token) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && rest == token.data() + token.size();
}

// The members of one response, each once, and none that does not belong there.
std::string check_members(const std::vector<tools::Member>& members) {
  for (std::size_t i = 0; i != members.size(); ++i) {
    const std::string_view name = members[i].name;
    if (name != "jsonrpc" && name != "id" && name != "result" && name != "error") {
      return "the response has a member " + std::string(name);
    }
    for (std::size_t j = 0; j != i; ++j) {
      if (members[j].name == name) return "the response has " + std::string(name) + " twice";
    }
  }
  if (tools::find_member(members, "jsonrpc") != "\"2.0\"") return "jsonrpc is not \"2.0\"";
  const bool result = !tools::find_member(members, "result").empty();
  const std::string_view error = tools::find_member(members, "error");
  if (result != error.empty()) return "the response needs one of result and error";
  std::vector<tools::Member> parts;
  if (error.empty()) return {};
  if (!tools::split_object(error, parts)) return "error is no object";
  if (!is_integer(tools::find_member(parts, "code"))) return "the error's code is no integer";
  return tools::find_member(parts, "message").starts_with('"') ? "" : "the error has no message";
}

// Compares one response with the call that it belongs to.
std::string check_response(const std::vector<tools::Member>& members, const Call& call) {
  const std::string_view result = tools::find_member(members, "result");
  if (call.expected.empty()) return {};
  if (result.empty()) return "an error where the result should be " + call.expected;
  const std::string compact = tools::compact(result);
  if (compact == call.expected) return {};
  return "the result is " + compact.substr(0, 100) + ", not " + call.expected.substr(0, 100);
}

std::string check_single(std::string_view body, const Call& call, std::string_view id) {
  std::vector<tools::Member> members;
  if (!tools::split_object(body, members)) return "the body is no JSON object";
  if (std::string wrong = check_members(members); !wrong.empty()) return wrong;
  const std::string_view found = tools::find_member(members, "id");
  const std::string_view wanted = id.empty() ? call.id : id;
  if (found != wanted) {
    return "the reply's id is " + std::string(found.substr(0, 100)) + ", not " +
           std::string(wanted);
  }
  return check_response(members, call);
}

std::string check_batch(std::string_view body, const std::vector<Call>& calls) {
  std::vector<std::string_view> elements;
  if (!tools::split_array(body, elements)) return "the body is no JSON array";
  if (elements.size() != calls.size()) {
    return std::to_string(elements.size()) + " responses to " + std::to_string(calls.size()) +
           " calls";
  }
  std::vector<bool> seen(calls.size());
  std::vector<tools::Member> members;
  std::size_t i = 0;  // The search begins behind the last find: most replies come in order.
  for (const std::string_view element : elements) {
    if (!tools::split_object(element, members)) return "a response is no JSON object";
    if (std::string wrong = check_members(members); !wrong.empty()) return wrong;
    const std::string_view id = tools::find_member(members, "id");
    std::size_t tried = 0;
    while (tried != calls.size() && (seen[i] || calls[i].id != id)) {
      ++tried;
      i = (i + 1) % calls.size();
    }
    if (tried == calls.size()) return "no call waits for the id " + std::string(id.substr(0, 100));
    seen[i] = true;
    if (std::string wrong = check_response(members, calls[i]); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace

std::string check_reply(std::string_view reply, const Message& message, std::string_view id) {
  ReplyHead head;
  if (read_head(reply, head) != HeadStatus::complete) return "the head cannot be read";
  if (reply.size() != head.head_size + head.body_size) return "the reply is not whole";
  if (std::string wrong = check_lines(reply.substr(0, head.head_size)); !wrong.empty()) {
    return wrong;
  }
  const std::string_view body = reply.substr(head.head_size);
  if (message.calls.empty()) {
    const bool accepted = (head.status == 202 || head.status == 204) && body.empty();
    return accepted ? "" : "a message without calls is not answered 202 or 204 without a body";
  }
  if (head.status != 200) return "the status is " + std::to_string(head.status);
  if (!head.json) return "the body's type is not application/json";
  return check_text(body, message, id);
}

std::string check_line(std::string_view line, const Message& message, std::string_view id) {
  if (!line.ends_with('\n')) return "the line does not end";
  line.remove_suffix(1);
  if (line.find_first_of("\r\n") != std::string_view::npos) return "the line has a break in it";
  return check_text(line, message, id);
}

std::string check_text(std::string_view text, const Message& message, std::string_view id) {
  return message.batch ? check_batch(text, message.calls)
                       : check_single(text, message.calls.front(), id);
}

void count_codes(std::string_view body, std::map<std::int64_t, std::uint64_t>& codes) {
  std::vector<std::string_view> elements;
  if (!tools::split_array(body, elements)) elements.assign(1, body);
  std::vector<tools::Member> members;
  for (const std::string_view element : elements) {
    if (!tools::split_object(element, members)) continue;
    const std::string_view error = tools::find_member(members, "error");
    if (error.empty()) continue;
    std::int64_t code = 0;  // also what has no code
    if (tools::split_object(error, members)) {
      const std::string_view token = tools::find_member(members, "code");
      std::from_chars(token.data(), token.data() + token.size(), code);
    }
    ++codes[code];
  }
}

std::string excerpt(std::string_view bytes) {
  constexpr std::size_t shown_max = 1024;
  std::string out;
  for (const char c : bytes.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    char escape[8];
    if (c == '\n') {
      out += "\\n\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte >= 0x7F) {
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  if (bytes.size() > shown_max) out += "...";
  return out;
}

}  // namespace ringload
