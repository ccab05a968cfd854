// What it costs to read a message: structure, grammar of the whole text, and envelope.
//
// Each case has 64 different texts, read in turn, so that no branch predictor knows them by heart.
// The columns are per text; "per_call" of the batch is per element.
//
//   json_bench                                       times
//   json_bench --loops N CASE                        N times all 64 texts of a case, then exit
//
// Instructions are the difference of two loop counts under callgrind, for 6,400 texts:
//   SIMDJSON_FORCE_IMPLEMENTATION=haswell valgrind --tool=callgrind json_bench --loops 150
//   canonical
//   ... the same with 50; subtract, divide by 6400.

#include <benchmark/benchmark.h>
#include <ringrpc/limits.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rpc/envelope.h"

namespace {

using ringrpc::rpc::Reader;
using ringrpc::rpc::ReadResult;

constexpr int texts_count = 64;
constexpr int batch_length = 100;

std::string canonical(int i) {
  return R"({"jsonrpc":"2.0","method":"sum","params":{"a":)" + std::to_string(i % 10) + R"(,"b":)" +
         std::to_string(i * 7 % 10) + R"(},"id":)" + std::to_string(1 + i % 9) + "}";
}

// A tool call as an MCP client sends it: 333 bytes.
std::string tool_call(int i) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(100 + i) +
         R"(,"method":"tools/call","params":{"name":"search_documents","arguments":)"
         R"({"query":"quarterly revenue by region","limit":)" +
         std::to_string(10 + i) +
         R"(,"filters":{"year":2025,"tags":["finance","emea"],"draft":false},"offset":0},)"
         R"("_meta":{"progressToken":"token-)" +
         std::to_string(1000 + i) +
         R"(","io.modelcontextprotocol/protocolVersion":"2026-07-28","trace":"a1b2"}}})";
}

// A list of records: many short members, numbers of all kinds.
std::string records(int i) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                     R"(,"method":"records.put","params":{"rows":[)";
  for (int row = 0; text.size() < 4020; ++row) {
    text += row > 0 ? "," : "";
    text += R"({"id":)" + std::to_string(1000 + i * row) + R"(,"name":"row )" +
            std::to_string(row) + R"(","value":)" + std::to_string(row * 3.25) + R"(,"ok":true})";
  }
  return text + "]}}";
}

// One long string of prose.
std::string prose(int i) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                     R"(,"method":"notes.put","params":{"text":")";
  while (text.size() < 4080) text += "It was a bright cold day in April. ";
  return text + "\"}}";
}

std::string escapes(int i) {
  std::string text = R"({"jsonrpc":"2.0","id":)" + std::to_string(i) +
                     R"(,"method":"notes.put","params":{"text":")";
  while (text.size() < 4060) text += R"(line \"one\"\n\t\u00e9t\u00e9 \ud83d\ude00)";
  return text + "\"}}";
}

std::string batch(int i) {
  std::string text = "[";
  for (int call = 0; call < batch_length; ++call) {
    text += call > 0 ? "," : "";
    text += canonical(i * call);
  }
  return text + "]";
}

struct Case {
  std::string_view name;
  std::string (*make)(int);
  int calls;
};
constexpr Case cases[] = {
    {"canonical", canonical, 1}, {"tool_call", tool_call, 1}, {"records_4k", records, 1},
    {"prose_4k", prose, 1},      {"escapes_4k", escapes, 1},  {"batch_100", batch, batch_length},
};

class Texts {
 public:
  explicit Texts(const Case& which) {
    for (int i = 0; i < texts_count; ++i) {
      const std::string text = which.make(i);
      sizes_.push_back(static_cast<std::uint32_t>(text.size()));
      padded_.push_back(text + std::string(ringrpc::limits::padding, 'P'));
    }
    if (!reader_.reserve(1u << 20, ringrpc::limits::batch_length_max).ok()) std::abort();
  }

  std::uint32_t read(std::size_t i) {
    const ReadResult result = reader_.read(padded_[i].data(), sizes_[i]);
    return result.count + reader_.envelope(0).params_end;
  }
  std::uint32_t read_portable(std::size_t i) {
    const ReadResult result = reader_.read_portable(padded_[i].data(), sizes_[i]);
    return result.count + reader_.envelope(0).params_end;
  }
  std::uint32_t index(std::size_t i) {
    return index_.reserve_once().build(padded_[i].data(), sizes_[i]) ? index_.count() : 0;
  }
  [[nodiscard]] std::size_t size() const { return sizes_[0]; }

 private:
  // The structure alone, to see what the walk adds.
  struct Structure {
    ringrpc::json::Index index;
    bool reserved = false;
    ringrpc::json::Index& reserve_once() {
      if (!reserved && !index.reserve(1u << 20).ok()) std::abort();
      reserved = true;
      return index;
    }
    [[nodiscard]] std::uint32_t count() const { return index.count(); }
  };

  std::vector<std::uint32_t> sizes_;
  std::vector<std::string> padded_;
  Reader reader_;
  Structure index_;
};

template <std::uint32_t (Texts::*work)(std::size_t)>
void run(benchmark::State& state, const Case& which) {
  Texts texts(which);
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize((texts.*work)(i));
    i = (i + 1) % texts_count;
  }
  state.counters["bytes"] = static_cast<double>(texts.size());
  state.counters["per_call"] = benchmark::Counter(
      static_cast<double>(which.calls),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(texts.size()));
}

int loop(const char* count, std::string_view name) {
  for (const Case& which : cases) {
    if (which.name != name) continue;
    Texts texts(which);
    std::uint32_t sum = 0;
    for (long n = std::atol(count); n > 0; --n) {
      for (std::size_t i = 0; i < texts_count; ++i) sum += texts.read(i);
    }
    std::printf("%u\n", sum);
    return 0;
  }
  std::fprintf(stderr, "json_bench: no case of that name\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--loops") return loop(argv[2], argv[3]);
  for (const Case& which : cases) {
    const std::string name(which.name);
    benchmark::RegisterBenchmark(("read/" + name).c_str(), run<&Texts::read>, which);
    benchmark::RegisterBenchmark(("index_only/" + name).c_str(), run<&Texts::index>, which);
    benchmark::RegisterBenchmark(("portable/" + name).c_str(), run<&Texts::read_portable>, which);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
