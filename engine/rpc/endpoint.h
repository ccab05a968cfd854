#pragma once

// An endpoint as the worker that answers for it sees it, and the HTTP status of its replies.

#include <ringrpc/endpoint.h>

#include <string_view>

#include "engine/rpc/call_stats.h"
#include "engine/rpc/outcome.h"

namespace ringrpc::rpc {

// Lifetime: both outlive the messages that are read for it.
struct Endpoint {
  const EndpointOptions* options = nullptr;
  CallStats* stats = nullptr;
  bool two_way = false;  // both sides may call: a response that comes is no bad request
};

// Of a reply that is a single error.
void set_error_status(Outcome& outcome, StatusRule rule);

// Completes an outcome: its status, and when to try again.
// Requires: has_body, error and from_method are set.
inline void set_status(Outcome& outcome, const EndpointOptions& options) {
  if (!outcome.has_body) {
    outcome.status = options.accepted_status;
  } else if (outcome.error != 0) [[unlikely]] {
    set_error_status(outcome, options.status);
  }
}

// Returns: whether a request may have that id. Requires: a valid token of a string, number or null.
bool id_allowed(std::string_view id, IdRule rule);

}  // namespace ringrpc::rpc
