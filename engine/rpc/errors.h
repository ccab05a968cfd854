#pragma once

// The error codes that the engine itself answers, with their fixed texts.
//
// Sources: JSON-RPC 2.0 section 5.1 for -327xx and -326xx; the -310xx band is the engine's own and
// lies outside the reserved range.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::rpc {

enum class ErrorCode : std::int32_t {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  overloaded = -31001,
  rate_limited = -31002,
  timed_out = -31003,
  reply_too_large = -31004,
  batch_too_large = -31005,
  cancelled = -31006,
  shutting_down = -31007,
  request_too_large = -31008,
  not_allowed = -31009,
};

// One code with the error object it answers, up to and without its closing brace, so that data may
// follow.
struct ErrorText {
  ErrorCode code;
  std::string_view object;
};

inline constexpr std::array error_texts = {
    ErrorText{ErrorCode::parse_error, R"({"code":-32700,"message":"Parse error")"},
    ErrorText{ErrorCode::invalid_request, R"({"code":-32600,"message":"Invalid Request")"},
    ErrorText{ErrorCode::method_not_found, R"({"code":-32601,"message":"Method not found")"},
    ErrorText{ErrorCode::invalid_params, R"({"code":-32602,"message":"Invalid params")"},
    ErrorText{ErrorCode::internal_error, R"({"code":-32603,"message":"Internal error")"},
    ErrorText{ErrorCode::overloaded, R"({"code":-31001,"message":"Overloaded")"},
    ErrorText{ErrorCode::rate_limited, R"({"code":-31002,"message":"Rate limited")"},
    ErrorText{ErrorCode::timed_out, R"({"code":-31003,"message":"Timed out")"},
    ErrorText{ErrorCode::reply_too_large,
              R"({"code":-31004,"message":"Reply too large","data":{"reason":"reply_size_max"})"},
    ErrorText{ErrorCode::batch_too_large,
              R"({"code":-31005,"message":"Batch too large","data":{"reason":"batch_length_max"})"},
    ErrorText{ErrorCode::cancelled,
              R"({"code":-31006,"message":"Cancelled","data":{"reason":"cancelled"})"},
    ErrorText{ErrorCode::shutting_down,
              R"({"code":-31007,"message":"Shutting down","data":{"reason":"shutdown"})"},
    ErrorText{
        ErrorCode::request_too_large,
        R"({"code":-31008,"message":"Request too large","data":{"reason":"message_size_max"})"},
    ErrorText{ErrorCode::not_allowed,
              R"({"code":-31009,"message":"Not allowed","data":{"reason":"host_or_origin"})"},
};

inline constexpr std::size_t error_text_count = error_texts.size();

// The longest error object the engine writes without user text: the text above, data with a path,
// the envelope and the longest id. Every reply buffer has at least this much room.
inline constexpr std::uint32_t error_reply_size_max = 1024;

// Returns: the position in error_texts; error_text_count for a code of an application.
constexpr std::size_t error_index(std::int32_t code) {
  for (std::size_t i = 0; i < error_texts.size(); ++i) {
    if (static_cast<std::int32_t>(error_texts[i].code) == code) return i;
  }
  return error_texts.size();
}

constexpr std::string_view error_object(ErrorCode code) {
  return error_texts[error_index(static_cast<std::int32_t>(code))].object;
}

}  // namespace ringrpc::rpc
