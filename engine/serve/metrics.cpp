// GET /metrics: the counters of all workers in Prometheus's text format, version 0.0.4.

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/counters.h"
#include "engine/rpc/errors.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/server_impl.h"

// Defined by programs that count their allocations; absent elsewhere.
extern "C" [[gnu::weak]] std::uint64_t ringrpc_heap_allocations();

namespace ringrpc {
namespace {

using base::Counter;

struct Named {
  std::string_view metric;
  Counter counter;
};

// Counters with a metric of their own. Limits come as one metric with a label, below.
constexpr std::array plain = {
    Named{"ringrpc_bytes_in_total", Counter::bytes_in},
    Named{"ringrpc_bytes_out_total", Counter::bytes_out},
    Named{"ringrpc_bytes_copied_total", Counter::bytes_copied},
    Named{"ringrpc_turns_total", Counter::turns},
    Named{"ringrpc_turns_slow_total", Counter::turns_slow},
    Named{"ringrpc_enters_total", Counter::enters},
    Named{"ringrpc_receives_total", Counter::receives},
    Named{"ringrpc_sends_total", Counter::sends},
    Named{"ringrpc_accepts_total", Counter::accepts},
    Named{"ringrpc_accept_errors_total", Counter::accept_errors},
    Named{"ringrpc_closes_total", Counter::closes},
    Named{"ringrpc_buffers_exhausted_total", Counter::buffers_exhausted},
    Named{"ringrpc_completion_overflows_total", Counter::completion_overflows},
    Named{"ringrpc_stale_completions_total", Counter::stale_completions},
    Named{"ringrpc_requests_total", Counter::requests},
    Named{"ringrpc_bad_heads_total", Counter::bad_heads},
    Named{"ringrpc_bad_media_total", Counter::bad_media},
    Named{"ringrpc_bad_routes_total", Counter::bad_routes},
    Named{"ringrpc_bad_hosts_total", Counter::bad_hosts},
    Named{"ringrpc_upgrades_total", Counter::upgrades},
    Named{"ringrpc_bad_frames_total", Counter::bad_frames},
    Named{"ringrpc_notifications_total", Counter::notifications},
    Named{"ringrpc_batches_total", Counter::batches},
    Named{"ringrpc_stray_responses_total", Counter::stray_responses},
    Named{"ringrpc_exceptions_total", Counter::exceptions},
    Named{"ringrpc_bad_results_total", Counter::bad_results},
    Named{"ringrpc_late_calls_total", Counter::late_calls},
    Named{"ringrpc_late_replies_total", Counter::late_replies},
    Named{"ringrpc_replies_dropped_total", Counter::replies_dropped},
    Named{"ringrpc_calls_unanswered_total", Counter::calls_unanswered},
    Named{"ringrpc_calls_cancelled_total", Counter::calls_cancelled},
    Named{"ringrpc_cancels_unknown_total", Counter::cancels_unknown},
    Named{"ringrpc_streams_total", Counter::streams},
    Named{"ringrpc_events_total", Counter::events},
    Named{"ringrpc_events_dropped_total", Counter::events_dropped},
    Named{"ringrpc_events_coalesced_total", Counter::events_coalesced},
    Named{"ringrpc_bad_events_total", Counter::bad_events},
    Named{"ringrpc_heartbeats_total", Counter::heartbeats},
};
constexpr std::size_t first_limit = static_cast<std::size_t>(Counter::limit_connections);
static_assert(plain.size() == first_limit, "each counter is in exactly one of the two lists");

void line(std::string& text, std::string_view metric, std::string_view labels,
          std::uint64_t value) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), " %" PRIu64 "\n", value);
  text.append(metric).append(labels).append(digits);
}

void type(std::string& text, std::string_view metric, std::string_view kind) {
  text.append("# TYPE ").append(metric).append(" ").append(kind).append("\n");
}

// A label's value: backslash, quote and line feed escaped.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

// Upper bounds of the histogram's buckets, in nanoseconds.
constexpr std::array<std::uint64_t, 12> bounds_ns = {
    1'000,     5'000,      10'000,     50'000,      100'000,       500'000,
    1'000'000, 10'000'000, 50'000'000, 100'000'000, 1'000'000'000, 10'000'000'000};

