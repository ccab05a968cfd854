#pragma once

// What a server is made with.

#include <ringrpc/limits.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringrpc {

enum class IoChoice : std::uint8_t { automatic, uring, epoll };

// Sizes are bytes. Each limit is explained, and bounded, in limits.h.
struct Options {
  // [http://]HOST:PORT or unix-http:PATH for HTTP and WebSocket, tcp://HOST:PORT or unix:PATH for
  // lines; empty for none.
  std::string listen = "127.0.0.1:8080";
  std::vector<std::string> more_listeners = {};
  std::uint32_t unix_mode = 0600;  // the permissions of Unix sockets
  bool stdio = false;    // lines of JSON on stdin and stdout, too; descriptor 1 becomes stderr
  unsigned workers = 0;  // 0: CPUs of the affinity mask, capped by the cgroup quota
  IoChoice io = IoChoice::automatic;  // io_uring, else epoll
  unsigned spin_us = 0;               // how long a worker polls before it sleeps
  bool pin = true;                    // each worker stays on one CPU
  std::uint32_t connections_max = limits::connections_max;  // of one worker
  std::uint32_t receive_buffers = limits::receive_buffers;  // of one worker; a power of two
  std::uint32_t message_size_max = limits::message_size_max;
  std::uint32_t reply_size_max = limits::reply_size_max;
  std::uint32_t batch_length_max = limits::batch_length_max;
  std::uint32_t head_size_max = limits::head_size_max;
  std::uint32_t head_fields_max = limits::head_fields_max;
  std::uint32_t target_size_max = limits::target_size_max;
  std::uint32_t partial_pool_size = limits::partial_pool_size;  // of one worker
  std::uint32_t drain_size_max = limits::drain_size_max;
  std::uint32_t head_timeout_ms = limits::head_timeout_ms;
  std::uint32_t idle_timeout_ms = limits::idle_timeout_ms;
  std::uint32_t body_grace_ms = limits::body_grace_ms;
  std::uint32_t body_rate_min = limits::body_rate_min;  // bytes a second, after the grace
  std::uint32_t stall_timeout_ms = limits::stall_timeout_ms;
  std::uint32_t linger_timeout_ms = limits::linger_timeout_ms;
  std::uint32_t websocket_ping_ms = limits::websocket_ping_ms;
  std::uint32_t stop_timeout_ms = limits::stop_timeout_ms;
  std::uint32_t in_flight_max = limits::in_flight_max;  // of one worker
  std::uint32_t in_flight_per_connection_max = limits::in_flight_per_connection_max;
  std::uint32_t late_memory_size_max = limits::late_memory_size_max;    // of one worker
  std::uint32_t frame_memory_size_max = limits::frame_memory_size_max;  // of one worker
  std::uint32_t call_timeout_ms = limits::call_timeout_ms;  // of calls answered later; 0: none
  std::uint32_t heartbeat_ms = limits::heartbeat_ms;        // of silent event streams
  std::uint32_t blocking_threads = limits::blocking_threads;
  std::uint32_t blocking_queue_max = limits::blocking_queue_max;
  std::uint32_t drain_delay_ms = limits::drain_delay_ms;  // the stop signal to the end of accepting
  std::vector<std::string> hosts = {};      // Host names allowed beside the loopback ones
  std::vector<std::string> origins = {};    // Origins allowed beside the loopback ones
  std::string port_file = {};               // written, complete, once the server serves
  std::string name = "ringrpc";             // begins the start line
  std::string allocator = "system malloc";  // named in the start line
};

// Returns: the HOST:PORT of a listener, as Options spell it, for HTTP on TCP; empty for others.
std::string http_address(std::string_view listener);

struct MethodOptions {
  bool strict = false;           // unknown members of params are -32602
  std::uint32_t timeout_ms = 0;  // of calls that are answered later; 0: Options::call_timeout_ms
};

}  // namespace ringrpc
