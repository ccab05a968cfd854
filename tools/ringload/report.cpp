#include "tools/ringload/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace ringload {

namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& out, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  out += line;
}

// Of a count that may be 0.
double ratio(double amount, std::uint64_t count) {
  return count == 0 ? 0.0 : amount / static_cast<double>(count);
}

struct Share {
  double total_us = 0;
  double user_us = 0;
  double system_us = 0;
};

// The CPU time of one request. The ticks say only how the exact total is divided.
Share share_of(const CpuTime& time, std::uint64_t requests) {
  Share share;
  const double total = static_cast<double>(time.total_ns) / 1000.0;
  share.total_us = ratio(total, requests);
  const std::uint64_t ticks = time.user_ns + time.system_ns;
  share.user_us = share.total_us * ratio(static_cast<double>(time.user_ns), ticks);
  share.system_us = share.total_us * ratio(static_cast<double>(time.system_ns), ticks);
  return share;
}

double per_second(const Window& window) {
  return ratio(static_cast<double>(window.answered) * 1e9, window.ns);
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

unsigned long long number(std::uint64_t value) { return value; }

void add(CpuTime& sum, const CpuTime& part) {
  sum.total_ns += part.total_ns;
  sum.user_ns += part.user_ns;
  sum.system_ns += part.system_ns;
  sum.known = sum.known || part.known;
}

}  // namespace

Total add_up(const std::vector<const Outcome*>& outcomes, ringrpc::base::Histogram& latency) {
  Total total;
  for (const Outcome* const outcome : outcomes) {
    const Window& window = outcome->window;
    latency.merge(outcome->latency);
    total.window.ns = std::max(total.window.ns, window.ns);
    total.window.answered += window.answered;
    total.window.bytes_in += window.bytes_in;
    total.window.bytes_out += window.bytes_out;
    total.window.enters += window.enters;
    total.window.receives += window.receives;
    total.window.sends += window.sends;
    add(total.window.own, window.own);
    add(total.window.server, window.server);
    total.replies.replies += outcome->replies.replies;
    total.replies.status_errors += outcome->replies.status_errors;
    total.replies.rpc_errors += outcome->replies.rpc_errors;
    total.replies.bodies_checked += outcome->replies.bodies_checked;
    total.replies.bodies_unchecked += outcome->replies.bodies_unchecked;
    total.closed += outcome->closed;
    total.malformed += outcome->malformed;
    total.lost += outcome->lost;
    total.stalled = total.stalled || outcome->stalled;
  }
  return total;
}

bool all_good(const Total& total) {
  return total.replies.replies != 0 && total.replies.status_errors == 0 &&
         total.replies.rpc_errors == 0 && total.closed == 0 && total.malformed == 0 &&
         total.lost == 0 && !total.stalled;
}

std::string text_report(const Options& options, const Total& total,
                        const ringrpc::base::Histogram& latency) {
  const Window& window = total.window;
  const ReplyCounts& replies = total.replies;
  std::string out;
  append(out, "%s %.200s: %u connections, depth %u, %u thread%s\n", options.method.c_str(),
         options.url_text.c_str(), options.connections, options.depth, options.threads,
         options.threads == 1 ? "" : "s");
  append(out, "  answered   %llu in %.3f s, %.0f/s\n", number(window.answered),
         static_cast<double>(window.ns) / 1e9, per_second(window));
  append(out, "  latency us p50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  max %.1f\n",
         us(latency.percentile(50)), us(latency.percentile(90)), us(latency.percentile(99)),
         us(latency.percentile(99.9)), us(latency.max()));
  append(out, "  errors     status %llu  json-rpc %llu  malformed %llu  closed %llu  lost %llu%s\n",
         number(replies.status_errors), number(replies.rpc_errors), number(total.malformed),
         number(total.closed), number(total.lost),
         total.stalled ? "  (gave up: no reply within the timeout)" : "");
  append(out, "  checked    %llu bodies of %llu replies\n", number(replies.bodies_checked),
         number(replies.replies));
  append(out, "  bytes      in %llu  out %llu\n", number(window.bytes_in),
         number(window.bytes_out));
  const Share own = share_of(window.own, window.answered);
  append(out,
         "  own        %.3f us of CPU for each request (user %.3f, system %.3f), %.3f enters\n",
         own.total_us, own.user_us, own.system_us,
         ratio(static_cast<double>(window.enters), window.answered));
  if (window.server.known) {
    const Share server = share_of(window.server, window.answered);
    append(out, "  server     %.3f us of CPU for each request (user %.3f, system %.3f)\n",
           server.total_us, server.user_us, server.system_us);
  }
  return out;
}

std::string json_report(const Options& options, const Total& total,
                        const ringrpc::base::Histogram& latency) {
  const Window& window = total.window;
  const ReplyCounts& replies = total.replies;
  std::string out;
  append(out, "{\"connections\":%u,\"depth\":%u,\"threads\":%u,\"seconds\":%.6f,",
         options.connections, options.depth, options.threads, static_cast<double>(window.ns) / 1e9);
  append(out, "\"answered\":%llu,\"per_second\":%.1f,", number(window.answered),
         per_second(window));
  append(out,
         "\"latency_us\":{\"mean\":%.3f,\"p50\":%.3f,\"p90\":%.3f,\"p99\":%.3f,\"p99.9\":%.3f,"
         "\"max\":%.3f},",
         latency.mean() / 1000.0, us(latency.percentile(50)), us(latency.percentile(90)),
         us(latency.percentile(99)), us(latency.percentile(99.9)), us(latency.max()));
  append(out,
         "\"errors\":{\"status\":%llu,\"rpc\":%llu,\"malformed\":%llu,\"closed\":%llu,"
         "\"lost\":%llu,\"stalled\":%s},",
         number(replies.status_errors), number(replies.rpc_errors), number(total.malformed),
         number(total.closed), number(total.lost), total.stalled ? "true" : "false");
  append(out, "\"replies\":%llu,\"bodies_checked\":%llu,\"bytes_in\":%llu,\"bytes_out\":%llu,",
         number(replies.replies), number(replies.bodies_checked), number(window.bytes_in),
         number(window.bytes_out));
  append(out, "\"enters\":%llu,\"receives\":%llu,\"sends\":%llu,", number(window.enters),
         number(window.receives), number(window.sends));
  const Share own = share_of(window.own, window.answered);
  append(out, "\"own_cpu_us\":{\"total\":%.5f,\"user\":%.5f,\"system\":%.5f}", own.total_us,
         own.user_us, own.system_us);
  if (window.server.known) {
    const Share server = share_of(window.server, window.answered);
    append(out, ",\"server_cpu_us\":{\"total\":%.5f,\"user\":%.5f,\"system\":%.5f}",
           server.total_us, server.user_us, server.system_us);
  }
  out += "}\n";
  return out;
}

}  // namespace ringload
