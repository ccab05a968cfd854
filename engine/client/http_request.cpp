#include "engine/client/http_request.h"

#include <algorithm>
#include <utility>

#include "engine/http/chars.h"

namespace ringrpc::client {
namespace {

constexpr std::string_view websocket_prefix = "Sec-WebSocket-";

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return http::lower(x) == http::lower(y); });
}

// The client's own fields, and those of the user in their place.
class Head {
 public:
  Head(std::string_view method, const Target& target, const std::vector<HttpField>& fields)
      : fields_(fields) {
    text_.append(method).append(" ").append(target.target).append(" HTTP/1.1\r\n");
    add_unless_given("Host", target.authority);
  }

  void add(std::string_view name, std::string_view value) {
    text_.append(name).append(": ").append(value).append("\r\n");
  }
  void add_unless_given(std::string_view name, std::string_view value) {
    const bool given = std::any_of(fields_.begin(), fields_.end(), [&](const HttpField& field) {
      return same_name(field.name, name);
    });
    if (!given) add(name, value);
  }
  void add_given() {
    for (const HttpField& field : fields_) add(field.name, field.value);
  }
  [[nodiscard]] std::string finish() { return std::move(text_.append("\r\n")); }

 private:
  const std::vector<HttpField>& fields_;
  std::string text_;
};

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
  Head head("POST", target, fields);
  head.add_unless_given("Content-Type", "application/json");
  head.add_unless_given("Accept",
                        events ? "application/json, text/event-stream" : "application/json");
  head.add_given();
  head.add_unless_given("Content-Length", std::to_string(body_size));
  return head.finish();
}

std::string upgrade_head(const Target& target, const std::vector<HttpField>& fields,
                         std::string_view key) {
  Head head("GET", target, fields);
  head.add("Connection", "Upgrade");
  head.add("Upgrade", "websocket");
  head.add("Sec-WebSocket-Version", "13");
  head.add("Sec-WebSocket-Key", key);
  // What says how the connection is used is the handshake's alone.
  for (const HttpField& field : fields) {
    const bool own = same_name(field.name, "Connection") || same_name(field.name, "Upgrade") ||
                     same_name(field.name.substr(0, websocket_prefix.size()), websocket_prefix) ||
                     same_name(field.name, "Content-Length");
    if (!own) head.add(field.name, field.value);
  }
  return head.finish();
}

}  // namespace ringrpc::client
