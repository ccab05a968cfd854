#pragma once

// What a worker is made of and what it shares with the others.

#include <ringrpc/limits.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/base/histogram.h"
#include "engine/http/hosts.h"
#include "engine/rpc/late_calls.h"
#include "engine/rpc/table.h"
#include "engine/serve/endpoint.h"
#include "engine/serve/protocol.h"

namespace ringrpc::serve {

class Hub;
class Oracle;

// How long a connection may take, and how much of what it sends is dropped unread.
struct PeerLimits {
  std::uint32_t head_timeout_ms = limits::head_timeout_ms;
  std::uint32_t idle_timeout_ms = limits::idle_timeout_ms;
  std::uint32_t body_grace_ms = limits::body_grace_ms;
  std::uint32_t body_rate_min = limits::body_rate_min;  // bytes a second
  std::uint32_t stall_timeout_ms = limits::stall_timeout_ms;
  std::uint32_t linger_timeout_ms = limits::linger_timeout_ms;
  std::uint32_t websocket_ping_ms = limits::websocket_ping_ms;
  std::uint32_t drain_size_max = limits::drain_size_max;
};

// The most that a head may have; limits.h or tighter.
struct HeadLimits {
  std::uint32_t size_max = limits::head_size_max;
  std::uint32_t fields_max = limits::head_fields_max;
  std::uint32_t target_size_max = limits::target_size_max;
};

// Sizes are bytes. Checked against limits.h before a worker sees them. What each turn looks at
// comes first, so that it shares a cache line.
struct WorkerOptions {
  std::uint32_t connections_max = limits::connections_max;
  PeerLimits peer;
  HeadLimits head;
  std::uint32_t refusals_max = limits::refusals_max;  // beside connections_max
  std::uint32_t receive_buffers = limits::receive_buffers;
  std::uint32_t receive_buffer_size = limits::receive_buffer_size;
  std::uint32_t message_size_max = limits::message_size_max;
  std::uint32_t reply_size_max = limits::reply_size_max;
  std::uint32_t batch_length_max = limits::batch_length_max;
  std::uint32_t partial_pool_size = limits::partial_pool_size;
  std::uint32_t reply_slabs = limits::reply_slabs;
  std::uint32_t reply_slab_size = limits::reply_slab_size;
  std::uint32_t large_replies_size_max = limits::large_replies_size_max;
  std::uint32_t segments = limits::reply_segments;
  std::uint32_t spin_us = 0;
  std::uint32_t in_flight_max = limits::in_flight_max;
  std::uint32_t in_flight_per_connection_max = limits::in_flight_per_connection_max;
  std::uint32_t late_memory_size_max = limits::late_memory_size_max;
  std::uint32_t frame_memory_size_max = limits::frame_memory_size_max;
  std::uint32_t call_timeout_ms = limits::call_timeout_ms;
  std::uint32_t heartbeat_ms = limits::heartbeat_ms;
  // By the position of the listener; HTTP on those without an entry.
  std::vector<Door> doors = {};
};

// How far the server has come; only ever goes forward.
enum class Phase : std::uint8_t {
  serving,
  leaving,   // /readyz says so; everything else is served
  stopping,  // no new connections; what runs ends, idle connections are closed
  forced,    // the deadline has passed: loops end at once
};

// Owned by the server, outlives the workers.
struct WorkerShared {
  rpc::Registry* registry = nullptr;
  const http::HostPolicy* hosts = nullptr;
  // Fixed before the first worker is made.
  std::vector<Mount> mounts = {{.path = "/rpc"}};
  const Oracle* oracle = nullptr;
  rpc::BlockingDoor blocking;
  Hub* hub = nullptr;  // null: nobody publishes
  // Release by the server, acquire in begin_turn().
  std::atomic<Phase> phase{Phase::serving};
};

// What a worker holds now, for /metrics. Written by the worker once a turn, read by anyone.
struct Gauges {
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint32_t> buffers_lent{0};
  std::atomic<std::uint32_t> in_flight{0};
  std::atomic<std::uint32_t> streams{0};
  std::atomic<std::uint32_t> subscriptions{0};
  std::atomic<std::uint64_t> late_bytes{0};   // what calls in flight hold beyond their places
  std::atomic<std::uint64_t> frame_bytes{0};  // of coroutines
  std::atomic<std::uint32_t> segments{0};
  std::atomic<std::uint64_t> partial_messages{0};
  std::atomic<std::uint64_t> partial_bytes{0};  // kept blocks included
  std::atomic<std::uint64_t> large_reply_bytes{0};
  std::atomic<std::uint64_t> turn_ns_max{0};
  base::Histogram call_ns;
};

}  // namespace ringrpc::serve
