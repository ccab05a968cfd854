#include "tools/ringload/schedule.h"

#include <cmath>
#include <limits>

namespace ringload {

namespace {

double due_s(const RatePlan& plan, double index) {
  const double in_warmup = plan.from * plan.warmup_s;
  if (index < in_warmup) return index / plan.from;
  index -= in_warmup;
  const double in_ramp = (plan.from + plan.to) / 2 * plan.ramp_s;
  if (index < in_ramp) {
    // index = from * t + slope * t^2 / 2, solved for t in the form that loses no digits.
    const double slope = (plan.to - plan.from) / plan.ramp_s;
    const double root = std::sqrt(std::fmax(0, plan.from * plan.from + 2 * slope * index));
    return index == 0 ? plan.warmup_s : plan.warmup_s + 2 * index / (plan.from + root);
  }
  return plan.warmup_s + plan.ramp_s + (index - in_ramp) / plan.to;
}

}  // namespace

std::uint64_t due_ns(const RatePlan& plan, std::uint64_t index) {
  constexpr double longest = 1e18;  // 31 years
  const double ns = due_s(plan, static_cast<double>(index)) * 1e9;
  return ns < longest ? static_cast<std::uint64_t>(ns) : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace ringload
