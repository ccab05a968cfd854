#include "tests/support/conversation_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace ringrpc::testing {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// Returns: the bytes of "ff c0 ...".
std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
    if (digits[i] == ' ') continue;
    const std::string pair(digits.substr(i, 2));
    bytes += static_cast<char>(std::strtoul(pair.c_str(), nullptr, 16));
    ++i;
  }
  return bytes;
}

// What stands between << and >>.
std::string expand_one(std::string_view inside) {
  if (inside.starts_with("x ")) return from_hex(inside.substr(2));
  std::size_t digits = 0;
  while (digits < inside.size() && std::isdigit(static_cast<unsigned char>(inside[digits])) != 0) {
    ++digits;
  }
  if (digits == 0 || digits == inside.size()) return "<<" + std::string(inside) + ">>";
  const unsigned long count = std::stoul(std::string(inside.substr(0, digits)));
  const bool numbers = inside[digits] == '#';
  const bool commas = inside[digits] == ',';
  const std::string_view one = inside.substr(digits + 1);
  std::string text;
  for (unsigned long i = 0; i < count; ++i) {
    if (commas && i != 0) text += ',';
    if (numbers) {
      std::string copy(one);
      replace_all(copy, "#", std::to_string(i));
      text += copy;
    } else {
      text += one;
    }
  }
  return text;
}

}  // namespace

std::string Variant::apply(std::string text) const {
  constexpr std::string_view arrow = " ==> ";
  const std::size_t at = line.find(arrow);
  replace_all(text, "<<each>>", std::string_view(line).substr(0, at));
  replace_all(
      text, "<<out>>",
      at == line.npos ? std::string_view() : std::string_view(line).substr(at + arrow.size()));
  return text;
}

std::string with_texts(std::string text, const std::map<std::string, std::string>& texts) {
  for (const auto& [name, with] : texts) replace_all(text, "<<" + name + ">>", with);
  return text;
}

std::string expand(std::string_view source) {
  std::string text(source);
  // The innermost first, which is the one that ends first.
  for (std::size_t end = text.find(">>"); end != text.npos; end = text.find(">>", end)) {
    const std::size_t begin = text.rfind("<<", end);
    if (begin == text.npos) {
      end += 2;
      continue;
    }
    const std::string bytes = expand_one(std::string_view(text).substr(begin + 2, end - begin - 2));
    text.replace(begin, end + 2 - begin, bytes);
    end = begin + bytes.size();
  }
  return text;
}

std::string escaped_bytes(std::string_view source) {
  const std::string text = expand(source);
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') continue;
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'r':
        bytes += '\r';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 't':
        bytes += '\t';
        break;
      case '0':
        bytes += '\0';
        break;
      case 'x':
        bytes += from_hex(std::string_view(text).substr(i + 1, 2));
        i += 2;
        break;
      default:
        bytes += text[i];
        break;
    }
  }
  return bytes;
}

std::string request_bytes(std::string_view text) {
  const std::size_t gap = text.find("\n\n");
  std::string head(text.substr(0, gap));
  const std::string body = gap == text.npos ? std::string() : expand(text.substr(gap + 2));
  while (!head.empty() && head.back() == '\n') head.pop_back();
  head = expand(head);
  replace_all(head, "Content-Length: *", "Content-Length: " + std::to_string(body.size()));
  replace_all(head, "\n", "\r\n");
  return head + "\r\n\r\n" + body;
}

std::string call_bytes(std::string_view message) {
  std::string bytes =
      "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: ";
  bytes += std::to_string(message.size()) + "\r\n\r\n";
  return bytes.append(message);
}

}  // namespace ringrpc::testing
