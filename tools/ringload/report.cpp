#include "tools/ringload/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "tools/common/json_text.h"
#include "tools/ringload/spectrum.h"

namespace ringload {

namespace {

using ringrpc::base::Histogram;
using Counts = std::map<std::int64_t, std::uint64_t>;

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

void add(Counts& sum, const Counts& part) {
  for (const auto& [key, count] : part) sum[key] += count;
}

void add(Window& sum, const Window& part) {
  sum.ns = std::max(sum.ns, part.ns);
  sum.answered += part.answered;
  sum.bytes_in += part.bytes_in;
  sum.bytes_out += part.bytes_out;
  sum.enters += part.enters;
  sum.receives += part.receives;
  sum.sends += part.sends;
  sum.late += part.late;
  sum.late_blocked += part.late_blocked;
  sum.late_max_ns = std::max(sum.late_max_ns, part.late_max_ns);
  add(sum.own, part.own);
  add(sum.server, part.server);
}

void add(ReplyCounts& sum, const ReplyCounts& part) {
  sum.replies += part.replies;
  sum.status_errors += part.status_errors;
  sum.rpc_errors += part.rpc_errors;
  sum.bodies_checked += part.bodies_checked;
  sum.bodies_unchecked += part.bodies_unchecked;
  sum.full_checks += part.full_checks;
  sum.wrong += part.wrong;
}

std::string json_counts(const Counts& counts) {
  std::string out = "{";
  for (const auto& [key, count] : counts) {
    append(out, "%s\"%lld\":%llu", out.size() == 1 ? "" : ",", static_cast<long long>(key),
           number(count));
  }
  return out + "}";
}

void append_counts(std::string& out, const char* name, const Counts& counts) {
  if (counts.empty()) return;
  out += name;
  for (const auto& [key, count] : counts) {
    append(out, "  %lld: %llu", static_cast<long long>(key), number(count));
  }
  out += '\n';
}

std::string loop_text(const Options& options) {
  std::string out;
  if (options.rate.ramp_s > 0) {
    append(out, ", open loop, %g to %g/s in %g s", options.rate.from, options.rate.to,
           options.rate.ramp_s);
  } else if (options.open_loop) {
    append(out, ", open loop, %g/s", options.rate.to);
  }
  if (options.churn != 0) append(out, ", %u requests each", options.churn);
  if (options.batch != 0) append(out, ", batches of %u", options.batch);
  return out;
}

void append_errors(std::string& out, const Total& total) {
  const ReplyCounts& replies = total.replies;
  append(out, "  errors     status %llu  json-rpc %llu  wrong %llu  malformed %llu  closed %llu",
         number(replies.status_errors), number(replies.rpc_errors), number(replies.wrong),
         number(total.malformed), number(total.closed));
  append(out, "  reset %llu  timeout %llu  connect %llu  lost %llu  unsent %llu%s\n",
         number(total.reset), number(total.timeouts), number(total.unconnected), number(total.lost),
         number(total.unsent), total.stalled ? "  (gave up: no reply within the timeout)" : "");
  append_counts(out, "  by status ", total.kinds.by_status);
  append_counts(out, "  by code   ", total.kinds.by_code);
  const Outside& outside = total.outside;
  if (outside.replies + outside.errors == 0) return;
  append(out, "  outside    %llu replies in the warm-up and after the end, %llu errors\n",
         number(outside.replies), number(outside.errors));
}

}  // namespace

Total add_up(const std::vector<const Outcome*>& outcomes, Durations& durations) {
  Total total;
  for (const Outcome* const outcome : outcomes) {
    durations.latency.merge(outcome->latency);
    durations.connecting.merge(outcome->connecting);
    add(total.window, outcome->window);
    add(total.replies, outcome->replies);
    add(total.kinds.by_status, outcome->kinds.by_status);
    add(total.kinds.by_code, outcome->kinds.by_code);
    if (total.kinds.first.empty()) total.kinds.first = outcome->kinds.first;
    total.outside.replies += outcome->outside.replies;
    total.outside.errors += outcome->outside.errors;
    total.connects += outcome->connects;
    total.unconnected += outcome->unconnected;
    total.closed += outcome->closed;
    total.reset += outcome->reset;
    total.timeouts += outcome->timeouts;
    total.malformed += outcome->malformed;
    total.lost += outcome->lost;
    total.unsent += outcome->unsent;
    total.stalled = total.stalled || outcome->stalled;
  }
  total.reconnects = durations.connecting.count();
  return total;
}

bool all_good(const Total& total) {
  const std::uint64_t bad = total.replies.errors() + total.outside.errors + total.unconnected +
                            total.closed + total.reset + total.timeouts + total.malformed +
                            total.lost + total.unsent;
  return total.replies.replies + total.outside.replies != 0 && bad == 0 && !total.stalled;
}

std::string text_report(const Options& options, const Total& total, const Durations& durations) {
  const Window& window = total.window;
  const Histogram& latency = durations.latency;
  std::string out;
  append(out, "%s %.200s: %u connections, depth %u, %u thread%s%s\n",
         options.url.lines ? "lines to" : options.method.c_str(), options.url_text.c_str(),
         options.connections, options.depth, options.threads, options.threads == 1 ? "" : "s",
         loop_text(options).c_str());
  append(out, "  answered   %llu in %.3f s, %.0f/s", number(window.answered),
         static_cast<double>(window.ns) / 1e9, per_second(window));
  if (options.batch != 0) append(out, ", %.0f calls/s", per_second(window) * options.batch);
  out += "\n  latency us";
  if (options.open_loop) append(out, " of %llu requests ", number(latency.count()));
  append(out, " p50 %.1f  p90 %.1f  p99 %.1f  p99.9 %.1f  p99.99 %.1f  max %.1f\n",
         us(latency.percentile(50)), us(latency.percentile(90)), us(latency.percentile(99)),
         us(latency.percentile(99.9)), us(latency.percentile(99.99)), us(latency.max()));
  if (options.open_loop) {
    append(out, "  late       %llu left over 1 ms late, %llu of them for want of a connection; ",
           number(window.late), number(window.late_blocked));
    append(out, "the latest by %.1f us\n", us(window.late_max_ns));
  }
  append_errors(out, total);
  append(out, "  checked    %llu bodies of %llu replies", number(total.replies.bodies_checked),
         number(total.replies.replies));
  if (options.check_every != 0) append(out, ", %llu in full", number(total.replies.full_checks));
  append(out, "\n  bytes      in %llu  out %llu\n", number(window.bytes_in),
         number(window.bytes_out));
  if (options.churn != 0) {
    append(out, "  connects   %llu, us p50 %.1f  p99 %.1f  max %.1f\n", number(total.connects),
           us(durations.connecting.percentile(50)), us(durations.connecting.percentile(99)),
           us(durations.connecting.max()));
  }
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

namespace {

void append_json_errors(std::string& out, const Total& total) {
  const ReplyCounts& replies = total.replies;
  append(out, "\"errors\":{\"status\":%llu,\"rpc\":%llu,\"wrong\":%llu,\"malformed\":%llu,",
         number(replies.status_errors), number(replies.rpc_errors), number(replies.wrong),
         number(total.malformed));
  append(out, "\"closed\":%llu,\"reset\":%llu,\"timeout\":%llu,\"connect\":%llu,\"lost\":%llu,",
         number(total.closed), number(total.reset), number(total.timeouts),
         number(total.unconnected), number(total.lost));
  append(out, "\"unsent\":%llu,\"stalled\":%s,", number(total.unsent),
         total.stalled ? "true" : "false");
  out += "\"by_status\":" + json_counts(total.kinds.by_status);
  out += ",\"by_code\":" + json_counts(total.kinds.by_code);
  if (!total.kinds.first.empty()) out += ",\"first\":" + tools::quoted(total.kinds.first);
  out += "},";
  append(out, "\"outside\":{\"replies\":%llu,\"errors\":%llu},", number(total.outside.replies),
         number(total.outside.errors));
}

void append_json_latency(std::string& out, const Histogram& latency) {
  append(out, "\"latency_us\":{\"mean\":%.3f,\"stddev\":%.3f,\"min\":%.3f,",
         latency.mean() / 1000.0, deviation(latency) / 1000.0, us(latency.min()));
  for (const char* const percent : {"50", "75", "90", "99", "99.9", "99.99", "99.999"}) {
    append(out, "\"p%s\":%.3f,", percent, us(latency.percentile(std::stod(percent))));
  }
  append(out, "\"max\":%.3f,\"count\":%llu},", us(latency.max()), number(latency.count()));
}

void append_json_cpu(std::string& out, const char* name, const Share& share) {
  append(out, ",\"%s\":{\"total\":%.5f,\"user\":%.5f,\"system\":%.5f}", name, share.total_us,
         share.user_us, share.system_us);
}

}  // namespace

std::string json_report(const Options& options, const Total& total, const Durations& durations) {
  const Window& window = total.window;
  std::string out;
  append(out, "{\"connections\":%u,\"depth\":%u,\"threads\":%u,\"batch\":%u,\"churn\":%u,",
         options.connections, options.depth, options.threads, options.batch, options.churn);
  if (options.open_loop) {
    append(out, "\"rate\":{\"from\":%g,\"to\":%g,\"ramp_seconds\":%g},", options.rate.from,
           options.rate.to, options.rate.ramp_s);
    append(out, "\"late\":{\"count\":%llu,\"blocked\":%llu,\"after_us\":%.0f,\"max_us\":%.3f},",
           number(window.late), number(window.late_blocked), us(late_after_ns),
           us(window.late_max_ns));
  }
  append(out, "\"seconds\":%.6f,\"answered\":%llu,\"per_second\":%.1f,",
         static_cast<double>(window.ns) / 1e9, number(window.answered), per_second(window));
  if (options.batch != 0) {
    append(out, "\"calls_per_second\":%.1f,", per_second(window) * options.batch);
  }
  append_json_latency(out, durations.latency);
  append(out, "\"connects\":{\"count\":%llu,\"again\":%llu,\"p50_us\":%.3f,\"max_us\":%.3f},",
         number(total.connects), number(total.reconnects), us(durations.connecting.percentile(50)),
         us(durations.connecting.max()));
  append_json_errors(out, total);
  append(out, "\"replies\":%llu,\"bodies_checked\":%llu,\"full_checks\":%llu,",
         number(total.replies.replies), number(total.replies.bodies_checked),
         number(total.replies.full_checks));
  append(out, "\"bytes_in\":%llu,\"bytes_out\":%llu,", number(window.bytes_in),
         number(window.bytes_out));
  append(out, "\"enters\":%llu,\"receives\":%llu,\"sends\":%llu", number(window.enters),
         number(window.receives), number(window.sends));
  append_json_cpu(out, "own_cpu_us", share_of(window.own, window.answered));
  if (window.server.known) {
    append_json_cpu(out, "server_cpu_us", share_of(window.server, window.answered));
  }
  return out + "}\n";
}

}  // namespace ringload