void add_histogram(std::string& text, const std::deque<serve::WorkerThread>& workers) {
  constexpr std::string_view metric = "ringrpc_call_seconds";
  type(text, metric, "histogram");
  std::uint64_t total = 0;
  double sum = 0;
  for (const serve::WorkerThread& one : workers) {
    if (one.worker == nullptr) continue;
    const base::Histogram& histogram = one.worker->gauges().call_ns;
    total += histogram.count();
    sum += histogram.mean() * static_cast<double>(histogram.count());
  }
  char labels[64];
  for (const std::uint64_t bound : bounds_ns) {
    std::uint64_t below = 0;
    for (const serve::WorkerThread& one : workers) {
      if (one.worker != nullptr) below += one.worker->gauges().call_ns.count_up_to(bound);
    }
    std::snprintf(labels, sizeof(labels), "_bucket{le=\"%g\"}", static_cast<double>(bound) / 1e9);
    line(text, metric, labels, below);
  }
  line(text, metric, "_bucket{le=\"+Inf\"}", total);
  std::snprintf(labels, sizeof(labels), "_sum %.9f\n", sum / 1e9);
  text.append(metric).append(labels);
  line(text, metric, "_count", total);
}

// What all workers have counted at one mounted path.
struct EndpointSums {
  std::vector<std::uint64_t> calls;  // by slot
  std::uint64_t unknown = 0;
  std::array<std::uint64_t, rpc::error_text_count + 1> errors{};

  void add(const rpc::CallStats& stats) {
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += stats.errors(i);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      calls[i] += stats.started(static_cast<std::uint32_t>(i));
    }
    unknown += stats.unknown();
  }
};

void add_calls(std::string& text, const std::vector<serve::Mount>& mounts,
               const std::vector<std::string>& names, const std::vector<EndpointSums>& sums) {
  type(text, "ringrpc_calls_total", "counter");
  for (std::size_t at = 0; at < mounts.size(); ++at) {
    const std::string label = "{endpoint=\"" + escaped(mounts[at].path) + "\",method=\"";
    for (std::size_t i = 0; i < names.size(); ++i) {
      line(text, "ringrpc_calls_total", label + escaped(names[i]) + "\"}", sums[at].calls[i]);
    }
    line(text, "ringrpc_calls_total", label + "\"}", sums[at].unknown);
  }
}

void add_errors(std::string& text, const std::vector<serve::Mount>& mounts,
                const std::vector<EndpointSums>& sums) {
  type(text, "ringrpc_errors_total", "counter");
  for (std::size_t at = 0; at < mounts.size(); ++at) {
    const std::string label = "{endpoint=\"" + escaped(mounts[at].path) + "\",code=\"";
    for (std::size_t i = 0; i < sums[at].errors.size(); ++i) {
      const std::string code =
          i < rpc::error_text_count
              ? std::to_string(static_cast<std::int32_t>(rpc::error_texts[i].code))
              : "application";
      line(text, "ringrpc_errors_total", label + code + "\"}", sums[at].errors[i]);
    }
  }
}

struct GaugeSums {
  std::uint64_t connections = 0;
  std::uint64_t buffers_lent = 0;
  std::uint64_t partial_messages = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t large_reply_bytes = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t streams = 0;
  std::uint64_t subscriptions = 0;
  std::uint64_t late_bytes = 0;
  std::uint64_t frame_bytes = 0;
};

GaugeSums sum_gauges(const std::deque<serve::WorkerThread>& workers) {
  GaugeSums sums;
  for (const serve::WorkerThread& one : workers) {
    if (one.worker == nullptr) continue;
    const serve::Gauges& gauges = one.worker->gauges();
    sums.connections += gauges.connections.load(std::memory_order_relaxed);
    sums.buffers_lent += gauges.buffers_lent.load(std::memory_order_relaxed);
    sums.partial_messages += gauges.partial_messages.load(std::memory_order_relaxed);
    sums.partial_bytes += gauges.partial_bytes.load(std::memory_order_relaxed);
    sums.in_flight += gauges.in_flight.load(std::memory_order_relaxed);
    sums.subscriptions += gauges.subscriptions.load(std::memory_order_relaxed);
    sums.streams += gauges.streams.load(std::memory_order_relaxed);
    sums.late_bytes += gauges.late_bytes.load(std::memory_order_relaxed);
    sums.frame_bytes += gauges.frame_bytes.load(std::memory_order_relaxed);
    sums.large_reply_bytes += gauges.large_reply_bytes.load(std::memory_order_relaxed);
  }
  return sums;
}

}  // namespace

