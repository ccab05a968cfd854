// Goal: whatever bytes a client of lines sends, in whatever pieces, it hears exactly one line for
// each of its own that asks something, in order, and nothing is left behind.
// Method: the worker of production on the fake kernel. The first byte of the input chooses limits
// and harmless faults; the rest are the client's bytes, with bytes that no UTF-8 has as commands in
// between. A model works out the answers from the whole stream, line by line.
//
//   F5 a turn   F7 turns to rest   F8 its FIN   F9 its reset   FA it stops reading
//   FB it reads again   FC it reads once   FE the next byte is no command

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/serve/responder.h"
#include "tests/fuzz/rpc_model.h"
#include "tests/sim/fake_worker.h"
#include "tests/support/conversation.h"

namespace ringrpc::fuzz {
namespace {

using base::Counter;
using testing::FakeFaults;
using testing::FakeIo;

constexpr std::size_t input_size_max = 1u << 15;
constexpr std::uint64_t second = 1'000'000'000;
constexpr std::string_view too_large =
    R"({"jsonrpc":"2.0","error":{"code":-31008,"message":"Request too large",)"
    R"("data":{"reason":"message_size_max"}},"id":null})"
    "\n";
constexpr std::string_view no_lines =
    R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error",)"
    R"("data":{"reason":"http"}},"id":null})"
    "\n";

struct Oracle final : serve::Oracle {
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }
};

// What is the same for every input.
struct House {
  House() {
    add_methods(registry);
    names = registry.slot_names();
  }
  rpc::Registry registry;
  http::HostPolicy hosts;
  Oracle oracle;
  std::vector<std::string> names;
};

// What a stream of lines is answered.
struct Model {
  std::string says;
  bool ends = false;  // the server ends the connection
  std::map<std::string, std::uint64_t> started;
};

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

void add_line(std::string_view line, const ModelLimits& limits, std::size_t size_max, Model& out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > size_max) {
    out.says += too_large;
    return;
  }
  if (line.find_first_not_of(" \t\r") == line.npos) return;
  const bool upper = line.front() >= 'A' && line.front() <= 'Z';
  const bool http = upper && line.find(" HTTP/") != line.npos;
  if (http || folded(line.substr(0, 5)) == "host:") {
    out.says += no_lines;
    out.ends = true;
    return;
  }
  const Answer answer = answer_of(line, limits);
  for (const auto& [name, times] : answer.started) out.started[name] += times;
  if (!answer.has_body) return;
  std::copy_if(answer.body.begin(), answer.body.end(), std::back_inserter(out.says),
               [](char c) { return c != '\r' && c != '\n'; });
  out.says += '\n';
}

// `finished`: the stream's end ends its last line. Without, one that is too long is still refused.
Model model_of(std::string_view stream, bool finished, const ModelLimits& limits,
               std::size_t size_max) {
  Model model;
  while (!stream.empty() && !model.ends) {
    const std::size_t end = stream.find('\n');
    if (end == stream.npos && !finished) {
      if (stream.size() > size_max + (stream.ends_with('\r') ? 1 : 0)) model.says += too_large;
      return model;
    }
    add_line(stream.substr(0, end), limits, size_max, model);
    stream.remove_prefix(end == stream.npos ? stream.size() : end + 1);
  }
  return model;
}

class Run {
 public:
  Run(House& house, std::uint8_t choice) : house_(house) {
    constexpr std::uint32_t buffer_sizes[] = {16, 100, 512, 4096};
    options_.connections_max = 2;
    options_.receive_buffers = choice % 2 == 0 ? 16 : 4;
    options_.receive_buffer_size = buffer_sizes[choice / 2 % 4];
    options_.message_size_max = choice / 8 % 2 == 0 ? 5000 : 1024;
    options_.batch_length_max = choice / 16 % 2 == 0 ? 1000 : 3;
    options_.reply_size_max = choice / 32 % 2 == 0 ? 65'536 : 4096;
    options_.reply_slab_size = 65'536;
    options_.reply_slabs = 4;
    options_.segments = 1024;
    options_.refusals_max = 0;
    options_.doors = {{.protocol = serve::Protocol::lines}};
    limits_ = {.batch_length_max = options_.batch_length_max,
               .reply_size_max = options_.reply_size_max,
               .two_way = true};
    shared_.registry = &house.registry;
    shared_.hosts = &house.hosts;
    shared_.oracle = &house.oracle;
    worker_ = std::make_unique<sim::FakeWorker>(options_, shared_);
    RINGRPC_ASSERT(worker_->start({}).ok());
    FakeFaults faults;
    if (choice / 64 % 2 != 0) faults = FakeFaults::swarm(choice);
    faults.send_error = faults.receive_error = faults.reset = 0;
    io().configure(choice, faults);
    client_ = io().connect({});
  }

