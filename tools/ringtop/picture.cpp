#include "tools/ringtop/picture.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace ringtop {
namespace {

// Only these grow for ever; a _sum may lose its last digits.
bool is_counter(std::string_view metric) {
  return metric.ends_with("_total") || metric.ends_with("_bucket") || metric.ends_with("_count");
}

class Comparison {
 public:
  Comparison(const Samples* before, const Samples& after, double seconds)
      : before_(before), after_(after), seconds_(seconds) {}

  [[nodiscard]] Rate rate(double before, double after) const {
    const bool known = before_ != nullptr && seconds_ > 0;
    return Rate{known ? std::max(0.0, after - before) / seconds_ : 0, after};
  }

  // All samples of the metric together.
  [[nodiscard]] Rate of(std::string_view metric) const {
    return rate(before_ == nullptr ? 0 : sum_of(*before_, metric), sum_of(after_, metric));
  }

  [[nodiscard]] Rate of(std::initializer_list<std::string_view> metrics) const {
    Rate sum;
    for (const std::string_view metric : metrics) {
      const Rate one = of(metric);
      sum.per_s += one.per_s;
      sum.total += one.total;
    }
    return sum;
  }

  // By one label, without those that are zero, the largest first.
  [[nodiscard]] std::vector<NamedRate> by(std::string_view metric, std::string_view label) const {
    std::map<std::string, std::pair<double, double>, std::less<>> sums;  // before and after
    if (before_ != nullptr) {
      for_each(*before_, metric,
               [&](const Sample& one) { sums[std::string(one.label(label))].first += one.value; });
    }
    for_each(after_, metric,
             [&](const Sample& one) { sums[std::string(one.label(label))].second += one.value; });
    std::vector<NamedRate> list;
    for (const auto& [name, sum] : sums) {
      if (sum.second > 0) list.push_back(NamedRate{name, rate(sum.first, sum.second)});
    }
    // Stable: what is equal stays in the order of names.
    std::stable_sort(list.begin(), list.end(), [](const NamedRate& a, const NamedRate& b) {
      if (a.rate.per_s != b.rate.per_s) return a.rate.per_s > b.rate.per_s;
      return a.rate.total > b.rate.total;
    });
    return list;
  }

 private:
  const Samples* before_;
  const Samples& after_;
  double seconds_;
};

double bound_of(const Sample& bucket) {
  std::string_view text = bucket.label("le");
  if (text.starts_with('+')) text.remove_prefix(1);
  double bound = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), bound);
  return bound;
}

// Bounds and cumulative counts, in the order of the bounds.
using Buckets = std::map<double, double>;

Buckets buckets_of(const Samples& samples, std::string_view histogram) {
  Buckets buckets;
  for_each(samples, std::string(histogram) + "_bucket", [&](const Sample& one) {
    const double bound = bound_of(one);
    if (!std::isnan(bound)) buckets[bound] += one.value;
  });
  return buckets;
}

}  // namespace

bool went_backwards(const Samples& before, const Samples& after) {
  return std::any_of(before.begin(), before.end(), [&](const auto& one) {
    if (!is_counter(one.second.metric)) return false;
    const auto found = after.find(one.first);
    return found == after.end() || found->second.value < one.second.value;
  });
}

std::optional<Quantile> quantile(const Samples* before, const Samples& after,
                                 std::string_view histogram, double part) {
  Buckets buckets = buckets_of(after, histogram);
  if (before != nullptr) {
    for (const auto& [bound, count] : buckets_of(*before, histogram)) {
      if (const auto same = buckets.find(bound); same != buckets.end()) same->second -= count;
    }
  }
  // The workers went on while their counts were added up: a bucket may seem lower than the last.
  double most = 0;
  for (auto& [bound, count] : buckets) count = most = std::max(most, count);
  if (most <= 0) return std::nullopt;
  const double rank = part * most;
  double bound_before = 0;
  double count_before = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= rank && count > count_before) {
      if (std::isinf(bound)) break;
      const double share = (rank - count_before) / (count - count_before);
      return Quantile{bound_before + (bound - bound_before) * std::max(share, 0.0), false};
    }
    if (std::isinf(bound)) break;
    bound_before = bound;
    count_before = count;
  }
  return Quantile{bound_before, true};
}

Picture compare(const Look* before, const Look& after) {
  Picture picture;
  picture.restarted = before != nullptr && went_backwards(before->samples, after.samples);
  const Samples* const old = before == nullptr || picture.restarted ? nullptr : &before->samples;
  picture.seconds = old == nullptr ? 0 : after.at_s - before->at_s;
  picture.has_rates = old != nullptr && picture.seconds > 0;
  const Comparison comparison(old, after.samples, picture.seconds);

  picture.calls = comparison.of("ringrpc_calls_total");
  picture.errors = comparison.of("ringrpc_errors_total");
  picture.requests = comparison.of("ringrpc_requests_total");
  picture.notifications = comparison.of("ringrpc_notifications_total");
  picture.refused = comparison.of({"ringrpc_bad_heads_total", "ringrpc_bad_media_total",
                                   "ringrpc_bad_routes_total", "ringrpc_bad_hosts_total",
                                   "ringrpc_bad_frames_total"});
  picture.bytes_in = comparison.of("ringrpc_bytes_in_total");
  picture.bytes_out = comparison.of("ringrpc_bytes_out_total");
  picture.accepts = comparison.of("ringrpc_accepts_total");
  picture.closes = comparison.of("ringrpc_closes_total");
  picture.events = comparison.of("ringrpc_events_total");
  picture.late_calls = comparison.of("ringrpc_late_calls_total");
  picture.cancelled = comparison.of("ringrpc_calls_cancelled_total");
  picture.turns = comparison.of("ringrpc_turns_total");
  picture.enters = comparison.of("ringrpc_enters_total");
  picture.receives = comparison.of("ringrpc_receives_total");
  picture.sends = comparison.of("ringrpc_sends_total");
  picture.slow_turns = comparison.of("ringrpc_turns_slow_total");
  if (picture.has_rates) {
    picture.p50 = quantile(old, after.samples, "ringrpc_call_seconds", 0.5);
    picture.p99 = quantile(old, after.samples, "ringrpc_call_seconds", 0.99);
  }
  picture.connections = value_of(after.samples, "ringrpc_connections");
  picture.in_flight = value_of(after.samples, "ringrpc_in_flight");
  picture.streams = value_of(after.samples, "ringrpc_streams");
  picture.methods = comparison.by("ringrpc_calls_total", "method");
  picture.codes = comparison.by("ringrpc_errors_total", "code");
  picture.limits = comparison.by("ringrpc_limit_hits_total", "limit");
  // Gauges: what they gained in a second says nothing.
  picture.pools = Comparison(nullptr, after.samples, 0).by("ringrpc_memory_bytes", "pool");
  return picture;
}

}  // namespace ringtop
