#include "tools/ringcall/message.h"

#include <algorithm>
#include <cstddef>

namespace ringcall {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Returns: the length of the string that text begins with, quotes included; 0 when it does not end.
std::size_t string_size(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

// Returns: the length of the value that text begins with; 0 when it does not end.
std::size_t value_size(std::string_view text) {
  std::size_t depth = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t size = string_size(text.substr(i));
      if (size == 0) return 0;
      i += size;
      if (depth == 0) return i;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return i;
      if (--depth == 0) return i + 1;
    } else if (depth == 0 && (c == ',' || is_blank(c))) {
      return i;
    }
    ++i;
  }
  return depth == 0 ? i : 0;
}

// Returns: the number of digits that text begins with.
std::size_t digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// Returns: whether text is a number of JSON (RFC 8259 section 6).
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t whole = digits(text);
  if (whole == 0 || (whole > 1 && text.front() == '0')) return false;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    const std::size_t fraction = digits(text);
    if (fraction == 0) return false;
    text.remove_prefix(fraction);
  }
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && digits(text) == text.size();
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string id_token(std::string_view text) {
  const bool is_string = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_string || is_number(text) || text == "null" ? std::string(text) : quoted(text);
}

std::string request(std::string_view method, std::string_view params, std::string_view id) {
  std::string out = R"({"jsonrpc":"2.0","method":)" + quoted(method);
  if (!params.empty()) out.append(R"(,"params":)").append(params);
  if (!id.empty()) out.append(R"(,"id":)").append(id);
  return out + "}";
}

bool parse_reply(std::string_view text, Reply& reply) {
  text = skip_blanks(text);
  if (text.empty() || text.front() != '{') return false;
  do {
    text = skip_blanks(text.substr(1));
    if (text.empty() || text.front() != '"') return false;
    const std::size_t name_size = string_size(text);
    if (name_size == 0) return false;
    const std::string_view name = text.substr(1, name_size - 2);
    text = skip_blanks(text.substr(name_size));
    if (text.empty() || text.front() != ':') return false;
    text = skip_blanks(text.substr(1));
    const std::size_t size = value_size(text);
    if (size == 0) return false;
    if (name == "result") reply.result = text.substr(0, size);
    if (name == "error") reply.error = text.substr(0, size);
    if (name == "id") reply.id = text.substr(0, size);
    text = skip_blanks(text.substr(size));
  } while (!text.empty() && text.front() == ',');
  if (text.empty() || text.front() != '}' || !skip_blanks(text.substr(1)).empty()) return false;
  return reply.result.empty() != reply.error.empty();
}

}  // namespace ringcall