  void play(std::string_view script) {
    std::string piece;
    for (std::size_t i = 0; i < script.size(); ++i) {
      const std::uint8_t byte = static_cast<std::uint8_t>(script[i]);
      const bool escaped = byte == 0xFE && i + 1 < script.size();
      if (byte < 0xF5 || escaped) {
        piece += escaped ? script[++i] : script[i];
        continue;
      }
      say(piece);
      command(byte);
    }
    say(piece);
  }

  // The client hears the rest; then the answers are compared.
  void check() {
    io().client_resume_reading(client_);
    for (std::size_t before = ~std::size_t{0}; before != heard_.size();) {
      before = heard_.size();
      rest();
      heard_ += io().client_read(client_);
    }
    const Model model = model_of(sent_, fin_, limits_, options_.message_size_max);
    const bool right = reset_ ? model.says.starts_with(heard_) || fin_ : heard_ == model.says;
    if (!right) complain(model, "another answer");
    const bool over = model.ends || fin_;
    if (!reset_ && io().client_at_end(client_) != over) complain(model, "another end");
    for (std::uint32_t slot = 0; slot < house_.names.size(); ++slot) {
      const auto found = model.started.find(house_.names[slot]);
      const std::uint64_t expected = found == model.started.end() ? 0 : found->second;
      const std::uint64_t started = worker_->endpoints()[0].stats->started(slot);
      if (reset_ ? started > expected : started != expected) {
        complain(model, house_.names[slot] + " started " + std::to_string(started) + " times");
      }
    }
  }

  void close() {
    if (!fin_ && !reset_) io().client_fin(client_);
    rest();
    for (int i = 0; i < 100 && worker_->connections() != 0; ++i) {
      io().advance(second);
      rest();
    }
    RINGRPC_ASSERT(worker_->connections() == 0, worker_->connections());
    shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
    for (int i = 0; i < 100 && !worker_->finished(); ++i) {
      io().advance(second);
      worker_->turn();
    }
    RINGRPC_ASSERT(worker_->finished());
    const serve::Gauges& gauges = worker_->gauges();
    RINGRPC_ASSERT(gauges.connections == 0 && gauges.buffers_lent == 0 && gauges.segments == 0);
    RINGRPC_ASSERT(gauges.partial_messages == 0 && gauges.large_reply_bytes == 0);
    io().check_baseline();
  }

 private:
  FakeIo& io() { return worker_->io(); }

  void rest() {
    for (int i = 0; i < 100'000; ++i) {
      worker_->turn();
      if (io().idle()) return;
    }
    RINGRPC_ASSERT(false && "the server does not come to rest");
  }

  void say(std::string& piece) {
    if (!piece.empty() && !fin_ && !reset_) {
      io().client_write(client_, piece);
      sent_ += piece;
    }
    piece.clear();
  }

  void command(std::uint8_t byte) {
    switch (byte) {
      case 0xF5:
        return worker_->turn();
      case 0xF7:
        return rest();
      case 0xF8:
        if (!fin_ && !reset_) io().client_fin(client_);
        fin_ = fin_ || !reset_;
        return;
      case 0xF9:
        if (!reset_) io().client_reset(client_);
        reset_ = true;
        return;
      case 0xFA:
        return io().client_stop_reading(client_, 100);
      case 0xFB:
        return io().client_resume_reading(client_);
      case 0xFC:
        heard_ += io().client_read(client_);
        return;
      default:
        return;
    }
  }

  [[noreturn]] void complain(const Model& model, const std::string& what) const {
    std::fprintf(stderr, "%s\n  sent:  %s\n  heard: %s\n  not:   %s\n", what.c_str(),
                 testing::shown(sent_).c_str(), testing::shown(heard_).c_str(),
                 testing::shown(model.says).c_str());
    std::abort();
  }

  House& house_;
  serve::WorkerOptions options_;
  serve::WorkerShared shared_;
  ModelLimits limits_;
  std::unique_ptr<sim::FakeWorker> worker_;
  FakeIo::ClientId client_ = 0;
  std::string sent_;
  std::string heard_;
  bool fin_ = false;
  bool reset_ = false;
};

}  // namespace
}  // namespace ringrpc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringrpc::fuzz;
  static House* const house = new House;  // for the life of the program
  if (size == 0 || size > input_size_max) return 0;
  Run run(*house, data[0]);
  run.play({reinterpret_cast<const char*>(data) + 1, size - 1});
  run.check();
  run.close();
  return 0;
}
