#include "tools/ringload/spectrum.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace ringload {

namespace {

constexpr int steps_each_half = 5;  // lines from one "half of the rest" to the next

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000.0; }

// The shares 0, 0.1, ... 0.5, 0.55, ... 0.75, 0.775: five steps to each half of what is left.
class Shares {
 public:
  [[nodiscard]] double share() const { return 1 - left_ * (1 - 0.5 * step_ / steps_each_half); }
  void advance() {
    if (++step_ != steps_each_half) return;
    step_ = 0;
    left_ /= 2;
  }

 private:
  double left_ = 1;
  int step_ = 0;
};

void add_line(std::string& out, double value, double share, std::uint64_t count) {
  char line[128];
  if (share < 1) {
    std::snprintf(line, sizeof(line), "%12.3f %.12f %10llu %14.2f\n", value, share,
                  static_cast<unsigned long long>(count), 1 / (1 - share));
  } else {
    std::snprintf(line, sizeof(line), "%12.3f %.12f %10llu\n", value, share,
                  static_cast<unsigned long long>(count));
  }
  out += line;
}

}  // namespace

double deviation(const ringrpc::base::Histogram& latency) {
  const double mean = latency.mean();
  double sum = 0;
  latency.for_each([&](std::uint64_t value, std::uint64_t count) {
    const double distance = static_cast<double>(value) - mean;
    sum += distance * distance * static_cast<double>(count);
  });
  return latency.count() == 0 ? 0 : std::sqrt(sum / static_cast<double>(latency.count()));
}

std::string spectrum(const ringrpc::base::Histogram& latency) {
  std::string out = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  const std::uint64_t total = latency.count();
  std::uint64_t seen = 0;
  Shares shares;
  latency.for_each([&](std::uint64_t value, std::uint64_t count) {
    seen += count;
    const double reached = static_cast<double>(seen) / static_cast<double>(total);
    if (seen == total) return;
    for (; shares.share() <= reached; shares.advance()) {
      add_line(out, us(value), shares.share(), seen);
    }
  });
  if (total != 0) {
    // The last bucket holds all shares that are left: its first, and the whole.
    if (shares.share() < 1) add_line(out, us(latency.max()), shares.share(), total);
    add_line(out, us(latency.max()), 1, total);
  }
  char lines[256];
  std::snprintf(lines, sizeof(lines),
                "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
                "#[Max     = %12.3f, Total count    = %12llu]\n"
                "#[Buckets = %12d, SubBuckets     = %12d]\n",
                latency.mean() / 1000, deviation(latency) / 1000, us(latency.max()),
                static_cast<unsigned long long>(total), 27,
                1 << (ringrpc::base::Histogram::precision_bits + 1));
  return out + lines;
}

}  // namespace ringload
