#pragma once

// Latencies as a percentile spectrum, in the text layout of HdrHistogram's .hgrm files.

#include <string>

#include "engine/base/histogram.h"

namespace ringload {

// Columns: value in microseconds, the share of requests that took at most that long, their number,
// and 1/(1-share): "one in so many took longer".
std::string spectrum(const ringrpc::base::Histogram& latency);

// Returns: the standard deviation in nanoseconds, to the precision of the buckets.
double deviation(const ringrpc::base::Histogram& latency);

}  // namespace ringload
