// The ladder: what each step of a call in memory adds, from copying the bytes to the whole engine.
//
//   ladder                      ns for each rung: minimum and median of 40 repeats
//   ladder --loops N RUNG       N passes of one rung over all requests, then exit (for callgrind)
//   ladder --check              every rung once, and its answer is looked at
//
// The rungs are cumulative: each does what the one before does, and one step more. Requests are the
// canonical call in 64 spellings, so that no branch predictor knows them by heart.

#include <ringrpc/limits.h>
#include <ringrpc/server.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/counters.h"
#include "engine/http/hosts.h"
#include "engine/http/request.h"
#include "engine/json/decode.h"
#include "engine/rpc/envelope.h"
#include "engine/rpc/table.h"
#include "engine/serve/endpoint.h"
#include "engine/serve/framing.h"

namespace {

using ringrpc::JsonValue;

constexpr int request_count = 64;
constexpr int repeats = 40;
constexpr int passes = 200;  // over all requests, in each repeat

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

// A request and the padding that every receive buffer has.
struct Bytes {
  std::string text;
  std::size_t size = 0;
  std::size_t body = 0;

  [[nodiscard]] std::string_view whole() const { return {text.data(), size}; }
};

std::vector<Bytes> make_requests() {
  std::vector<Bytes> requests;
  for (int i = 0; i < request_count; ++i) {
    const std::string body = R"({"jsonrpc":"2.0","method":"sum","params":{"a":)" +
                             std::to_string(i % 10) + R"(,"b":)" + std::to_string(i * 7 % 10) +
                             R"(},"id":)" + std::to_string(1 + i % 9) + "}";
    Bytes bytes;
    bytes.text =
        "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n";
    bytes.body = bytes.text.size();
    bytes.text += body;
    bytes.size = bytes.text.size();
    bytes.text.append(ringrpc::limits::padding, '\xff');
    requests.push_back(std::move(bytes));
  }
  return requests;
}

// Keeps the compiler from dropping what nobody reads.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Everything the rungs work with.
class Ladder {
 public:
  Ladder()
      : requests_(make_requests()),
        pool_(ringrpc::limits::partial_pool_size),
        framer_({.pool = &pool_,
                 .counters = &counters_,
                 .hosts = &hosts_,
                 .mounts = {&mount_, 1},
                 .message_size_max = ringrpc::limits::message_size_max}),
        scratch_memory_(4096),
        scratch_(scratch_memory_.data(), scratch_memory_.size()),
        server_({.listen = ""}) {
    if (!reader_.reserve(ringrpc::limits::message_size_max, ringrpc::limits::batch_length_max).ok())
      std::abort();
    for (int i = 0; i < 64; ++i) add_method(i == 0 ? "sum" : "method." + std::to_string(i));
    server_.method("sum", [](const Sum& in) { return in.a + in.b; });
  }

  // Each rung handles one request and returns a number that depends on it.
  std::uint64_t copy(const Bytes& request) {
    std::memcpy(reply_, request.text.data(), request.size);
    keep(reply_);
    return request.size;
  }

  std::uint64_t parse(const Bytes& request) {
    copy(request);
    const char* begin = request.text.data();
    const ringrpc::http::HeadResult result =
        ringrpc::http::parse_head(begin, begin + request.size, head_);
    const ringrpc::serve::Admission admission =
        ringrpc::serve::admit(head_, hosts_, {&mount_, 1}, ringrpc::limits::message_size_max);
    keep(admission);
    return result.status == ringrpc::http::HeadStatus::complete ? head_.content_length : 0;
  }

  std::uint64_t http(const Bytes& request) {
    copy(request);
    ringrpc::serve::Input input{const_cast<char*>(request.text.data()),
                                static_cast<std::uint32_t>(request.size)};
    return framer_.next(connection_, input, request_, 0) == ringrpc::serve::Step::message
               ? request_.body.size()
               : 0;
  }

  std::uint64_t envelope(const Bytes& request) {
    http(request);
    const ringrpc::rpc::ReadResult result =
        reader_.read(request_.body.data(), static_cast<std::uint32_t>(request_.body.size()));
    return result.status == ringrpc::rpc::ReadStatus::single ? result.count : 0;
  }

  std::uint64_t dispatch(const Bytes& request) {
    envelope(request);
    const ringrpc::rpc::Method* method = registry_.current()->find(reader_.envelope(0).method);
    return method != nullptr ? 1 : 0;
  }

