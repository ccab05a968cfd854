#include "engine/rpc/reply_text.h"

#include "engine/base/assert.h"

namespace ringrpc::rpc {
namespace {

constexpr std::string_view error_begin = R"({"jsonrpc":"2.0","error":)";

}  // namespace

void write_error(ErrorCode code, std::string_view id, bool with_id, JsonWriter& out,
                 std::string_view reason) {
  out.bytes(error_begin);
  // The reason may be another than the one that the error has as a rule.
  const std::string_view object = error_object(code);
  const std::size_t data = object.find(R"(,"data":)");
  out.bytes(reason.empty() ? object : object.substr(0, data));
  if (code == ErrorCode::overloaded) {
    RINGRPC_ASSERT(!reason.empty());
    out.bytes(R"(,"data":{"reason":")");
    out.bytes(reason);
    out.bytes(R"(","retryAfterMs":1000})");
  } else if (!reason.empty()) {
    out.bytes(data == object.npos ? R"(,"data":{"field":"","reason":")" : R"(,"data":{"reason":")");
    out.bytes(reason);
    out.bytes("\"}");
  } else if (code == ErrorCode::timed_out) {
    out.bytes(R"(,"data":{"reason":"deadline"})");
  }
  out.bytes("}");
  if (with_id) [[likely]] {
    write_id(id, out);
  } else {
    out.bytes("}");
  }
}

}  // namespace ringrpc::rpc
