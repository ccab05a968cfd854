#include "engine/client/http_request.h"

#include <algorithm>

#include "engine/http/chars.h"

namespace ringrpc::client {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return http::lower(x) == http::lower(y); });
}

void add(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string check_fields(const std::vector<HttpField>& fields) {
  for (const HttpField& field : fields) {
    const bool good = !field.name.empty() &&
                      std::all_of(field.name.begin(), field.name.end(), http::is_token) &&
                      std::all_of(field.value.begin(), field.value.end(), http::is_value);
    if (!good) return "not a header field: " + field.name + ": " + field.value;
  }
  return {};
}

std::string post_head(const Target& target, const std::vector<HttpField>& fields,
                      std::size_t body_size, bool events) {
  std::string head = "POST " + target.target + " HTTP/1.1\r\n";
  const auto add_unless_given = [&](std::string_view name, std::string_view value) {
    const bool given = std::any_of(fields.begin(), fields.end(), [&](const HttpField& field) {
      return same_name(field.name, name);
    });
    if (!given) add(head, name, value);
  };
  add_unless_given("Host", target.authority);
  add_unless_given("Content-Type", "application/json");
  add_unless_given("Accept", events ? "application/json, text/event-stream" : "application/json");
  for (const HttpField& field : fields) add(head, field.name, field.value);
  add_unless_given("Content-Length", std::to_string(body_size));
  return head + "\r\n";
}

}  // namespace ringrpc::client
