#include "tools/ringload/request.h"

#include <strings.h>

#include <algorithm>

namespace ringload {

namespace {

bool has_name(std::string_view line, std::string_view name) {
  return line.size() > name.size() && line[name.size()] == ':' &&
         strncasecmp(line.data(), name.data(), name.size()) == 0;
}

}  // namespace

bool is_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return std::none_of(line.begin(), line.end(), [](char c) { return c == '\r' || c == '\n'; });
}

std::string make_request(std::string_view method, const tools::Url& url,
                         const std::vector<std::string>& extra, std::string_view body) {
  if (url.lines) {
    // Between tokens, where alone JSON has line ends, a blank is as good.
    std::string line(body);
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return line + '\n';
  }
  std::string request(method);
  request += ' ';
  request += url.target;
  request += " HTTP/1.1\r\n";
  const auto add_unless_given = [&](std::string_view name, std::string_view value) {
    for (const std::string& line : extra) {
      if (has_name(line, name)) return;
    }
    request += name;
    request += ": ";
    request += value;
    request += "\r\n";
  };
  add_unless_given("Host", url.authority);
  if (!body.empty()) {
    add_unless_given("Content-Type", "application/json");
    add_unless_given("Content-Length", std::to_string(body.size()));
  }
  for (const std::string& line : extra) {
    request += line;
    request += "\r\n";
  }
  request += "\r\n";
  request += body;
  return request;
}

}  // namespace ringload
