#include "engine/serve/memory_plan.h"

#include <cstdio>

#include "engine/rpc/answer.h"
#include "engine/rpc/call_stats.h"
#include "engine/serve/connection.h"
#include "engine/serve/late_desk.h"
#include "engine/serve/outbox.h"

namespace ringrpc::serve {
namespace {

// The program itself: code, libraries, the stacks of its threads.
constexpr std::size_t program_size = 8u << 20;
// One worker's ring: 512 submissions of 64 bytes, 4,096 completions of 16, and their heads.
constexpr std::size_t ring_size = 192u << 10;
// What io/ keeps for each socket beside the connection: slot and timer.
constexpr std::size_t socket_state_size = 12 + 16;
}  // namespace

std::vector<PlanItem> memory_plan(const WorkerOptions& options, std::uint32_t workers) {
  const std::size_t n = workers;
  const std::size_t index =
      rpc::Answerer::memory(options.message_size_max, options.batch_length_max) -
      options.message_size_max;
  return {
      {"program", program_size, "code, libraries, stacks"},
      {"rings", n * ring_size, "submissions and completions"},
      {"receive_buffers",
       n * options.receive_buffers * (options.receive_buffer_size + limits::receive_buffer_gap),
       "bytes that the kernel delivers"},
      {"connections",
       n * (std::size_t{options.connections_max} + options.refusals_max) *
           (sizeof(Connection) + socket_state_size),
       "one slot for each connection"},
      {"partial_messages", n * options.partial_pool_size, "requests that came in pieces"},
      {"index", n * index, "4 bytes for each byte of the largest message"},
      {"scratch", n * options.message_size_max, "strings with escapes, unescaped"},
      {"reply_slabs", n * std::size_t{options.reply_slabs} * options.reply_slab_size,
       "replies until they are sent"},
      {"reply_segments", n * options.segments * sizeof(Segment), "runs of reply bytes that wait"},
      {"large_replies", n * std::size_t{options.large_replies_size_max},
       "replies that fit no slab"},
      {"late_calls",
       n * (options.in_flight_max * LateDesk::call_size +
            (std::size_t{options.connections_max} + options.refusals_max) *
                LateDesk::connection_size),
       "calls that are answered later"},
      {"subscriptions", n * std::size_t{limits::subscriptions_max} * sizeof(Subscription),
       "who listens to which topic"},
      {"late_memory", n * std::size_t{options.late_memory_size_max},
       "what such calls hold beyond that: long params, replies until they are sent"},
      {"frames", n * std::size_t{options.frame_memory_size_max}, "coroutines that wait"},
      {"counters", n * (limits::methods_max * sizeof(std::uint64_t) + sizeof(base::Histogram)),
       "one for each method, and the latencies"},
  };
}

std::string format_plan(const std::vector<PlanItem>& plan, std::uint32_t workers) {
  std::string text = "memory plan for " + std::to_string(workers) +
                     (workers == 1 ? " worker (bytes)\n" : " workers (bytes)\n");
  std::size_t sum = 0;
  char line[160];
  for (const PlanItem& item : plan) {
    sum += item.bytes;  // who: item.pool
    std::snprintf(line, sizeof(line), "  %-18.*s %14zu  %.*s\n", static_cast<int>(item.pool.size()),
                  item.pool.data(), item.bytes, static_cast<int>(item.reason.size()),
                  item.reason.data());
    text += line;
  }
  std::snprintf(line, sizeof(line), "  %-18s %14zu\n", "total", sum);
  return text + line;
}

}  // namespace ringrpc::serve
