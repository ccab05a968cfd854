// Goal: whatever clients, kernel and clock do, each client hears exactly its own answers in order,
// and when everybody has left nothing is left behind.
// Method: whole servers on a fake kernel, each run out of one seed.
//
//   sim_test                    300 seeds
//   sim_test --seeds 10000      more of them
//   sim_test --first 5000       beginning with another one
//   sim_test --seed 1234        that one alone, to reproduce a failure

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/sim/world.h"

// A sanitizer calls this before it ends the process.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace ringrpc::sim {
namespace {

std::uint64_t first_seed = 1;
std::uint64_t seeds = 300;
char last_words[64];

void say_seed() {
  const ssize_t written = write(STDERR_FILENO, last_words, std::strlen(last_words));
  static_cast<void>(written);
}

void on_abort(int) {
  say_seed();
  std::signal(SIGABRT, SIG_DFL);
}

TEST(Simulation, EveryClientHearsItsOwnAnswersAndNothingIsLeftBehind) {
  std::signal(SIGABRT, on_abort);
  if (&__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&say_seed);
  Coverage coverage;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    std::snprintf(last_words, sizeof(last_words), "reproduce: sim_test --seed %llu\n",
                  static_cast<unsigned long long>(seed));
    World world(seed);
    const std::string complaint = world.run(coverage);
    if (!complaint.empty()) FAIL() << complaint << "\n" << last_words;
  }
  std::printf("%llu runs, %llu turns, %llu clients\n",
              static_cast<unsigned long long>(coverage.runs),
              static_cast<unsigned long long>(coverage.turns),
              static_cast<unsigned long long>(coverage.clients));
  for (std::size_t i = 0; i < base::counter_count; ++i) {
    std::printf("  %-22s %llu\n", base::counter_names[i].data(),
                static_cast<unsigned long long>(coverage.counters[i]));
  }
}

}  // namespace

void read_arguments(int count, char** arguments) {
  for (int i = 1; i + 1 < count; ++i) {
    const std::uint64_t value = std::strtoull(arguments[i + 1], nullptr, 10);
    if (std::strcmp(arguments[i], "--seeds") == 0) seeds = value;
    if (std::strcmp(arguments[i], "--first") == 0) first_seed = value;
    if (std::strcmp(arguments[i], "--seed") == 0) {
      first_seed = value;
      seeds = 1;
    }
  }
}

}  // namespace ringrpc::sim

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  ringrpc::sim::read_arguments(count, arguments);
  return RUN_ALL_TESTS();
}
