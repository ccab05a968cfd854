// What one HTTP message costs in memory: heads in, chunks in, heads out. Each benchmark checks its
// answer before it is timed.

#include <benchmark/benchmark.h>
#include <ringrpc/limits.h>

#include <string>
#include <string_view>

#include "engine/base/assert.h"
#include "engine/http/chunks.h"
#include "engine/http/request.h"
#include "engine/http/response.h"

namespace {

using ringrpc::http::ChunkDecoder;
using ringrpc::http::HeadResult;
using ringrpc::http::Heads;
using ringrpc::http::HeadStatus;
using ringrpc::http::Request;

using Parse = HeadResult (*)(const char*, const char*, Request&);

// The head of a plain client: 96 bytes.
const std::string small_head =
    "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
    "Content-Length: 62\r\n\r\n";

// The head of a browser or an agent's SDK: ten fields.
const std::string large_head =
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101\r\n"
    "Accept: application/json, text/event-stream\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nContent-Type: application/json\r\n"
    "Origin: http://localhost:3000\r\nConnection: keep-alive\r\nMcp-Session-Id: 4d0b0f\r\n"
    "Content-Length: 162\r\n\r\n";

void parse_complete(benchmark::State& state, Parse parse, const std::string& head) {
  std::string bytes = head + std::string(ringrpc::limits::padding, '{');
  const char* const end = bytes.data() + head.size();
  Request request;
  RINGRPC_ASSERT(parse(bytes.data(), end, request).status == HeadStatus::complete);
  RINGRPC_ASSERT(request.head_size == head.size());
  for (auto _ : state) {
    HeadResult result = parse(bytes.data(), end, request);
    benchmark::DoNotOptimize(result);
    benchmark::DoNotOptimize(request);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * head.size()));
}
BENCHMARK_CAPTURE(parse_complete, small, &ringrpc::http::parse_head, small_head);
BENCHMARK_CAPTURE(parse_complete, small_portable, &ringrpc::http::parse_head_portable, small_head);
BENCHMARK_CAPTURE(parse_complete, large, &ringrpc::http::parse_head, large_head);
BENCHMARK_CAPTURE(parse_complete, large_portable, &ringrpc::http::parse_head_portable, large_head);

// A body of state.range(0) bytes in chunks of state.range(1).
void decode_chunks(benchmark::State& state) {
  const auto body_size = static_cast<std::size_t>(state.range(0));
  const auto chunk_size = static_cast<std::size_t>(state.range(1));
  char line[20];
  std::snprintf(line, sizeof line, "%zx\r\n", chunk_size);
  std::string bytes;
  for (std::size_t done = 0; done < body_size; done += chunk_size) {
    bytes += line + std::string(chunk_size, 'x') + "\r\n";
  }
  bytes += "0\r\n\r\n";
  for (auto _ : state) {
    ChunkDecoder decoder;
    const char* cursor = bytes.data();
    std::string_view piece;
    std::size_t size = 0;
    while (decoder.next(cursor, bytes.data() + bytes.size(), piece) ==
           ChunkDecoder::Status::piece) {
      size += piece.size();
    }
    RINGRPC_ASSERT(size == body_size && cursor == bytes.data() + bytes.size());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * body_size));
}
BENCHMARK(decode_chunks)->Args({1 << 16, 1})->Args({1 << 16, 64})->Args({1 << 16, 1 << 16});

void write_frequent_head(benchmark::State& state) {
  Heads heads;
  heads.set_time(1);
  std::string out(Heads::ok_size, '#');
  std::uint32_t length = 0;
  for (auto _ : state) {
    heads.write_ok(out.data());
    Heads::patch_length(out.data() + Heads::ok_size, length);
    length = (length + 1) & 1023;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(write_frequent_head);

void write_any_head(benchmark::State& state) {
  Heads heads;
  heads.set_time(1);
  std::string out(Heads::size_max, '#');
  for (auto _ : state) {
    std::uint32_t size =
        heads.write(out.data(), Heads::size_max, {.status = 404, .length = 90, .close = true});
    benchmark::DoNotOptimize(size);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(write_any_head);

}  // namespace

BENCHMARK_MAIN();
