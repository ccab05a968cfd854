#include "engine/serve/options_check.h"

#include <ringrpc/limits.h>

#include <bit>
#include <cstdint>

namespace ringrpc::serve {
namespace {

struct Bounds {
  const char* option;
  std::uint64_t value;
  std::uint64_t least;
  std::uint64_t most;
};

std::string sentence(const Bounds& bounds) {
  return std::string(bounds.option) + " is " + std::to_string(bounds.value) +
         ", and must be between " + std::to_string(bounds.least) + " and " +
         std::to_string(bounds.most);
}

}  // namespace

std::string check_options(const Options& options) {
  using namespace limits;
  const Bounds all[] = {
      {"workers", options.workers, 0, workers_max},
      {"spin_us", options.spin_us, 0, spin_us_max},
      {"connections_max", options.connections_max, connections_max_min, connections_max_max},
      {"receive_buffers", options.receive_buffers, receive_buffers_min, receive_buffers_max},
      {"message_size_max", options.message_size_max, message_size_max_min, message_size_max_max},
      {"reply_size_max", options.reply_size_max, reply_size_max_min, reply_size_max_max},
      {"batch_length_max", options.batch_length_max, batch_length_max_min, batch_length_max_max},
      {"head_size_max", options.head_size_max, head_size_max_min, head_size_max},
      {"head_fields_max", options.head_fields_max, head_fields_max_min, head_fields_max},
      {"target_size_max", options.target_size_max, target_size_max_min, target_size_max},
      {"partial_pool_size", options.partial_pool_size,
       2 * (std::uint64_t{options.message_size_max} + head_size_max), partial_pool_size_max},
      {"drain_size_max", options.drain_size_max, 0, drain_size_max_max},
      {"head_timeout_ms", options.head_timeout_ms, timeout_ms_min, timeout_ms_max},
      {"idle_timeout_ms", options.idle_timeout_ms, timeout_ms_min, timeout_ms_max},
      {"body_grace_ms", options.body_grace_ms, timeout_ms_min, timeout_ms_max},
      {"body_rate_min", options.body_rate_min, body_rate_min_min, body_rate_min_max},
      {"stall_timeout_ms", options.stall_timeout_ms, timeout_ms_min, timeout_ms_max},
      {"linger_timeout_ms", options.linger_timeout_ms, timeout_ms_min, timeout_ms_max},
      {"websocket_ping_ms", options.websocket_ping_ms, timeout_ms_min, timeout_ms_max},
      {"stop_timeout_ms", options.stop_timeout_ms, 0, timeout_ms_max},
      {"in_flight_max", options.in_flight_max, in_flight_max_min, in_flight_max_max},
      {"in_flight_per_connection_max", options.in_flight_per_connection_max, 1,
       in_flight_per_connection_max_max},
      {"late_memory_size_max", options.late_memory_size_max, late_memory_size_max_min,
       late_memory_size_max_max},
      {"frame_memory_size_max", options.frame_memory_size_max, frame_memory_size_max_min,
       frame_memory_size_max_max},
      {"call_timeout_ms", options.call_timeout_ms, 0, timeout_ms_max},
      {"heartbeat_ms", options.heartbeat_ms, heartbeat_ms_min, timeout_ms_max},
      {"blocking_threads", options.blocking_threads, 1, blocking_threads_max},
      {"blocking_queue_max", options.blocking_queue_max, 1, blocking_queue_max_max},
      {"drain_delay_ms", options.drain_delay_ms, 0, timeout_ms_max},
  };
  for (const Bounds& bounds : all) {
    if (bounds.value < bounds.least || bounds.value > bounds.most) return sentence(bounds);
  }
  if (!std::has_single_bit(options.receive_buffers)) return "receive_buffers is no power of two";
  constexpr std::uint32_t mode_mask = 0777;
  if ((options.unix_mode & ~mode_mask) != 0) return "unix_mode has more than permissions";
  return {};
}

}  // namespace ringrpc::serve
