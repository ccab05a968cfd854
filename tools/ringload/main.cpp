// ringload: a load generator on io_uring. It sends ready-made requests over many connections, in a
// closed loop or at a rate, checks every reply, and reports rates, latencies and CPU time.

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tools/common/command_line.h"
#include "tools/ringload/options.h"
#include "tools/ringload/progress.h"
#include "tools/ringload/report.h"
#include "tools/ringload/request.h"
#include "tools/ringload/runner.h"
#include "tools/ringload/spectrum.h"
#include "tools/ringload/websocket.h"

namespace {

using ringload::Options;
using ringload::Plan;
using ringload::Runner;

// Bytes of ready-made requests in one send.
constexpr std::size_t send_size_max = 256u << 10;

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Makes the bytes of all requests.
void make_requests(const Options& options, Plan& plan) {
  const auto make = [&options](std::string_view body) {
    if (options.url.websocket) return ringload::make_frame(body);
    return ringload::make_request(options.method, options.url, options.fields, body);
  };
  plan.tape.make({options.bodies, options.batch, options.fresh_ids}, make);
  plan.request_size = static_cast<std::uint32_t>(plan.tape.request_size_max());
  plan.requests_per_send = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(send_size_max / plan.request_size, 1, options.depth));
  if (options.tracked()) return;
  for (std::uint32_t i = 0; i < plan.requests_per_send; ++i) plan.requests += plan.tape.bytes();
}

// Returns: false after a sentence on stderr.
bool write_spectrum(const Options& options, const ringrpc::base::Histogram& latency) {
  if (options.spectrum_file.empty()) return true;
  const std::string text = ringload::spectrum(latency);
  if (options.spectrum_file == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return true;
  }
  std::FILE* const file = std::fopen(options.spectrum_file.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) written = std::fclose(file) == 0 && written;
  if (!written) {
    std::fprintf(stderr, "ringload: cannot write %s: %s\n", options.spectrum_file.c_str(),
                 std::strerror(errno));
  }
  return written;
}

void run_all(const Options& options, std::vector<std::unique_ptr<Runner>>& runners) {
  std::vector<std::thread> threads;
  for (std::unique_ptr<Runner>& runner : runners) {
    threads.emplace_back([&runner] { runner->run(); });
  }
  const ringload::Progress progress(options, runners);
  for (std::thread& thread : threads) thread.join();
}

// Returns: the exit code.
int report(const Options& options, const std::vector<const ringload::Outcome*>& outcomes) {
  const auto durations = std::make_unique<ringload::Durations>();
  const ringload::Total total = ringload::add_up(outcomes, *durations);
  const std::string text = options.json ? ringload::json_report(options, total, *durations)
                                        : ringload::text_report(options, total, *durations);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!total.kinds.first.empty()) {
    std::fprintf(stderr, "ringload: %s\n", total.kinds.first.c_str());
  }
  if (!write_spectrum(options, durations->latency)) return tools::exit_unable;
  return ringload::all_good(total) ? ringload::exit_good : ringload::exit_errors;
}

// Returns: the exit code.
int run(const Options& options, Plan& plan) {
  std::string error;
  if (options.url.websocket) {
    plan.target.handshake = ringload::make_handshake(options.url, options.fields);
  }
  if (!ringload::resolve(options.url, plan.target, error)) {
    std::fprintf(stderr, "ringload: %s\n", error.c_str());
    return ringload::exit_unreachable;
  }
  std::vector<std::unique_ptr<Runner>> runners;
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    runners.push_back(std::make_unique<Runner>(plan, i));
  }
  run_all(options, runners);
  std::vector<const ringload::Outcome*> outcomes;
  for (const std::unique_ptr<Runner>& runner : runners) {
    outcomes.push_back(&runner->outcome());
    if (runner->outcome().error.empty()) continue;
    std::fprintf(stderr, "ringload: %s: %s\n", options.url_text.c_str(),
                 runner->outcome().error.c_str());
    return ringload::exit_unreachable;
  }
  return report(options, outcomes);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int exit_code = ringload::exit_good;
  if (ringload::parse_options(argc, argv, options, exit_code) == ringload::Parsed::leave) {
    return exit_code;
  }
  Plan plan(options, options.threads);
  make_requests(options, plan);
  if (options.show_request) {
    std::fwrite(plan.tape.bytes().data(), 1, plan.tape.begin(1), stdout);
    return tools::finish("ringload", ringload::exit_good);
  }
  raise_descriptor_limit();
  return tools::finish("ringload", run(options, plan));
}
