// A whole call in memory: server.call and server.call_http, on canonical and larger requests.
//
// Each case has 64 different texts, read in turn. Its answer is looked at once before it is timed.
// `allocations` are those of the heap, for each call.

#include <benchmark/benchmark.h>
#include <ringrpc/server.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/allocation_gate.h"

namespace {

constexpr int texts_count = 64;
constexpr int batch_length = 100;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

struct Text {
  std::string bytes;
  std::size_t size = 0;

  explicit Text(std::string text) : bytes(std::move(text)), size(bytes.size()) {
    bytes.append(ringrpc::limits::padding, ' ');
  }
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

std::string call_of(const std::string& method, int i) {
  return R"({"jsonrpc":"2.0","method":")" + method + R"(","params":{"a":)" +
         std::to_string(i % 10) + R"(,"b":)" + std::to_string(i * 7 % 10) + R"(},"id":)" +
         std::to_string(1 + i % 9) + "}";
}

std::string call(int i) { return call_of("sum", i); }
std::string call_later(int i) { return call_of("sum.later", i); }
std::string call_coroutine(int i) { return call_of("sum.co", i); }

std::string batch(int i) {
  std::string text;
  for (int k = 0; k < batch_length; ++k) {
    text.push_back(k > 0 ? ',' : '[');
    text.append(call(i + k));
  }
  text.push_back(']');
  return text;
}

// Raw params of about 4 KiB that come back as they are.
std::string echo(int i) {
  std::string rows;
  for (int row = 0; rows.size() < 3950; ++row) {
    rows += (row > 0 ? "," : "") + std::string(R"({"id":)") + std::to_string(1000 + i * row) +
            R"(,"name":"row )" + std::to_string(row) + R"(","ok":true})";
  }
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"echo","params":[)" + rows +
         "]}";
}

std::string with_head(const std::string& body) {
  return "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// The same call, answered in three ways: by what the handler returns, by a Deferred within it, and
// by a coroutine that never waits.
void add_methods(ringrpc::Server& server) {
  server.method("sum", [](const Sum& in) { return in.a + in.b; });
  server.method("sum.later",
                [](const Sum& in, ringrpc::Deferred reply) { reply.answer(in.a + in.b); });
  server.method("sum.co", [](Sum in) -> ringrpc::Co<std::int64_t> { co_return in.a + in.b; });
  server.method("echo", [](ringrpc::Call& one, ringrpc::Reply& reply) {
    reply.result().raw(one.params().raw());
  });
}

template <typename Make>
void run(benchmark::State& state, Make make, bool http, int calls) {
  ringrpc::Server server({.listen = ""});
  add_methods(server);
  std::vector<Text> texts;
  for (int i = 0; i < texts_count; ++i) texts.emplace_back(http ? with_head(make(i)) : make(i));
  std::string out;
  std::size_t next = 0;
  const auto one = [&] {
    const std::string_view text = texts[next++ % texts_count].view();
    if (http) {
      server.call_http_padded(text, out);
    } else {
      server.call_padded(text, out);
    }
  };
  one();
  if (out.find("\"result\":") == std::string::npos) std::abort();
  const std::uint64_t allocations = ringrpc::testing::heap_allocations();
  for (auto _ : state) {
    one();
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["allocations"] =
      static_cast<double>(ringrpc::testing::heap_allocations() - allocations) /
      (static_cast<double>(state.iterations()) * calls);
  state.counters["per_call"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * calls,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void call_canonical(benchmark::State& state) { run(state, call, false, 1); }
void call_deferred(benchmark::State& state) { run(state, call_later, false, 1); }
void call_co(benchmark::State& state) { run(state, call_coroutine, false, 1); }
void http_canonical(benchmark::State& state) { run(state, call, true, 1); }
void call_echo_4k(benchmark::State& state) { run(state, echo, false, 1); }
void call_batch_100(benchmark::State& state) { run(state, batch, false, batch_length); }
void http_batch_100(benchmark::State& state) { run(state, batch, true, batch_length); }

BENCHMARK(call_canonical);
BENCHMARK(call_deferred);
BENCHMARK(call_co);
BENCHMARK(http_canonical);
BENCHMARK(call_echo_4k);
BENCHMARK(call_batch_100);
BENCHMARK(http_batch_100);

}  // namespace

BENCHMARK_MAIN();
