#include "engine/serve/endpoint.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "engine/http/chars.h"
#include "engine/http/media.h"
#include "engine/ws/handshake.h"

namespace ringrpc::serve {
namespace {

constexpr std::string_view post_only = "POST, OPTIONS";
constexpr std::string_view get_only = "GET, HEAD, OPTIONS";

struct FixedPath {
  std::string_view path;
  Target target;
};

constexpr FixedPath fixed_paths[] = {
    {"/healthz", Target::health}, {"/readyz", Target::ready}, {"/metrics", Target::metrics}};

Admission refused(std::uint16_t status, Refusal reason, base::Counter counter,
                  std::string_view allow = {}) {
  return {.target = Target::none,
          .status = status,
          .code = rpc::ErrorCode::invalid_request,
          .counter = counter,
          .allow = allow,
          .reason = reason};
}

Admission refuse_method(std::string_view allow) {
  return refused(405, Refusal::method, base::Counter::bad_routes, allow);
}

Admission refused_by_code(std::uint16_t status, rpc::ErrorCode code, base::Counter counter) {
  return {.target = Target::none, .status = status, .code = code, .counter = counter};
}

Admission refuse_size() {
  return refused_by_code(413, rpc::ErrorCode::request_too_large, base::Counter::limit_message_size);
}

bool is_target(char c) { return http::is_class(c, http::chars::target); }

Target fixed_target(std::string_view path) {
  for (const FixedPath& fixed : fixed_paths) {
    if (path == fixed.path) return fixed.target;
  }
  return Target::none;
}

// GET, HEAD and OPTIONS where they have a use, and every refusal by the method.
Admission admit_method(const http::Request& head, Target target) {
  const std::string_view allow = target == Target::rpc ? post_only : get_only;
  if (head.content_length > limits::drain_size_max) return refuse_size();
  if (head.method == http::Method::options) return {.target = Target::options, .allow = allow};
  const bool reads = head.method == http::Method::get || head.method == http::Method::head;
  if (reads && target != Target::rpc) return {.target = target};
  return refuse_method(allow);
}

Admission admit_post(const http::Request& head, const EndpointOptions& options,
                     std::uint32_t message_size_max) {
  const bool json = http::media_type(head.view(head.content_type)) == http::MediaType::json;
  if (!json || head.content_encoded) [[unlikely]] {
    return refused(415, json ? Refusal::content_coding : Refusal::media_type,
                   base::Counter::bad_media);
  }
  if (options.check_accept && head.accept.present() && !http::accepts_json(head)) [[unlikely]] {
    return refused(406, Refusal::accept, base::Counter::bad_media);
  }
  if (head.content_length > message_size_max) [[unlikely]]
    return refuse_size();
  return {.target = Target::rpc};
}

// A head that lists websocket in Upgrade.
ws::UpgradeVerdict check_upgrade(const http::Request& head) {
  ws::UpgradeRequest request;
  request.get = head.method == http::Method::get;
  request.version_1_1 = head.version_minor != 0;
  request.upgrade_websocket = head.upgrade_websocket;
  request.connection_upgrade = head.connection_upgrade;
  request.has_body = head.chunked || head.content_length != 0;
  for (std::uint16_t i = 0; i < head.field_count; ++i) {
    const std::string_view name = head.view(head.fields[i].name);
    const std::string_view value = head.view(head.fields[i].value);
    if (http::equals_folded(name, "sec-websocket-version") && request.version_count++ == 0) {
      request.version = value;
    }
    if (http::equals_folded(name, "sec-websocket-key") && request.key_count++ == 0) {
      request.key = value;
    }
  }
  return ws::check_upgrade(request);
}

// Returns: Target::none without a status when no WebSocket is asked for.
[[gnu::cold]] Admission admit_upgrade(const http::Request& head, bool may_upgrade) {
  if (head.content_length > limits::drain_size_max) return refuse_size();
  switch (check_upgrade(head)) {
    case ws::UpgradeVerdict::none:
      return {};
    case ws::UpgradeVerdict::accepted:
      if (may_upgrade) return {.target = Target::websocket};
      return refuse_method(post_only);
    case ws::UpgradeVerdict::malformed:
      return refused(400, Refusal::websocket_handshake, base::Counter::bad_heads);
    case ws::UpgradeVerdict::bad_version:
      return refused(426, Refusal::websocket_version, base::Counter::bad_routes);
  }
  return {};
}

// A request where JSON-RPC is served.
Admission admit_rpc(const http::Request& head, const EndpointOptions& options,
                    std::uint32_t message_size_max, bool may_upgrade) {
  if (head.upgrade_websocket && options.websocket) [[unlikely]] {
    const Admission upgrade = admit_upgrade(head, may_upgrade);
    if (upgrade.target != Target::none || upgrade.status != 0) return upgrade;
  }
  if (head.method == http::Method::post) [[likely]]
    return admit_post(head, options, message_size_max);
  return admit_method(head, Target::rpc);
}

// What every host may ask for, by path and method.
Admission admit_path(const http::Request& head, std::span<const Mount> mounts,
                     std::uint32_t message_size_max, bool may_upgrade) {
  const std::string_view path = head.view(head.path);
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (path != mounts[i].path) continue;
    Admission admission = admit_rpc(head, mounts[i].options, message_size_max, may_upgrade);
    admission.mount = static_cast<std::uint8_t>(i);
    admission.null_id = mounts[i].options.null_id_in_errors;
    return admission;
  }
  const Target target = fixed_target(path);
  if (target != Target::none) return admit_method(head, target);
  if (head.method == http::Method::options && head.view(head.target) == "*") {
    return {.target = Target::options, .allow = "GET, HEAD, POST, OPTIONS"};
  }
  return refused(404, Refusal::path, base::Counter::bad_routes);
}

// By Refusal.
constexpr std::string_view refusal_names[] = {"",
                                              "path",
                                              "method",
                                              "accept",
                                              "media_type",
                                              "content_coding",
                                              "websocket_version",
                                              "websocket_handshake"};
static_assert(std::size(refusal_names) ==
              static_cast<std::size_t>(Refusal::websocket_handshake) + 1);

}  // namespace

std::string_view refusal_name(Refusal reason) {
  return refusal_names[static_cast<std::size_t>(reason)];
}

std::string check_mount_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return "a path begins with a slash";
  if (path.size() > limits::target_size_max) return "a path is at most as long as a target";
  if (fixed_target(path) != Target::none) return "the server answers there itself";
  if (!std::all_of(path.begin(), path.end(), is_target)) {
    return "a path has the bytes that a target may have, percent-encoded as requests spell it";
  }
  return path.find('?') == path.npos ? "" : "a path ends before the query";
}

Admission admit(const http::Request& head, const http::HostPolicy& hosts,
                std::span<const Mount> mounts, std::uint32_t message_size_max, bool may_upgrade) {
  // No Origin is a client that is no browser; an empty one is nobody's.
  const std::string_view origin = head.view(head.origin);
  const bool own_origin =
      http::origin_allowed(origin, hosts) && (!head.origin.present() || !origin.empty());
  if (!http::host_allowed(head.view(head.host), hosts) || !own_origin) [[unlikely]] {
    return refused_by_code(403, rpc::ErrorCode::not_allowed, base::Counter::bad_hosts);
  }
  return admit_path(head, mounts, message_size_max, may_upgrade);
}

}  // namespace ringrpc::serve
