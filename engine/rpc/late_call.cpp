// What the owner of a Deferred does with its call. Thread: any.

#include "engine/rpc/late_call.h"

#include <ringrpc/async.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/assert.h"
#include "engine/rpc/late_calls.h"

namespace ringrpc {
namespace rpc {

bool LateCall::grow(void* owner, JsonWriter& writer, std::size_t need) {
  LateCall& call = *static_cast<LateCall*>(owner);
  const std::size_t size = writer.size() + need;
  // A little more than may be sent: whether a reply is too large is judged by what was written.
  const std::size_t limit = std::size_t{call.home.options().reply_size_max} + limits::padding;
  if (size > limit) return false;
  const std::size_t capacity = std::min(std::max(2 * call.reply_capacity, size), limit);
  call.found_no_memory = true;
  if (!call.home.charge(capacity)) return false;
  char* const larger = new (std::nothrow) char[capacity];
  if (larger == nullptr) {
    call.home.discharge(capacity);
    return false;
  }
  call.found_no_memory = false;
  std::memcpy(larger, writer.begin(), writer.size());
  writer.relocate(larger, larger + capacity);
  if (call.reply_memory != nullptr) {
    delete[] call.reply_memory;
    call.home.discharge(call.reply_capacity);
  }
  call.reply_memory = larger;
  call.reply_capacity = capacity;
  return true;
}

Reply& LateCall::reply() {
  Reply* reply = reinterpret_cast<Reply*>(reply_storage);
  if (replying) return *reply;
  replying = true;
  reply_capacity = reply_inline_size;
  JsonWriter* out = new (writer_storage)
      JsonWriter(reply_inline, reply_inline + reply_inline_size, &LateCall::grow, this);
  reply = new (reply_storage) Reply(*out, wanted);
  out->bytes(result_begin);
  out->begin_value();
  return *reply;
}

void LateCall::hits(base::Counter of) {
  limit = of;
  home.options().counters->add(of);
}

void LateCall::seal() {
  Reply& written = reply();
  over_memory = ReplyAccess::over_memory(written);
  end = LateEnd::text;
  if (!wanted) return;
  const ReplyEnd how = ReplyAccess::end(written, id(), writer());
  code = ReplyAccess::error_code(written);
  if (how == ReplyEnd::no_json) end = LateEnd::no_json;
  if (how == ReplyEnd::overflowed || writer().size() > home.options().reply_size_max) {
    end = found_no_memory ? LateEnd::no_memory : LateEnd::too_large;
  }
}

}  // namespace rpc

StopReason Call::stop_reason() const {
  // Acquire: pairs with the release in LateCalls::raise().
  return late_ == nullptr ? StopReason::none : late_->stop.load(std::memory_order_acquire);
}

Call& Deferred::call_of(rpc::LateCall& late) { return late.call(); }
Reply& Deferred::reply_of(rpc::LateCall& late) { return late.reply(); }

void Deferred::send_of(rpc::LateCall& late) {
  late.seal();
  late.home.push(late);
}

void Deferred::drop(rpc::LateCall& late) {
  late.end = rpc::LateEnd::dropped;
  late.home.push(late);
}

void* Deferred::wait(rpc::LateCall& late, std::uint32_t ms, Run run, Destroy destroy) {
  static_assert(wait_state_size == rpc::LateWait::state_size);
  return late.home.wait(late, ms, run, destroy);
}

Error stop_error(StopReason reason) {
  switch (reason) {
    case StopReason::timed_out:
      return {.code = -31003, .message = "Timed out", .data = R"({"reason":"deadline"})"};
    case StopReason::shutdown:
      return {.code = -31007, .message = "Shutting down", .data = R"({"reason":"shutdown"})"};
    case StopReason::none:
    case StopReason::cancelled:
    case StopReason::disconnected:
      break;
  }
  return {.code = -31006, .message = "Cancelled", .data = R"({"reason":"cancelled"})"};
}

}  // namespace ringrpc
