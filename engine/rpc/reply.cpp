// The members of ringrpc::Reply and ringrpc::Peer: what handlers call back into the engine.

#include <arpa/inet.h>
#include <ringrpc/call.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "engine/json/check.h"
#include "engine/json/decode.h"
#include "engine/json/encode.h"
#include "engine/rpc/errors.h"

namespace ringrpc {

void Reply::error(int code, std::string_view message, std::string_view data_json) {
  writer_->rewind(start_);
  failed_ = true;
  code_ = code;
  char digits[16];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), code);
  writer_->bytes(R"({"jsonrpc":"2.0","error":{"code":)");
  writer_->bytes({digits, static_cast<std::size_t>(end.ptr - digits)});
  writer_->bytes(R"(,"message":)");
  writer_->begin_value();
  writer_->string(message);
  if (!data_json.empty() && json::is_json(data_json)) {
    writer_->bytes(R"(,"data":)");
    writer_->bytes(data_json);
  }
  writer_->bytes("}");
  end_ = writer_->size();
  fits_ = writer_->ok();
}

bool Reply::decode(const Call& call, const fields::TypeInfo& type, void* target, bool strict) {
  json::DecodeError error;
  json::Scratch& scratch = call.scratch();
  // The scratch is as large as a message may be.
  const json::DecodeOptions options{
      .strict = strict, .memory_max = limits::params_memory_factor * scratch.capacity()};
  if (json::decode(type, target, call.params(), scratch, options, error)) [[likely]]
    return true;
  refuse_params(error);
  return false;
}

void Reply::refuse_params(const json::DecodeError& error) {
  rpc::ErrorCode code = rpc::ErrorCode::invalid_params;
  if (error.reason == json::reasons::over_memory) {
    code = rpc::ErrorCode::request_too_large;
    over_memory_ = true;
  } else if (error.reason == json::reasons::no_memory) {
    code = rpc::ErrorCode::internal_error;
  }
  writer_->rewind(start_);
  failed_ = true;
  code_ = static_cast<int>(code);
  writer_->bytes(R"({"jsonrpc":"2.0","error":)");
  if (over_memory_) {
    writer_->bytes(R"({"code":-31008,"message":"Request too large")"
                   R"(,"data":{"reason":"params_memory"})");
  } else {
    writer_->bytes(rpc::error_object(code));
  }
  if (code == rpc::ErrorCode::invalid_params) {
    writer_->bytes(R"(,"data":{"field":)");
    writer_->begin_value();
    writer_->string(error.field());
    writer_->bytes(R"(,"reason":)");
    writer_->begin_value();
    writer_->string(error.reason);
    writer_->bytes("}");
  }
  writer_->bytes("}");
  end_ = writer_->size();
  fits_ = writer_->ok();
}

void Reply::encode(const fields::TypeInfo& type, const void* value) {
  touched_ = true;
  // Nobody sees the result of a notification; null stands for it and is thrown away.
  if (!wanted_) {
    writer_->null();
    return;
  }
  json::encode(type, value, *writer_);
}

std::string Peer::text() const {
  constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool none =
      std::all_of(address.begin(), address.end(), [](auto byte) { return byte == 0; });
  if (none && port == 0) return "local";
  char text[INET6_ADDRSTRLEN] = {};
  if (std::memcmp(address.data(), mapped, sizeof(mapped)) == 0) {
    inet_ntop(AF_INET, address.data() + 12, text, sizeof(text));
    return std::string(text) + ":" + std::to_string(port);
  }
  inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  return "[" + std::string(text) + "]:" + std::to_string(port);
}

}  // namespace ringrpc
