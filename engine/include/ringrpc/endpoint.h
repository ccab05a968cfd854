#pragma once

// How an endpoint speaks JSON-RPC, where the specification leaves a choice or a protocol on top of
// it makes its own. `/rpc` has the defaults; Server::mount() serves the same methods elsewhere with
// other rules.

#include <cstdint>

namespace ringrpc {

// The HTTP status of a reply that is a single error. Codes of overload (-31001, -31002, -31007) go
// with 503, 429 and 503 and a Retry-After, whatever the rule.
enum class StatusRule : std::uint8_t {
  ok,      // 200
  mapped,  // what failed before a method ran is visible to proxies: -32700, -32600 and params
           // of a wrong kind 400, -32601 404; what a method answered is 200
  mapped_defects  // the same, and -32603 is 500
};

// Ids that a request may have. Others are -32600, without that id.
enum class IdRule : std::uint8_t {
  any,                  // strings, numbers, null
  no_fractions,         // strings, integers, null
  strings_and_integers  // no null either
};

// What a message without an id is.
enum class Idless : std::uint8_t {
  notification,  // never answered (JSON-RPC 2.0, section 4.1)
  answered       // a request whose id is null, for clients that leave it out
};

struct EndpointOptions {
  bool batches = true;            // false: an array is -32600
  bool positional_params = true;  // false: params are an object or absent, else -32602
  StatusRule status = StatusRule::ok;
  IdRule ids = IdRule::any;
  Idless idless = Idless::notification;
  bool null_id_in_errors = true;        // false: an error whose request's id is not known has none
  bool check_accept = true;             // 406 when Accept excludes JSON
  std::uint16_t accepted_status = 204;  // of an accepted notification: 204 or 202
  bool websocket = true;                // GET may become a WebSocket
};

// What the protocols for agents have in common (MCP, A2A): one message a request, params by name,
// errors that a proxy can see.
constexpr EndpointOptions agent_endpoint() {
  EndpointOptions options;
  options.batches = false;
  options.positional_params = false;
  options.status = StatusRule::mapped;
  options.ids = IdRule::no_fractions;
  options.check_accept = false;
  options.accepted_status = 202;
  options.websocket = false;
  return options;
}

}  // namespace ringrpc
