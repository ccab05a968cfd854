#pragma once

// The counters of one worker. Aeron's habit: one enum, one label table, one static_assert, and
// readers that never disturb the writer.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::base {

// Every event that is counted. Add new ones before `count` and to counter_names in the same place.
enum class Counter : std::uint16_t {
  // Loop
  turns,
  enters,    // io_uring_enter or epoll_wait
  receives,  // receive completions that carried bytes
  sends,     // send completions
  accepts,
  closes,
  bytes_in,
  bytes_out,
  bytes_copied,          // input or output moved once more than needed
  buffers_exhausted,     // a receive found no free buffer
  completion_overflows,  // the kernel's completion queue was full
  stale_completions,     // for a connection that is gone; dropped
  accept_errors,         // by the machine, not by limits
  turns_slow,            // turns that took more than 10 ms
  // HTTP
  requests,
  bad_heads,   // 400 and 505 from the head or the chunks
  bad_media,   // 415 and 406
  bad_routes,  // 404, 405, 501
  bad_hosts,   // 403
  // WebSocket
  upgrades,    // connections that became one
  bad_frames,  // closes with 1002, 1003 and 1007
  // JSON-RPC
  notifications,
  batches,
  stray_responses,   // to nothing that was asked, where both sides may ask
  exceptions,        // thrown by a handler
  bad_results,       // no JSON, left by a handler
  late_calls,        // calls that were answered later, or are still to be
  late_replies,      // replies of theirs
  replies_dropped,   // replies that came when nobody waited for them any more
  calls_unanswered,  // a Deferred was dropped, so the engine answered
  calls_cancelled,   // asked to stop by their peer
  cancels_unknown,   // rpc.cancel for an id that is not in flight
  streams,           // event streams begun
  events,            // notifications sent
  events_dropped,    // that found no room, or nobody
  events_coalesced,  // that a later one replaced
  bad_events,        // that were never sent: their params are no JSON object or array
  heartbeats,
  // Limits, each with its own label in ringrpc_limit_hits_total
  limit_connections,  // peers over it, each answered 503
  limit_head_size,
  limit_head_fields,
  limit_target_size,
  limit_trailer_size,     // bytes or fields
  limit_chunk_extension,  // bytes of them
  limit_message_size,
  limit_websocket_frames,  // frames of one message, or their overhead
  limit_reply_size,
  limit_batch_length,
  limit_depth,
  limit_id_size,
  limit_method_size,
  limit_params_memory,
  limit_partial_pool,
  limit_unsent_size,
  limit_reply_memory,  // no room for a reply, so its connection ended
  limit_head_timeout,
  limit_idle_timeout,
  limit_body_rate,
  limit_stall_timeout,
  limit_linger_timeout,
  limit_drain_size,
  limit_in_flight,  // calls of the worker
  limit_in_flight_per_connection,
  limit_late_memory,     // what calls in flight may hold
  limit_frame_memory,    // frames of coroutines
  limit_readiness,       // descriptors that the kernel would not wait for
  limit_blocking_queue,  // jobs that wait for a thread
  limit_call_timeout,
  limit_pings_unanswered,
  limit_subscriptions,
  limit_stream_queue,  // streams that ended because their peer reads too slowly
  count,
};

inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count);

inline constexpr std::array counter_names = {
    std::string_view("turns"),
    std::string_view("enters"),
    std::string_view("receives"),
    std::string_view("sends"),
    std::string_view("accepts"),
    std::string_view("closes"),
    std::string_view("bytes_in"),
    std::string_view("bytes_out"),
    std::string_view("bytes_copied"),
    std::string_view("buffers_exhausted"),
    std::string_view("completion_overflows"),
    std::string_view("stale_completions"),
    std::string_view("accept_errors"),
    std::string_view("turns_slow"),
    std::string_view("requests"),
    std::string_view("bad_heads"),
    std::string_view("bad_media"),
    std::string_view("bad_routes"),
    std::string_view("bad_hosts"),
    std::string_view("upgrades"),
    std::string_view("bad_frames"),
    std::string_view("notifications"),
    std::string_view("batches"),
    std::string_view("stray_responses"),
    std::string_view("exceptions"),
    std::string_view("bad_results"),
    std::string_view("late_calls"),
    std::string_view("late_replies"),
    std::string_view("replies_dropped"),
    std::string_view("calls_unanswered"),
    std::string_view("calls_cancelled"),
    std::string_view("cancels_unknown"),
    std::string_view("streams"),
    std::string_view("events"),
    std::string_view("events_dropped"),
    std::string_view("events_coalesced"),
    std::string_view("bad_events"),
    std::string_view("heartbeats"),
    std::string_view("connections"),
    std::string_view("head_size"),
    std::string_view("head_fields"),
    std::string_view("target_size"),
    std::string_view("trailer_size"),
    std::string_view("chunk_extension"),
    std::string_view("message_size"),
    std::string_view("websocket_frames"),
    std::string_view("reply_size"),
    std::string_view("batch_length"),
    std::string_view("depth"),
    std::string_view("id_size"),
    std::string_view("method_size"),
    std::string_view("params_memory"),
    std::string_view("partial_pool"),
    std::string_view("unsent_size"),
    std::string_view("reply_memory"),
    std::string_view("head_timeout"),
    std::string_view("idle_timeout"),
    std::string_view("body_rate"),
    std::string_view("stall_timeout"),
    std::string_view("linger_timeout"),
    std::string_view("drain_size"),
    std::string_view("in_flight"),
    std::string_view("in_flight_per_connection"),
    std::string_view("late_memory"),
    std::string_view("frame_memory"),
    std::string_view("readiness"),
    std::string_view("blocking_queue"),
    std::string_view("call_timeout"),
    std::string_view("pings_unanswered"),
    std::string_view("subscriptions"),
    std::string_view("stream_queue"),
};
static_assert(counter_names.size() == counter_count, "each counter has a name");

constexpr std::string_view counter_name(Counter counter) {
  return counter_names[static_cast<std::size_t>(counter)];
}

// Thread: add() by the owning worker only, get() by anyone. A single writer needs no atomic
// read-modify-write: a relaxed load and store are plain moves, and readers see whole values.
class Counters {
 public:
  void add(Counter counter, std::uint64_t n = 1) {
    std::atomic<std::uint64_t>& value = values_[static_cast<std::size_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t get(Counter counter) const {
    return values_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  alignas(64) std::array<std::atomic<std::uint64_t>, counter_count> values_{};
};

}  // namespace ringrpc::base
