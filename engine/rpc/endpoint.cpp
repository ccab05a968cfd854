#include "engine/rpc/endpoint.h"

#include <cstdint>

#include "engine/rpc/errors.h"

namespace ringrpc::rpc {
namespace {

constexpr std::uint32_t retry_after_s = 1;

// The status of what failed before a method ran, at an endpoint that maps errors.
std::uint16_t status_before_method(ErrorCode code) {
  switch (code) {
    case ErrorCode::parse_error:
    case ErrorCode::invalid_request:
    case ErrorCode::invalid_params:
      return 400;
    case ErrorCode::method_not_found:
      return 404;
    default:
      return 200;
  }
}

}  // namespace

void set_error_status(Outcome& outcome, StatusRule rule) {
  const ErrorCode code = static_cast<ErrorCode>(outcome.error);
  if (code == ErrorCode::rate_limited || code == ErrorCode::overloaded ||
      code == ErrorCode::shutting_down) {
    outcome.status = code == ErrorCode::rate_limited ? 429 : 503;
    outcome.retry_after_s = retry_after_s;
  } else if (rule == StatusRule::ok) {
    outcome.status = 200;
  } else if (code == ErrorCode::internal_error) {
    outcome.status = rule == StatusRule::mapped_defects ? 500 : 200;
  } else {
    outcome.status = outcome.from_method ? 200 : status_before_method(code);
  }
}

bool id_allowed(std::string_view id, IdRule rule) {
  if (rule == IdRule::any || id.front() == '"') return true;
  if (id.front() == 'n') return rule == IdRule::no_fractions;
  return id.find_first_of(".eE") == std::string_view::npos;
}

}  // namespace ringrpc::rpc