  std::uint64_t params(const Bytes& request) {
    dispatch(request);
    Sum sum{};
    ringrpc::json::DecodeError error;
    scratch_.reset();
    const JsonValue value(reader_.index().text(), reader_.params_position(reader_.envelope(0)));
    const bool decoded =
        ringrpc::json::decode(ringrpc::fields::type_of<Sum>(), &sum, value, scratch_, {}, error);
    keep(sum);
    return decoded ? 1 : 0;
  }

  // The whole engine: the rungs above with the handler and the reply, through the public door.
  std::uint64_t reply(const Bytes& request) {
    server_.call_http_padded(request.whole(), response_);
    return response_.size();
  }

  // The same without HTTP.
  std::uint64_t call(const Bytes& request) {
    server_.call_padded(request.whole().substr(request.body), response_);
    return response_.size();
  }

  [[nodiscard]] const std::vector<Bytes>& requests() const { return requests_; }
  [[nodiscard]] const std::string& response() const { return response_; }

 private:
  void add_method(const std::string& name) {
    auto method = std::make_unique<ringrpc::rpc::Method>();
    method->name = name;
    if (!registry_.add(std::move(method)).ok()) std::abort();
  }

  std::vector<Bytes> requests_;
  ringrpc::base::Counters counters_;
  ringrpc::http::HostPolicy hosts_;
  ringrpc::serve::Mount mount_{.path = "/rpc"};
  ringrpc::serve::PartialPool pool_;
  ringrpc::serve::Framer framer_;
  ringrpc::serve::Connection connection_;
  ringrpc::serve::Request request_;
  ringrpc::http::Request head_;
  ringrpc::rpc::Reader reader_;
  ringrpc::rpc::Registry registry_;
  std::vector<char> scratch_memory_;
  ringrpc::json::Scratch scratch_;
  ringrpc::Server server_;
  std::string response_;
  char reply_[1024] = {};
};

struct Rung {
  const char* name;
  const char* step;
  std::uint64_t (Ladder::*run)(const Bytes&);
};

constexpr Rung rungs[] = {
    {"copy", "null echo: the request's bytes are copied", &Ladder::copy},
    {"parse", "copy, strict head and admission (a memo miss)", &Ladder::parse},
    {"http", "copy, head by the memo, framing", &Ladder::http},
    {"envelope", "+ whole text checked, envelope", &Ladder::envelope},
    {"dispatch", "+ method found among 64", &Ladder::dispatch},
    {"params", "+ params decoded", &Ladder::params},
    {"reply", "server.call_http: + handler, reply, head", &Ladder::reply},
    {"call", "server.call: the same without HTTP", &Ladder::call},
};

std::uint64_t pass(Ladder& ladder, const Rung& rung) {
  std::uint64_t sum = 0;
  for (const Bytes& request : ladder.requests()) sum += (ladder.*rung.run)(request);
  return sum;
}

int check(Ladder& ladder) {
  for (const Rung& rung : rungs) {
    for (const Bytes& request : ladder.requests()) {
      if ((ladder.*rung.run)(request) != 0) continue;
      std::fprintf(stderr, "ladder: rung %s failed\n", rung.name);
      return 1;
    }
  }
  // The last request is 3 + 1 with id 1.
  if (ladder.response() == R"({"jsonrpc":"2.0","result":4,"id":1})") return 0;
  std::fprintf(stderr, "ladder: the reply is %s\n", ladder.response().c_str());
  return 1;
}

void time_rung(Ladder& ladder, const Rung& rung) {
  std::vector<double> ns;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t sum = 0;
    for (int i = 0; i < passes; ++i) sum += pass(ladder, rung);
    keep(sum);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    ns.push_back(spent.count() / (passes * request_count));
  }
  std::sort(ns.begin(), ns.end());
  std::printf("%-9s %8.1f %8.1f  %s\n", rung.name, ns.front(), ns[ns.size() / 2], rung.step);
}

}  // namespace

int main(int argc, char** argv) {
  Ladder ladder;
  if (check(ladder) != 0) return 1;
  if (argc == 2 && std::string_view(argv[1]) == "--check") return 0;
  if (argc == 4 && std::string_view(argv[1]) == "--loops") {
    for (const Rung& rung : rungs) {
      if (std::string_view(argv[3]) != rung.name) continue;
      std::uint64_t sum = 0;
      for (int i = std::atoi(argv[2]); i > 0; --i) sum += pass(ladder, rung);
      keep(sum);
      return 0;
    }
  }
  if (argc != 1) {
    std::fprintf(stderr, "usage: ladder [--check | --loops N RUNG]\n");
    return 2;
  }
  std::printf("%-9s %8s %8s\n", "rung", "min ns", "med ns");
  for (const Rung& rung : rungs) time_rung(ladder, rung);
  return 0;
}
