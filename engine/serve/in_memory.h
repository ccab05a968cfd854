#pragma once

// The whole engine without sockets, for Server::call() and call_http(): any number of threads, each
// call in a context of its own.

#include <poll.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/counters.h"
#include "engine/io/event.h"
#include "engine/rpc/answer.h"
#include "engine/rpc/call_stats.h"
#include "engine/rpc/table.h"
#include "engine/serve/endpoints.h"
#include "engine/serve/framing.h"
#include "engine/serve/outbox.h"
#include "engine/serve/partial_pool.h"
#include "engine/serve/responder.h"
#include "engine/serve/worker_options.h"

namespace ringrpc::serve {

// What one thread needs for one call at a time.
struct InMemoryContext {
  InMemoryContext(const WorkerOptions& options, WorkerShared& shared);
  ~InMemoryContext();
  InMemoryContext(const InMemoryContext&) = delete;
  InMemoryContext& operator=(const InMemoryContext&) = delete;

  // Sleeps until a call is answered, a descriptor is ready, or that time comes; 0: whenever that
  // is.
  void wait_until(std::uint64_t due_ns);
  void poll_until(std::uint64_t due_ns);
  void wake();

  base::Counters counters;
  Endpoints endpoints;
  rpc::Answerer answerer;
  PartialPool partials;
  Outbox outbox;
  Responder responder;
  Framer framer;
  Request request;
  std::string padded;  // copies of texts that came without padding
  base::Epochs::Reader& reader;
  rpc::LateCalls* late = nullptr;
  std::mutex late_mutex;
  std::condition_variable late_changed;
  // Descriptors that coroutines wait for, each with its name; the first is wake_fd, which is there
  // from the first of the others on. late_mutex guards its making.
  std::vector<pollfd> polled;
  std::vector<io::Handle> polled_names;
  int wake_fd = -1;
  // Acquire when claimed, release when given back: the next thread sees what this one did.
  std::atomic<bool> busy{false};
};

// Thread: any.  Cost: one atomic exchange and one fence for each call, no allocation after the
// first.
class InMemory {
 public:
  InMemory(const WorkerOptions& options, WorkerShared& shared)
      : options_(options), shared_(shared) {}
  ~InMemory();
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

  // Requires: `padded` says that limits::padding readable bytes stand behind the text.
  void call(std::string_view json, bool padded, std::string& reply);
  void call_http(std::string_view bytes, bool padded, std::string& response);

  // Calls `visit` for each context that exists. Thread: any.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& slot : contexts_) {
      const InMemoryContext* context = slot.load(std::memory_order_acquire);
      if (context != nullptr) visit(*context);
    }
  }

 private:
  // More threads than this wait for each other.
  static constexpr std::size_t contexts_max = 64;

  InMemoryContext& claim();
  InMemoryContext& claim_slow();
  static void give_back(InMemoryContext& context);
  static void catch_up(InMemoryContext& context);
  static void take_late(InMemoryContext& context, rpc::Message* message, JsonWriter* out);
  static void finish_late(InMemoryContext& context, rpc::Message& message, JsonWriter& out);
  InMemoryContext* make(std::size_t index);
  static std::string_view padded_copy(InMemoryContext& context, std::string_view text);

  const WorkerOptions options_;
  WorkerShared& shared_;
  std::mutex mutex_;
  // Release in make(), acquire in claim() and for_each().
  std::array<std::atomic<InMemoryContext*>, contexts_max> contexts_ = {};
};

}  // namespace ringrpc::serve
