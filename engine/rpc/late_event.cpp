// What the owner of a Stream does with its notifications. Thread: any.

#include <ringrpc/limits.h>
#include <ringrpc/stream.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/assert.h"
#include "engine/json/check.h"
#include "engine/rpc/late_calls.h"
#include "engine/rpc/publication.h"

namespace ringrpc {
namespace rpc {
namespace {

constexpr std::size_t event_capacity_min = 232;
constexpr std::string_view event_begin = R"({"jsonrpc":"2.0","method":)";
constexpr std::string_view params_name = R"(,"params":)";

LateEvent* make_event(LateCall& call, std::size_t capacity) {
  const std::size_t size = sizeof(LateEvent) + capacity;
  if (call.home.charge(size)) {
    void* const memory = ::operator new(size, std::nothrow);
    if (memory != nullptr) return new (memory) LateEvent(call, capacity);
    call.home.discharge(size);
  }
  call.home.count_lost(LateCalls::Lost::no_memory);
  return nullptr;
}

}  // namespace

void say_invalid(base::Notice& notice, std::string_view method, bool too_large) {
  notice.say("the notification \"%.*s\" was not sent: %s", static_cast<int>(method.size()),
             method.data(),
             too_large ? "it is larger than reply_size_max"
                       : "its params are no JSON object or array: NaN or infinity, an unknown enum "
                         "value, another kind of value, a text that is no JSON");
}

void LateCall::free_event(LateEvent* freed) {
  if (freed == nullptr) return;
  home.discharge(sizeof(LateEvent) + freed->capacity);
  freed->~LateEvent();
  ::operator delete(static_cast<void*>(freed));
}

bool LateCall::grow_event(void* owner, JsonWriter& writer, std::size_t need) {
  LateCall& call = *static_cast<LateCall*>(owner);
  const std::size_t size = writer.size() + need;
  const std::size_t limit = call.home.options().reply_size_max;
  if (size > limit) return false;
  LateEvent* const larger =
      make_event(call, std::min(std::max(2 * call.event->capacity, size), limit));
  if (larger == nullptr) {
    call.no_memory = true;
    return false;
  }
  std::memcpy(larger->text(), writer.begin(), writer.size());
  writer.relocate(larger->text(), larger->text() + larger->capacity);
  call.free_event(std::exchange(call.event, larger));
  return true;
}

Reply* LateCall::begin_event(std::string_view name) {
  if (!streams || stop.load(std::memory_order_acquire) != StopReason::none) return nullptr;
  RINGRPC_ASSERT(event == nullptr, index);
  refused_size = 0;
  event = make_event(*this, event_capacity_min);
  no_memory = event == nullptr;
  if (no_memory) return nullptr;
  JsonWriter* out = new (event_writer_storage)
      JsonWriter(event->text(), event->text() + event->capacity, &LateCall::grow_event, this);
  out->bytes(event_begin);
  out->begin_value();
  out->string(name);
  out->bytes(params_name);
  params_begin = out->size();
  out->begin_value();
  return new (event_storage) Reply(*out, true);
}

Sent LateCall::end_event(std::string_view name) {
  JsonWriter& out = *reinterpret_cast<JsonWriter*>(event_writer_storage);
  const bool whole = out.complete();
  out.bytes("}");
  LateEvent* const made = std::exchange(event, nullptr);
  made->size = out.size();
  if (!out.ok() || !whole || !json::is_structured(made->view().substr(params_begin))) {
    return refuse(made, name, out.overflowed());
  }
  const std::uint32_t size = static_cast<std::uint32_t>(made->size);
  // What waits behind the queue is older than this one, which replaces it however much room there
  // is by now. Acquire: pairs with the worker's exchange, behind which that one is in the queue.
  if (latest.load(std::memory_order_acquire) != nullptr) return coalesce(made);
  const std::uint32_t before = queued.load(std::memory_order_acquire);
  // One of any size is taken when nothing waits.
  if (before == 0 || before + size <= limits::stream_queue_size_max) {
    queued.fetch_add(size, std::memory_order_relaxed);
    home.push(*made);
    return Sent::yes;
  }
  refused_size = size;
  return when_full == WhenFull::coalesce ? coalesce(made) : lose(made);
}

// What can never be sent is its sender's mistake.
Sent LateCall::refuse(LateEvent* made, std::string_view name, bool too_large) {
  free_event(made);
  if (no_memory) return Sent::no_room;
  home.count_lost(too_large ? LateCalls::Lost::too_large : LateCalls::Lost::invalid);
  say_invalid(home.event_notice(), name, too_large);
  return Sent::invalid;
}

// Keeps an event that found no room for when there is some. Returns: whether it is kept.
Sent LateCall::coalesce(LateEvent* made) {
  // This order, and the worker's of the same two, leave no event behind: either the worker sees it
  // when it has sent the last one, or we see here that it has.
  LateEvent* spare = latest.exchange(made, std::memory_order_seq_cst);
  if (spare != nullptr) home.count_lost(LateCalls::Lost::coalesced);
  if (queued.load(std::memory_order_seq_cst) != 0) {
    free_event(spare);
    return Sent::yes;
  }
  if (spare == nullptr) spare = make_event(*this, 0);
  if (spare == nullptr) {
    no_memory = true;
    LateEvent* const mine = latest.exchange(nullptr, std::memory_order_acq_rel);
    free_event(mine);
    return mine == nullptr ? Sent::yes : Sent::no_room;
  }
  spare->size = 0;  // A nudge: it says nothing, and makes the worker look.
  home.push(*spare);
  return Sent::yes;
}

Sent LateCall::lose(LateEvent* made) {
  if (when_full == WhenFull::close) {
    made->size = 0;
    made->closes = true;
    home.push(*made);
    return Sent::no_room;
  }
  free_event(made);
  if (when_full == WhenFull::drop) home.count_lost(LateCalls::Lost::dropped);
  return Sent::no_room;
}

bool LateCall::has_room() const {
  const std::uint32_t waits = queued.load(std::memory_order_acquire);
  return waits == 0 || (waits <= limits::stream_queue_size_max / 2 &&
                        waits + refused_size <= limits::stream_queue_size_max);
}

}  // namespace rpc

namespace {

// Returns: why a notification was not begun.
Sent refusal(const rpc::LateCall& late) {
  if (!late.streams) return Sent::unwanted;
  const bool stopped = late.stop.load(std::memory_order_acquire) != StopReason::none;
  return stopped ? Sent::stopped : Sent::no_room;
}

}  // namespace

rpc::LateCall& Stream::late_of(Call& call) { return rpc::LateCalls::of(call); }
void Stream::set_policy(rpc::LateCall& late, WhenFull policy) { late.when_full = policy; }
bool Stream::is_open(const rpc::LateCall& late) { return late.streams; }

Sent Stream::send_event(rpc::LateCall& late, std::string_view method, const fields::TypeInfo& type,
                        const void* params) {
  Reply* const event = late.begin_event(method);
  if (event == nullptr) return refusal(late);
  event->encode(type, params);
  return late.end_event(method);
}

Sent Stream::send_event(rpc::LateCall& late, std::string_view method,
                        std::string_view params_json) {
  Reply* const event = late.begin_event(method);
  if (event == nullptr) return refusal(late);
  // Without params it is no whole notification.
  if (json::is_one_value(params_json)) event->result().raw(params_json);
  return late.end_event(method);
}

bool Stream::block(rpc::LateCall& late) { return late.home.wait_for_room(late); }

std::uint32_t Stream::for_room(rpc::LateCall& late) {
  if (late.no_memory) return limits::stream_memory_retry_ms;
  if (late.has_room()) return 0;
  late.wants_room = true;
  return waits_for_ever;
}

}  // namespace ringrpc