std::string Server::Impl::metrics() const {
  std::string text;
  std::array<std::uint64_t, base::counter_count> sums{};
  const std::vector<std::string> names = registry.slot_names();
  std::vector<EndpointSums> endpoint_sums(shared.mounts.size());
  for (EndpointSums& one : endpoint_sums) one.calls.resize(names.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = hub.counters().get(static_cast<Counter>(i));
  }
  for_each_counted([&](const base::Counters& counters, const serve::Endpoints& endpoints) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counters.get(static_cast<Counter>(i));
    for (std::size_t i = 0; i < endpoints.count(); ++i) endpoint_sums[i].add(*endpoints[i].stats);
  });

  add_calls(text, shared.mounts, names, endpoint_sums);
  add_errors(text, shared.mounts, endpoint_sums);
  add_histogram(text, workers);
  for (const Named& named : plain) {
    type(text, named.metric, "counter");
    line(text, named.metric, "", sums[static_cast<std::size_t>(named.counter)]);
  }
  type(text, "ringrpc_limit_hits_total", "counter");
  for (std::size_t i = first_limit; i < sums.size(); ++i) {
    line(text, "ringrpc_limit_hits_total",
         "{limit=\"" + std::string(base::counter_names[i]) + "\"}", sums[i]);
  }
  if (ringrpc_heap_allocations != nullptr) {
    type(text, "ringrpc_heap_allocations_total", "counter");
    line(text, "ringrpc_heap_allocations_total", "", ringrpc_heap_allocations());
  }
  const GaugeSums gauges = sum_gauges(workers);
  for (const auto& [metric, value] :
       {std::pair<std::string_view, std::uint64_t>{"ringrpc_connections", gauges.connections},
        {"ringrpc_in_flight", gauges.in_flight},
        {"ringrpc_streams", gauges.streams},
        {"ringrpc_subscriptions", gauges.subscriptions},
        {"ringrpc_buffers_lent", gauges.buffers_lent},
        {"ringrpc_partial_messages", gauges.partial_messages}}) {
    type(text, metric, "gauge");
    line(text, metric, "", value);
  }
  type(text, "ringrpc_memory_bytes", "gauge");
  for (const serve::PlanItem& item : serve::memory_plan(worker_options(), worker_count)) {
    std::uint64_t bytes = item.bytes;
    if (item.pool == "partial_messages") bytes = gauges.partial_bytes;
    if (item.pool == "late_memory") bytes = gauges.late_bytes;
    if (item.pool == "frames") bytes = gauges.frame_bytes;
    if (item.pool == "large_replies") bytes = gauges.large_reply_bytes;
    line(text, "ringrpc_memory_bytes", "{pool=\"" + std::string(item.pool) + "\"}", bytes);
  }
  return text;
}

std::string Server::calls_json() const {
  const std::vector<std::string> names = impl_->registry.slot_names();
  std::vector<std::uint64_t> started(names.size(), 0);
  impl_->for_each_counted([&](const base::Counters&, const serve::Endpoints& endpoints) {
    for (std::size_t at = 0; at < endpoints.count(); ++at) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        started[i] += endpoints[at].stats->started(static_cast<std::uint32_t>(i));
      }
    }
  });
  std::string text(names.size() * 64 + 64, '\0');
  for (;;) {
    JsonWriter writer(text.data(), text.data() + text.size());
    writer.begin_object();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (started[i] == 0) continue;
      writer.member(names[i]);
      writer.unsigned_integer(started[i]);
    }
    writer.end_object();
    if (!writer.overflowed()) return std::string(writer.view());
    text.resize(text.size() * 2);
  }
}

}  // namespace ringrpc
