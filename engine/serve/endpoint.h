#pragma once

// What is served where, and which requests are refused before their body is looked at.
//
// Source: the refusals and their order follow RFC 9110; the bodies are JSON-RPC errors with id
// null.

#include <ringrpc/endpoint.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/counters.h"
#include "engine/http/hosts.h"
#include "engine/http/request.h"
#include "engine/rpc/errors.h"

namespace ringrpc::serve {

// Where JSON-RPC is served, and how.
struct Mount {
  std::string path;
  EndpointOptions options = {};
};

// Returns: what is wrong with a path to mount at, empty when nothing is.
std::string check_mount_path(std::string_view path);

enum class Target : std::uint8_t {
  rpc,        // POST where something is mounted: JSON-RPC
  health,     // GET /healthz
  ready,      // GET /readyz
  metrics,    // GET /metrics
  options,    // OPTIONS of any of them, or of *
  websocket,  // GET with the handshake where JSON-RPC is served: 101
  none,       // refused
};

// What an error says of its cause where the code does not.
enum class Refusal : std::uint8_t {
  by_code,  // the code has a reason of its own
  path,
  method,
  accept,
  media_type,
  content_coding,
  websocket_version,
  websocket_handshake,
};

// Returns: `reason` in the error's data; empty for by_code.
std::string_view refusal_name(Refusal reason);

// What is done with a request whose head is whole.
struct Admission {
  Target target = Target::none;
  std::uint8_t mount = 0;    // the position of what is mounted there
  std::uint16_t status = 0;  // of the refusal
  rpc::ErrorCode code = rpc::ErrorCode::invalid_request;
  base::Counter counter = base::Counter::bad_routes;
  std::string_view allow = {};  // for Allow: the methods that the path has
  bool null_id = true;          // whether the error says id null
  Refusal reason = Refusal::by_code;
};

// Decides on a head. Requires: the head was accepted by http::parse_head. Where there is no
// connection that could become something else, a good handshake is 405.
// Returns: a target, or Target::none with the refusal.
Admission admit(const http::Request& head, const http::HostPolicy& hosts,
                std::span<const Mount> mounts, std::uint32_t message_size_max,
                bool may_upgrade = true);

}  // namespace ringrpc::serve
