#pragma once

// What a backend is started with. Both backends and the fake kernel of the tests take the same.

#include <ringrpc/limits.h>

#include <cstdint>
#include <span>

#include "engine/base/counters.h"

namespace ringrpc::io {

// A backend counts enters, buffers_exhausted, completion_overflows and accept_errors. What an Event
// tells (receives, sends, accepts, closes, bytes) is counted by whoever takes the events.
struct IoOptions {
  // Listening sockets. They belong to the backend once start() has succeeded, and to the caller
  // while it has not, so that another backend can be tried with them.
  std::span<const int> listeners = {};
  // A connected socket that is served as if it had been accepted by the listener behind the last
  // one; -1: none. It belongs to the backend as the listeners do.
  int adopted = -1;
  // Sockets open at once. A backend accepts no further peer above it: they wait in the kernel's
  // listen queue. The worker asks for some more than it serves, to refuse them with an answer.
  std::uint32_t connections_max = limits::connections_max;
  std::uint32_t receive_buffers = limits::receive_buffers;  // a power of two
  std::uint32_t receive_buffer_size = limits::receive_buffer_size;
  // Descriptors that are polled at once. 24 bytes for each that ever was.
  std::uint32_t polls_max = 0;
  // Time to poll for completions before sleeping. Buys wake-up latency with CPU time.
  std::uint32_t spin_us = 0;
  base::Counters* counters = nullptr;  // required; outlives the backend
};

// The most bytes that one send takes; the rest is for the next one. A slow peer's progress becomes
// visible each time that so many bytes are taken, which is what the stall timeout looks at.
inline constexpr std::uint32_t send_size_max = 256u << 10;

// Accepts that failed for want of memory or descriptors are tried again after this time, doubled at
// each further failure up to the maximum.
inline constexpr std::uint32_t accept_backoff_ms_min = 1;
inline constexpr std::uint32_t accept_backoff_ms_max = 128;

}  // namespace ringrpc::io
