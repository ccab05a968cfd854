#pragma once

// Runs both head parsers over bytes whose slack holds whatever the test likes, and compares them.

#include <ringrpc/limits.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "engine/http/head.h"
#include "engine/http/request.h"

namespace ringrpc::http::test {

// Bytes in a block of their own size and slack, so that a sanitizer sees every read beyond it.
class Padded {
 public:
  // Requires: slack has limits::padding bytes, or fewer; the rest is zero.
  explicit Padded(std::string_view bytes, std::string_view slack = {})
      : size_(bytes.size()), block_(new char[bytes.size() + limits::padding]()) {
    if (!bytes.empty()) std::memcpy(block_.get(), bytes.data(), bytes.size());
    slack = slack.substr(0, limits::padding);
    if (!slack.empty()) std::memcpy(block_.get() + size_, slack.data(), slack.size());
  }

  [[nodiscard]] const char* begin() const { return block_.get(); }
  [[nodiscard]] const char* end() const { return block_.get() + size_; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> block_;
};

inline std::string random_slack(std::mt19937_64& random) {
  std::string slack(limits::padding, '\0');
  for (char& c : slack) c = static_cast<char>(random());
  return slack;
}

inline bool same(Span a, Span b) { return a.offset == b.offset && a.size == b.size; }

// Whether two complete heads say the same.
inline bool same(const Request& a, const Request& b) {
  if (a.field_count != b.field_count) return false;
  for (int i = 0; i < a.field_count; ++i) {
    if (!same(a.fields[i].name, b.fields[i].name)) return false;
    if (!same(a.fields[i].value, b.fields[i].value)) return false;
  }
  return a.head_size == b.head_size && a.content_length == b.content_length &&
         a.method == b.method && a.version_minor == b.version_minor &&
         a.has_length == b.has_length && a.chunked == b.chunked && a.close == b.close &&
         a.keep_alive == b.keep_alive && a.expect_continue == b.expect_continue &&
         a.content_encoded == b.content_encoded && a.connection_upgrade == b.connection_upgrade &&
         a.upgrade_websocket == b.upgrade_websocket && a.has_host == b.has_host &&
         a.absolute_form == b.absolute_form && a.accept_count == b.accept_count &&
         a.closed_kinds == b.closed_kinds && same(a.target, b.target) && same(a.path, b.path) &&
         same(a.host, b.host) && same(a.content_length_value, b.content_length_value) &&
         same(a.content_type, b.content_type) && same(a.accept, b.accept) &&
         same(a.origin, b.origin);
}

// Parses with the run-time choice into `out`, filled with garbage before.
inline HeadResult parse(const Padded& input, Request& out) {
  std::memset(static_cast<void*>(&out), 0xa5, sizeof out);
  return parse_head(input.begin(), input.end(), out);
}

inline HeadResult parse_portable(const Padded& input, Request& out) {
  std::memset(static_cast<void*>(&out), 0x5a, sizeof out);
  return parse_head_portable(input.begin(), input.end(), out);
}

// Whether both parsers say the same about the input.
inline bool twins_agree(const Padded& input, HeadResult& result, Request& out) {
  Request other;
  result = parse(input, out);
  if (parse_portable(input, other) != result) return false;
  return result.status != HeadStatus::complete || same(out, other);
}

}  // namespace ringrpc::http::test
