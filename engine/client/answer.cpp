// Answers and params: between JSON text and reflected types.

#include <ringrpc/client_answer.h>
#include <ringrpc/client_batch.h>
#include <ringrpc/client_callback.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"
#include "engine/client/text_writer.h"
#include "engine/json/check.h"
#include "engine/json/decode.h"
#include "engine/json/encode.h"
#include "engine/json/index.h"

namespace ringrpc {
namespace {

thread_local std::exception_ptr kept_exception;

// A span of scalars takes more than its text: 8 bytes for "1,".
constexpr std::size_t scratch_factor = 8;

}  // namespace

namespace client {

void keep_exception(std::exception_ptr exception) {
  if (kept_exception == nullptr) kept_exception = std::move(exception);
}

std::exception_ptr take_exception() { return std::exchange(kept_exception, nullptr); }

Params encode_params(const fields::TypeInfo& type, const void* value) {
  TextWriter writer;
  json::encode(type, value, writer.writer());
  Params params{.json = writer.take(), .valid = writer.writer().ok()};
  drop_line_ends(params.json);
  if (params.json == "null") params.json.clear();  // an empty optional
  params.valid = params.valid && (params.json.empty() || json::is_structured(params.json));
  return params;
}

Params check_params(std::string_view json) {
  while (!json.empty() && std::strchr(" \t\r\n", json.front()) != nullptr) json.remove_prefix(1);
  Params params{.json = std::string(json), .valid = true};
  drop_line_ends(params.json);
  params.valid = json.empty() || (json::is_structured(json) && json::is_one_value(json));
  return params;
}

}  // namespace client

JsonAnswer JsonAnswer::of_result(std::string_view json) {
  JsonAnswer answer;
  answer.kind_ = Kind::result;
  answer.size_ = json.size();
  answer.text_.reset(new char[json.size() + 2 + limits::padding]);
  char* const text = answer.text_.get();
  text[0] = '[';
  std::memcpy(text + 1, json.data(), json.size());
  text[json.size() + 1] = ']';
  std::memset(text + json.size() + 2, ' ', limits::padding);
  return answer;
}

JsonAnswer JsonAnswer::of_error(Error error) {
  JsonAnswer answer;
  answer.kind_ = Kind::error;
  answer.error_ = std::move(error);
  return answer;
}

JsonAnswer JsonAnswer::of_failure(Failure failure) {
  JsonAnswer answer;
  answer.failure_ = std::move(failure);
  return answer;
}

std::string JsonAnswer::sentence() const {
  if (ok()) return {};
  if (failed()) {
    return failure_.kind == FailureKind::none ? "there is no answer yet" : failure_.sentence;
  }
  std::string text = "error " + std::to_string(error_.code) + ": " + error_.message;
  if (!error_.data.empty()) text.append(" ").append(error_.data);
  return text;
}

bool JsonAnswer::decode(const fields::TypeInfo& type, void* target) {
  RINGRPC_ASSERT(ok());
  const std::size_t size = size_ + 2;
  json::Index index;
  json::DecodeError error;
  bool good = index.reserve(static_cast<std::uint32_t>(size)).ok() &&
              index.build(text_.get(), static_cast<std::uint32_t>(size));
  if (good) {
    const std::size_t room = scratch_factor * (size + sizeof(std::uint64_t));
    scratch_.reset(new char[room]);
    json::Scratch scratch(scratch_.get(), room);
    const std::size_t memory =
        limits::params_memory_factor * std::max(size, std::size_t{limits::message_size_max});
    good = json::decode(type, target, JsonValue(text_.get(), index.positions() + 1), scratch,
                        {.memory_max = memory}, error);
    if (scratch.used() == 0) scratch_.reset();
  } else {
    error.reason = "could not be read";
  }
  if (good) return true;
  std::string sentence = "the result is not of the type that was asked for: ";
  if (!error.field().empty()) sentence.append(error.field()).append(" ");
  *this = of_failure(
      {.kind = FailureKind::bad_reply, .sentence = sentence + error.reason, .may_have_run = true});
  return false;
}

}  // namespace ringrpc
