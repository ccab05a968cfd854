#pragma once

// What the calls of one worker that are answered later are made with.

#include <ringrpc/call.h>
#include <ringrpc/stream.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/counters.h"

namespace ringrpc::rpc {

struct LateCall;
struct TopicName;

// How a call's peer listens to a topic from now on.
enum class Subscribed : std::uint8_t {
  connection,  // as a connection
  stream,      // by the call's own event stream
  already,     // it did before
  full         // not at all: there are too many
};

// Where blocking handlers run. Thread: any.
struct BlockingDoor {
  void* state = nullptr;
  // Returns: false when there is no room for another job.
  bool (*submit)(void* state, LateCall& call) = nullptr;
};

// Where descriptors are waited for, of one worker: until one is ready, which LateCalls::is_ready()
// is told, or until the end. Thread: the worker's.
struct ReadinessDoor {
  void* state = nullptr;
  void (*begin)(void* state, std::uint32_t place, std::uint32_t ticket, int fd,
                Ready events) = nullptr;
  void (*end)(void* state, std::uint32_t place, std::uint32_t ticket) = nullptr;
};

struct LateOptions {
  std::uint32_t calls_max = 0;
  std::uint32_t calls_per_connection_max = 0;
  std::uint32_t connections_max = 0;
  std::size_t memory_max = 0;
  std::size_t frame_memory_max = 0;  // of coroutines
  std::uint32_t reply_size_max = 0;
  std::uint32_t timeout_ms = 0;  // of calls whose method has none; 0: none
  BlockingDoor blocking = {};
  ReadinessDoor readiness = {};
  // Called by a push to an empty queue. Thread: any.
  void (*wake)(void* waker) = nullptr;
  void* waker = nullptr;
  base::Counters* counters = nullptr;  // of the worker; not used after close()
  // Who listens to topics; null where nobody can. Thread: the worker's.
  void* desk = nullptr;
  Subscribed (*subscribe)(void* desk, LateCall& call, const TopicName& topic,
                          WhenFull when_full) = nullptr;
  bool (*unsubscribe)(void* desk, LateCall& call, const TopicName& topic) = nullptr;
  // The bytes of the head behind Head's source, and how a field is found in a copy of them.
  std::string_view (*head_text)(const void* source) = nullptr;
  // The clock, for an owner who does not call set_time() himself.
  std::uint64_t (*clock)() = nullptr;
  // Whether a request with that head takes an event stream; null where nobody does.
  bool (*accepts_events)(const void* source) = nullptr;
  Head::Find find_in_text = nullptr;  // its source is a std::string_view
};

}  // namespace ringrpc::rpc
