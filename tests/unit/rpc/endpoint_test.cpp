// Goal: the status of a reply, and which ids a request may have, by the rules of an endpoint.
// Method: every code of the engine, from the engine and from a method, under every rule.

#include "engine/rpc/endpoint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string_view>

#include "engine/rpc/errors.h"

namespace ringrpc::rpc {
namespace {

struct Statuses {
  int ok;
  int mapped;
  int mapped_defects;
};

// Before a method ran, and from a method.
struct Case {
  ErrorCode code;
  Statuses before;
  Statuses from_method;
};

constexpr Statuses all_ok = {200, 200, 200};

int status_of(ErrorCode code, bool from_method, StatusRule rule) {
  EndpointOptions rules = agent_endpoint();
  rules.status = rule;
  Outcome outcome{
      .has_body = true, .from_method = from_method, .error = static_cast<std::int32_t>(code)};
  set_status(outcome, rules);
  const bool again = outcome.status == 429 || outcome.status == 503;
  EXPECT_EQ(outcome.retry_after_s != 0, again) << static_cast<int>(code);
  return outcome.status;
}

TEST(EndpointStatus, EachCodeHasTheStatusOfTheTable) {
  const Case cases[] = {
      {ErrorCode::parse_error, {200, 400, 400}, all_ok},
      {ErrorCode::invalid_request, {200, 400, 400}, all_ok},
      {ErrorCode::method_not_found, {200, 404, 404}, all_ok},
      {ErrorCode::invalid_params, {200, 400, 400}, all_ok},
      {ErrorCode::internal_error, {200, 200, 500}, {200, 200, 500}},
      {ErrorCode::overloaded, {503, 503, 503}, {503, 503, 503}},
      {ErrorCode::rate_limited, {429, 429, 429}, {429, 429, 429}},
      {ErrorCode::timed_out, all_ok, all_ok},
      {ErrorCode::reply_too_large, all_ok, all_ok},
      {ErrorCode::batch_too_large, all_ok, all_ok},
      {ErrorCode::cancelled, all_ok, all_ok},
      {ErrorCode::shutting_down, {503, 503, 503}, {503, 503, 503}},
      {ErrorCode::request_too_large, all_ok, all_ok},
      {ErrorCode::not_allowed, all_ok, all_ok},
      {static_cast<ErrorCode>(1001), all_ok, all_ok},
  };
  EXPECT_EQ(std::size(cases), error_text_count + 1);
  for (const Case& one : cases) {
    for (const bool from_method : {false, true}) {
      const Statuses& wanted = from_method ? one.from_method : one.before;
      SCOPED_TRACE(static_cast<int>(one.code));
      EXPECT_EQ(status_of(one.code, from_method, StatusRule::ok), wanted.ok);
      EXPECT_EQ(status_of(one.code, from_method, StatusRule::mapped), wanted.mapped);
      EXPECT_EQ(status_of(one.code, from_method, StatusRule::mapped_defects),
                wanted.mapped_defects);
    }
  }
}

TEST(EndpointStatus, AResultIs200AndNothingToSayIsWhatTheRulesSay) {
  EndpointOptions rules;
  for (const std::uint16_t accepted : {std::uint16_t{204}, std::uint16_t{202}}) {
    rules.accepted_status = accepted;
    Outcome nothing;
    set_status(nothing, rules);
    EXPECT_EQ(nothing.status, accepted);
    Outcome result{.has_body = true};
    set_status(result, rules);
    EXPECT_EQ(result.status, 200);
  }
}

TEST(EndpointIds, EachRuleAllowsItsIds) {
  struct Id {
    std::string_view token;
    bool no_fractions;
    bool strings_and_integers;
  };
  const Id ids[] = {
      {"0", true, true},     {"-1", true, true},      {"18446744073709551616", true, true},
      {"\"\"", true, true},  {"\"1.5\"", true, true}, {"\"e\"", true, true},
      {"null", true, false}, {"1.0", false, false},   {"1e2", false, false},
      {"1E2", false, false}, {"-0.5", false, false},  {"0e0", false, false}};
  for (const Id& id : ids) {
    EXPECT_TRUE(id_allowed(id.token, IdRule::any)) << id.token;
    EXPECT_EQ(id_allowed(id.token, IdRule::no_fractions), id.no_fractions) << id.token;
    EXPECT_EQ(id_allowed(id.token, IdRule::strings_and_integers), id.strings_and_integers)
        << id.token;
  }
}

}  // namespace
}  // namespace ringrpc::rpc
