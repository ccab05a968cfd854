#pragma once

// Who may be named in Host and Origin: the guard against pages that reach a local server under
// their own name (DNS rebinding) or from their own origin.

#include <span>
#include <string>
#include <string_view>

namespace ringrpc::http {

// Lifetime: the lists outlive the policy. Thread: immutable after start.
struct HostPolicy {
  // The listener is bound to a loopback address: localhost, 127.0.0.1 and [::1] are allowed in both
  // fields, on any port. The lists hold further names.
  bool loopback = true;
  // No check of Host, for a listener that answers to names it cannot know.
  bool any_host = false;
  std::span<const std::string> hosts = {};    // "example.com:8080", compared whole, without case
  std::span<const std::string> origins = {};  // "https://example.com", compared whole, without case
};

// Requires: host is empty or has passed the parser.
// Returns:  true for an empty host: only HTTP/1.0 may leave it out.
bool host_allowed(std::string_view host, const HostPolicy& policy);

// Returns: true for an empty origin, a client that is no browser; false for "null".
bool origin_allowed(std::string_view origin, const HostPolicy& policy);

}  // namespace ringrpc::http
