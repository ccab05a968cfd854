// Goal: every message and batch is answered with exactly the entries that the rules ask for, in
// order, under their ids, within the limits, and starts exactly the handlers that it should.
// Method: the input is one message, answered by two servers with other limits, and by the model.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/serve/in_memory.h"
#include "tests/fuzz/rpc_model.h"

namespace ringrpc::fuzz {
namespace {

constexpr std::size_t message_size_max = 1u << 14;

struct Subject {
  explicit Subject(const ModelLimits& model_limits) : limits(model_limits) {
    add_methods(registry);
    names = registry.slot_names();
    shared.registry = &registry;
    serve::WorkerOptions options;
    options.message_size_max = message_size_max;
    options.batch_length_max = limits.batch_length_max;
    options.reply_size_max = limits.reply_size_max;
    options.reply_slab_size = 65'536;
    options.reply_slabs = 4;
    options.segments = 64;
    engine = std::make_unique<serve::InMemory>(options, shared);
  }

  // Returns: how often each handler has started so far.
  [[nodiscard]] std::map<std::string, std::uint64_t> started() const {
    std::map<std::string, std::uint64_t> counts;
    engine->for_each([&](const serve::InMemoryContext& context) {
      for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
        counts[names[slot]] += context.endpoints[0].stats->started(slot);
      }
    });
    return counts;
  }

  void check(std::string_view text) {
    std::map<std::string, std::uint64_t> before = started();
    std::string reply;
    engine->call(text, false, reply);
    const Answer expected = answer_of(text, limits);
    if (reply != expected.body) {
      std::fprintf(stderr, "answered: %s\nexpected: %s\n", reply.c_str(), expected.body.c_str());
      std::abort();
    }
    for (const auto& [name, count] : started()) {
      const auto wanted = expected.started.find(name);
      const std::uint64_t times = wanted == expected.started.end() ? 0 : wanted->second;
      RINGRPC_ASSERT(count - before[name] == times, name, count - before[name], times);
    }
  }

  ModelLimits limits;
  rpc::Registry registry;
  std::vector<std::string> names;
  serve::WorkerShared shared;
  std::unique_ptr<serve::InMemory> engine;
};

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringrpc::fuzz;
  // For the life of the program.
  static Subject* const roomy = new Subject({.batch_length_max = 1000, .reply_size_max = 1u << 20});
  static Subject* const tight = new Subject({.batch_length_max = 40, .reply_size_max = 4096});
  if (size > message_size_max) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  roomy->check(text);
  tight->check(text);
  return 0;
}
