#pragma once

// A whole simulated run out of one number: the server's options, its faults, its clients and the
// order of everything that happens.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/http/hosts.h"
#include "engine/rpc/table.h"
#include "engine/serve/responder.h"
#include "engine/serve/worker_options.h"
#include "tests/sim/client.h"
#include "tests/sim/fake_worker.h"
#include "tests/sim/late_methods.h"

namespace ringrpc::sim {

template <typename T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

// What runs in simulation: sums over runs, printed to show that the faults were really there.
struct Coverage {
  std::uint64_t runs = 0;
  std::uint64_t turns = 0;
  std::uint64_t clients = 0;
  std::uint64_t answers_checked = 0;
  std::uint64_t counters[base::counter_count] = {};
};

// Lifetime: one run.
class World final : public serve::Oracle {
 public:
  explicit World(std::uint64_t seed);
  ~World() override;

  // Returns: what went wrong, empty for nothing. Aborts when an assertion of the engine fails.
  std::string run(Coverage& coverage);

  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }

 private:
  void choose_options();
  void choose_late_options();
  void hoard();
  void add_methods();
  void add_method(std::uint32_t which);
  void change_methods();
  void connect();
  void turn();
  std::string check_rest();
  std::string mix();
  std::string settle();
  std::string check_answers();
  std::string check_starts();
  std::string empty_the_house();
  std::string stop();
  bool run_until_idle();
  bool finish_calls();
  [[nodiscard]] std::uint64_t counted(base::Counter counter) const;
  [[nodiscard]] Excuses excuses() const;
  void pass(std::uint64_t ns);
  bool pass_to_next();
  [[nodiscard]] std::string described() const;

  std::mt19937_64 random_;
  std::uint64_t seed_;
  rpc::Registry registry_;
  http::HostPolicy hosts_;
  serve::WorkerShared shared_;
  serve::WorkerOptions options_;
  ServerLimits limits_;
  testing::FakeFaults faults_;
  Weights weights_;
  bool is_tight_ = false;     // memory runs out
  bool is_full_ = false;      // there is little room for calls that are answered later
  bool jumps_ = false;        // time jumps while clients talk
  bool hoards_ = false;       // clients ask for much and read little
  bool stops_early_ = false;  // the server leaves while clients talk
  bool forced_ = false;       // and does not wait for anybody
  bool registers_ = false;    // methods are replaced, come and go while it serves
  bool stopping_ = false;
  std::uint32_t clients_max_ = 0;
  std::uint32_t turns_ = 0;
  std::uint32_t noises_ = 0;     // methods that nobody calls
  std::uint64_t passed_ns_ = 0;  // for calls that wait
  LateMethods late_;             // its calls may outlive their worker
  std::unique_ptr<FakeWorker> worker_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace ringrpc::sim
