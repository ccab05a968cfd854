// ringload: a load generator on io_uring. It sends one ready-made request over many connections in
// a closed loop, checks every reply, and reports rates, latencies and CPU time.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/ringload/options.h"
#include "tools/ringload/report.h"
#include "tools/ringload/request.h"
#include "tools/ringload/runner.h"

namespace {

// Bytes of ready-made requests in one send.
constexpr std::size_t send_size_max = 256u << 10;

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns: the exit code.
int run(const ringload::Options& options, const std::string& request) {
  using namespace ringload;
  Plan plan(options, options.threads);
  std::string error;
  if (!resolve(options.url, plan.target, error)) {
    std::fprintf(stderr, "ringload: %s\n", error.c_str());
    return exit_unreachable;
  }
  plan.request_size = static_cast<std::uint32_t>(request.size());
  plan.requests_per_send = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(send_size_max / request.size(), 1, options.depth));
  for (std::uint32_t i = 0; i < plan.requests_per_send; ++i) plan.requests += request;

  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    runners.push_back(std::make_unique<Runner>(plan, i));
  }
  for (std::unique_ptr<Runner>& runner : runners) {
    threads.emplace_back([&runner] { runner->run(); });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<const Outcome*> outcomes;
  for (const std::unique_ptr<Runner>& runner : runners) {
    outcomes.push_back(&runner->outcome());
    if (runner->outcome().error.empty()) continue;
    std::fprintf(stderr, "ringload: %s: %s\n", options.url_text.c_str(),
                 runner->outcome().error.c_str());
    return exit_unreachable;
  }
  const auto latency = std::make_unique<ringrpc::base::Histogram>();
  const Total total = add_up(outcomes, *latency);
  const std::string report =
      options.json ? json_report(options, total, *latency) : text_report(options, total, *latency);
  std::fwrite(report.data(), 1, report.size(), stdout);
  return all_good(total) ? exit_good : exit_errors;
}

}  // namespace

int main(int argc, char** argv) {
  ringload::Options options;
  int exit_code = ringload::exit_good;
  if (ringload::parse_options(argc, argv, options, exit_code) == ringload::Parsed::leave) {
    return exit_code;
  }
  const std::string request =
      ringload::make_request(options.method, options.url, options.fields, options.body);
  if (options.show_request) {
    std::fwrite(request.data(), 1, request.size(), stdout);
    return ringload::exit_good;
  }
  raise_descriptor_limit();
  return run(options, request);
}
