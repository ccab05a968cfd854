#pragma once

// Prometheus's text format, version 0.0.4, as far as a server's counters need it.
//
// Source: "Exposition formats" of the Prometheus documentation, text-based format.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringtop {

struct Sample {
  std::string metric;
  std::vector<std::pair<std::string, std::string>> labels;  // names and values, unescaped
  double value = 0;

  // Returns: the value of that label; empty when there is none.
  [[nodiscard]] std::string_view label(std::string_view name) const;
};

// All samples of one look, each under its metric and labels as the server wrote them.
using Samples = std::map<std::string, Sample, std::less<>>;

// Reads a whole text. Comments, times and empty lines are passed over; of a sample that stands
// twice the last one counts.
// Returns: 0, or the number of the first line that is no sample.
std::size_t parse(std::string_view text, Samples& samples);

// Returns: the value of the sample without labels; 0 when there is none.
double value_of(const Samples& samples, std::string_view metric);

// Returns: the sum of all samples of that metric.
double sum_of(const Samples& samples, std::string_view metric);

// Calls see(sample) for each sample of that metric, in the order of their labels' text.
template <typename See>
void for_each(const Samples& samples, std::string_view metric, See&& see) {
  // Labels stand behind '{', and other metrics may stand between those with and without any.
  for (auto at = samples.lower_bound(metric); at != samples.end(); ++at) {
    if (!std::string_view(at->first).starts_with(metric)) break;
    if (at->second.metric == metric) see(at->second);
  }
}

}  // namespace ringtop
