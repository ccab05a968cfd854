#include "engine/rpc/reply_text.h"

#include "engine/base/assert.h"

namespace ringrpc::rpc {
namespace {

constexpr std::string_view error_begin = R"({"jsonrpc":"2.0","error":)";

}  // namespace

void write_error(ErrorCode code, std::string_view id, bool with_id, JsonWriter& out,
                 std::string_view reason) {
  out.bytes(error_begin);
  out.bytes(error_object(code));
  if (code == ErrorCode::overloaded) {
    RINGRPC_ASSERT(!reason.empty());
    out.bytes(R"(,"data":{"reason":")");
    out.bytes(reason);
    out.bytes(R"(","retryAfterMs":1000})");
  } else if (!reason.empty()) {
    out.bytes(R"(,"data":{"field":"","reason":")");
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
