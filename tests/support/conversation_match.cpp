// Compares responses with what a conversation expects of them.

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "engine/http/response.h"
#include "tests/support/conversation.h"
#include "tests/support/conversation_frames.h"

namespace ringrpc::testing {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

Match wrong(std::string complaint) {
  return {.state = MatchState::wrong, .size = 0, .complaint = std::move(complaint)};
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
bool is_date(std::string_view text) {
  constexpr std::string_view shape = "Aaa, 00 Aaa 0000 00:00:00 GMT";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const bool good = shape[i] == '0'   ? std::isdigit(c) != 0
                      : shape[i] == 'A' ? std::isupper(c) != 0
                      : shape[i] == 'a' ? std::islower(c) != 0
                                        : shape[i] == text[i] || i > 24;
    if (!good) return false;
  }
  return text.ends_with(" GMT");
}

// Returns: the number, when the text is plain decimal digits behind optional blanks.
std::optional<std::size_t> read_length(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.empty() || text.size() > 12) return std::nullopt;
  std::size_t value = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

struct Head {
  std::string status_line;
  std::vector<std::string> fields;  // beside those that every response has
  std::optional<std::size_t> length;
  int dates = 0;
  int nosniffs = 0;
};

// Returns: a complaint, empty when the head is well formed.
std::string read_head(std::string_view text, Head& head) {
  head.status_line = text.substr(0, text.find("\r\n"));
  std::size_t at = head.status_line.size() + 2;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find("\r\n", at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 2;
    if (line.starts_with("Content-Length: ")) {
      if (head.length.has_value()) return "two lengths";
      head.length = read_length(line.substr(16));
      if (!head.length.has_value()) return "no length: " + std::string(line);
    } else if (line.starts_with("Date: ")) {
      if (!is_date(line.substr(6))) return "no date: " + std::string(line);
      ++head.dates;
    } else if (line == "X-Content-Type-Options: nosniff") {
      ++head.nosniffs;
    } else {
      head.fields.emplace_back(line);
    }
  }
  std::sort(head.fields.begin(), head.fields.end());
  return {};
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " | ") + line;
  return text;
}

std::string compare_head(const ExpectedReply& expected, const Head& head) {
  const std::string status_line =
      "HTTP/1.1 " + std::to_string(expected.status) + " " +
      std::string(http::reason_of(static_cast<std::uint16_t>(expected.status)));
  if (head.status_line != status_line) {
    return "status line \"" + head.status_line + "\" in place of \"" + status_line + "\"";
  }
  if (head.fields != expected.fields) {
    return "fields \"" + joined(head.fields) + "\" in place of \"" + joined(expected.fields) + "\"";
  }
  const int usual = expected.interim() ? 0 : 1;
  if (head.dates != usual || head.nosniffs != usual) return "Date or nosniff missing or too many";
  const bool has_length = expected.status >= 200 && expected.status != 204 && !expected.stream;
  if (head.length.has_value() != has_length) return "a Content-Length where none belongs, or none";
  if (!has_length) return {};
  const std::size_t length = expected.announced.value_or(expected.body.size());
  if (*head.length == length) return {};
  return "length " + std::to_string(*head.length) + " in place of " + std::to_string(length);
}

// Several lines, in any order.
Match match_lines(const ExpectedReply& expected, std::string_view bytes) {
  std::vector<std::string> missing = expected.more_lines;
  missing.push_back(expected.body);
  std::size_t at = 0;
  while (!missing.empty()) {
    const std::size_t end = bytes.find('\n', at);
    if (end == bytes.npos) return {};
    const auto found = std::find(missing.begin(), missing.end(), bytes.substr(at, end - at));
    if (found == missing.end()) return wrong("line " + shown(bytes.substr(at)));
    missing.erase(found);
    at = end + 1;
  }
  return {.state = MatchState::matched, .size = at, .complaint = {}};
}

// Compares a body in chunks, of any sizes, with what they must hold together.
Match match_chunks(const ExpectedReply& expected, std::string_view bytes, std::size_t at) {
  std::string body;
  for (;;) {
    const std::size_t end = bytes.find("\r\n", at);
    if (end == bytes.npos) return {};
    const std::string digits(bytes.substr(at, end - at));
    if (digits.empty() || digits.find_first_not_of("0123456789abcdef") != digits.npos) {
      return wrong("no chunk: " + shown(bytes.substr(at)));
    }
    const std::size_t size = std::stoul(digits, nullptr, 16);
    at = end + 2;
    if (bytes.size() < at + size + 2) return {};
    if (bytes.substr(at + size, 2) != "\r\n") return wrong("a chunk without its end");
    body += bytes.substr(at, size);
    at += size + 2;
    if (size == 0 || !expected.body.starts_with(body)) break;
  }
  if (body != expected.body) {
    return wrong("stream " + shown(body) + "\n in place of " + shown(expected.body));
  }
  return {.state = MatchState::matched, .size = at, .complaint = {}};
}

Match match_line(const ExpectedReply& expected, std::string_view bytes) {
  if (!expected.more_lines.empty()) return match_lines(expected, bytes);
  const std::string line = expected.body + "\n";
  const std::size_t count = std::min(line.size(), bytes.size());
  if (bytes.substr(0, count) != line.substr(0, count)) {
    return wrong("line " + shown(bytes) + "\n in place of " + shown(line));
  }
  if (count < line.size()) return {};
  return {.state = MatchState::matched, .size = count, .complaint = {}};
}

}  // namespace

Match match_reply(const ExpectedReply& expected, std::string_view bytes) {
  if (expected.frames.has_value()) return match_frames(*expected.frames, bytes, expected.any_order);
  if (expected.line) return match_line(expected, bytes);
  const std::size_t end = bytes.find(head_end);
  if (end == bytes.npos) {
    constexpr std::string_view start = "HTTP/1.1 ";
    const std::size_t count = std::min(start.size(), bytes.size());
    if (bytes.substr(0, count) != start.substr(0, count)) return wrong("no HTTP: " + shown(bytes));
    return {};
  }
  Head head;
  std::string complaint = read_head(bytes.substr(0, end), head);
  if (complaint.empty()) complaint = compare_head(expected, head);
  const std::string_view rest = bytes.substr(end + head_end.size());
  const std::size_t whole = end + head_end.size() + expected.body.size();
  if (!complaint.empty()) return wrong(complaint + "; the answer: " + shown(bytes));
  if (expected.stream) return match_chunks(expected, bytes, end + head_end.size());
  if (bytes.size() < whole) return {};
  if (!rest.starts_with(expected.body)) {
    return wrong("body " + shown(rest) + "\n in place of " + shown(expected.body));
  }
  return {.state = MatchState::matched, .size = whole, .complaint = {}};
}

std::string shown(std::string_view bytes) {
  constexpr std::size_t most = 600;
  std::string text;
  for (const char c : bytes.substr(0, most)) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\r') {
      text += "\\r";
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\x%02x", static_cast<unsigned>(byte));
      text += code;
    } else {
      text += c;
    }
  }
  if (bytes.size() > most) text += "... (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

}  // namespace ringrpc::testing
