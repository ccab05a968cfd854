#include "engine/http/hosts.h"

#include "engine/http/chars.h"

namespace ringrpc::http {

namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

bool is_listed(std::string_view name, std::span<const std::string> list) {
  for (const std::string& allowed : list) {
    if (same_ignoring_case(name, allowed)) return true;
  }
  return false;
}

// A loopback name with or without a port.
bool is_loopback_name(std::string_view host) {
  constexpr std::string_view names[] = {"localhost", "127.0.0.1", "[::1]"};
  for (const std::string_view name : names) {
    if (!equals_folded(host.substr(0, name.size()), name)) continue;
    std::string_view port = host.substr(name.size());
    if (port.empty()) return true;
    if (port.front() != ':') return false;
    port.remove_prefix(1);
    for (const char c : port) {
      if (!is_digit(c)) return false;
    }
    return true;
  }
  return false;
}

}  // namespace

bool host_allowed(std::string_view host, const HostPolicy& policy) {
  if (host.empty() || policy.any_host) return true;
  if (policy.loopback && is_loopback_name(host)) return true;
  return is_listed(host, policy.hosts);
}

bool origin_allowed(std::string_view origin, const HostPolicy& policy) {
  if (origin.empty()) return true;
  if (origin == "null") return false;
  if (policy.loopback) {
    for (const std::string_view scheme : {"http://", "https://"}) {
      if (equals_folded(origin.substr(0, scheme.size()), scheme) &&
          is_loopback_name(origin.substr(scheme.size()))) {
        return true;
      }
    }
  }
  return is_listed(origin, policy.origins);
}

}  // namespace ringrpc::http
