#include "engine/serve/endpoint.h"

#include <ringrpc/limits.h>

#include "engine/http/media.h"

namespace ringrpc::serve {
namespace {

constexpr std::string_view post_only = "POST, OPTIONS";
constexpr std::string_view get_only = "GET, HEAD, OPTIONS";

Admission refused(std::uint16_t status, rpc::ErrorCode code, base::Counter counter,
                  std::string_view allow = {}) {
  return {
      .target = Target::none, .status = status, .code = code, .counter = counter, .allow = allow};
}

Target target_of(std::string_view path) {
  if (path == "/rpc") [[likely]]
    return Target::rpc;
  if (path == "/healthz") return Target::health;
  if (path == "/readyz") return Target::ready;
  if (path == "/metrics") return Target::metrics;
  return Target::none;
}

// GET, HEAD and OPTIONS where they have a use, and every refusal by the method.
Admission admit_method(const http::Request& head, Target target, std::uint32_t body_size_max) {
  const std::string_view allow = target == Target::rpc ? post_only : get_only;
  if (head.content_length > body_size_max) {
    return refused(413, rpc::ErrorCode::request_too_large, base::Counter::limit_message_size);
  }
  if (head.method == http::Method::options) return {.target = Target::options, .allow = allow};
  const bool reads = head.method == http::Method::get || head.method == http::Method::head;
  if (reads && target != Target::rpc) return {.target = target};
  if (reads && head.upgrade_websocket && head.find("sec-websocket-version") != "13") {
    return refused(426, rpc::ErrorCode::invalid_request, base::Counter::bad_routes);
  }
  return refused(405, rpc::ErrorCode::invalid_request, base::Counter::bad_routes, allow);
}

}  // namespace

Admission admit(const http::Request& head, const http::HostPolicy& hosts,
                std::uint32_t message_size_max) {
  // No Origin is a client that is no browser; an empty one is nobody's.
  const std::string_view origin = head.view(head.origin);
  const bool own_origin =
      http::origin_allowed(origin, hosts) && (!head.origin.present() || !origin.empty());
  if (!http::host_allowed(head.view(head.host), hosts) || !own_origin) [[unlikely]] {
    return refused(403, rpc::ErrorCode::not_allowed, base::Counter::bad_hosts);
  }
  const Target target = target_of(head.view(head.path));
  if (target == Target::none) [[unlikely]] {
    if (head.method == http::Method::options && head.view(head.target) == "*") {
      return {.target = Target::options, .allow = "GET, HEAD, POST, OPTIONS"};
    }
    return refused(404, rpc::ErrorCode::invalid_request, base::Counter::bad_routes);
  }
  if (target != Target::rpc || head.method != http::Method::post) [[unlikely]] {
    return admit_method(head, target, limits::drain_size_max);
  }
  if (http::media_type(head.view(head.content_type)) != http::MediaType::json ||
      head.content_encoded) [[unlikely]] {
    return refused(415, rpc::ErrorCode::invalid_request, base::Counter::bad_media);
  }
  if (head.accept.present() && !http::accepts_json(head)) [[unlikely]] {
    return refused(406, rpc::ErrorCode::invalid_request, base::Counter::bad_media);
  }
  if (head.content_length > message_size_max) [[unlikely]] {
    return refused(413, rpc::ErrorCode::request_too_large, base::Counter::limit_message_size);
  }
  return {.target = Target::rpc};
}

}  // namespace ringrpc::serve
