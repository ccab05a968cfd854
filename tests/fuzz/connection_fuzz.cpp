// Goal: whatever bytes clients send, in whatever pieces, each hears exactly the answers of its own
// requests, in order, and nothing is left behind.
// Method: the worker of production on the fake kernel. The first byte of the input chooses limits
// and harmless faults; the rest are the bytes of up to four clients, with bytes that no UTF-8 has
// as commands in between. A model works out the answers from each client's whole stream.
//
//   F5 a turn   F6 the next client   F7 turns to rest   F8 its FIN   F9 its reset
//   FA it stops reading   FB it reads again   FC it reads once   FD three seconds pass
//   FE the next byte is no command   FF the server begins to stop

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "engine/serve/responder.h"
#include "tests/fuzz/http_model.h"
#include "tests/sim/fake_worker.h"

namespace ringrpc::fuzz {
namespace {

using base::Counter;
using testing::FakeFaults;
using testing::FakeIo;
using testing::Match;
using testing::MatchState;

constexpr std::size_t input_size_max = 1u << 15;
constexpr std::size_t peers_max = 4;
constexpr std::uint64_t second = 1'000'000'000;

struct Oracle final : serve::Oracle {
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::string metrics() const override { return "none\n"; }
};

struct Peer {
  FakeIo::ClientId id = 0;
  std::string sent;
  std::string heard;
  bool fin = false;
  bool reset = false;  // by itself, or it was never let in
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

class Run {
 public:
  Run(House& house, std::uint8_t choice) : house_(house) {
    constexpr std::uint32_t buffer_sizes[] = {16, 100, 512, 4096};
    options_.connections_max = peers_max;
    options_.receive_buffers = choice % 2 == 0 ? 16 : 4;
    options_.receive_buffer_size = buffer_sizes[choice / 2 % 4];
    options_.message_size_max = choice / 8 % 2 == 0 ? 5000 : 1024;
    options_.batch_length_max = choice / 16 % 2 == 0 ? 1000 : 3;
    options_.reply_size_max = choice / 32 % 2 == 0 ? 65'536 : 4096;
    options_.reply_slab_size = 65'536;
    options_.reply_slabs = 4;
    options_.segments = 1024;
    options_.refusals_max = 0;
    if (choice / 128 % 2 != 0) {
      options_.head = {.size_max = 1024, .fields_max = 8, .target_size_max = 256};
      options_.peer.drain_size_max = 200;
    }
    model_ = {.rpc = {.batch_length_max = options_.batch_length_max,
                      .reply_size_max = options_.reply_size_max},
              .message_size_max = options_.message_size_max,
              .drain_size_max = options_.peer.drain_size_max,
              .head = options_.head};
    shared_.registry = &house.registry;
    shared_.hosts = &house.hosts;
    shared_.oracle = &house.oracle;
    shared_.mounts = {plain_mount()};
    worker_ = std::make_unique<sim::FakeWorker>(options_, shared_);
    RINGRPC_ASSERT(worker_->start({}).ok());
    FakeFaults faults;
    if (choice / 64 % 2 != 0) faults = FakeFaults::swarm(choice);
    faults.send_error = faults.receive_error = faults.reset = 0;
    io().configure(choice, faults);
    peers_.reserve(peers_max);
    next_peer();
  }

  void play(std::string_view script) {
    std::string piece;
    for (std::size_t i = 0; i < script.size(); ++i) {
      const std::uint8_t byte = static_cast<std::uint8_t>(script[i]);
      if (byte < 0xF5) {
        piece += script[i];
        continue;
      }
      if (byte == 0xFE) {
        if (++i < script.size()) piece += script[i];
        continue;
      }
      say(piece);
      command(byte);
    }
    say(piece);
  }

  // Everybody hears the rest; then the answers are compared.
  void check() {
    for (;;) {
      rest();
      std::size_t more = 0;
      for (Peer& peer : peers_) {
        io().client_resume_reading(peer.id);
        more += hear(peer);
      }
      if (more == 0) break;
    }
    for (const Peer& peer : peers_) check_peer(peer);
    check_counts();
  }

  void close() {
    for (Peer& peer : peers_) leave(peer, 0xF8);
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
    RINGRPC_ASSERT(counted(Counter::accepts) == counted(Counter::closes));
    RINGRPC_ASSERT(counted(Counter::bytes_in) == io().bytes_received());
    RINGRPC_ASSERT(counted(Counter::bytes_out) == io().bytes_sent());
    io().check_baseline();
  }

 private:
  FakeIo& io() { return worker_->io(); }
  [[nodiscard]] std::uint64_t counted(Counter counter) const {
    return worker_->counters().get(counter);
  }

  void rest() {
    for (int i = 0; i < 100'000; ++i) {
      worker_->turn();
      if (io().idle()) return;
    }
    RINGRPC_ASSERT(false && "the server does not come to rest");
  }

  void next_peer() {
    at_ = peers_.empty() ? 0 : (at_ + 1) % peers_max;
    if (at_ < peers_.size()) return;
    io::Address address;
    address.port = static_cast<std::uint16_t>(1 + at_);
    Peer peer;
    peer.id = io().connect(address);
    peer.reset = io().client_gone(peer.id);
    peers_.push_back(std::move(peer));
  }

  void say(std::string& piece) {
    Peer& peer = peers_[at_];
    if (!piece.empty() && !peer.fin && !peer.reset) {
      io().client_write(peer.id, piece);
      peer.sent += piece;
    }
    piece.clear();
  }

  std::size_t hear(Peer& peer) {
    const std::string more = io().client_read(peer.id);
    peer.heard += more;
    return more.size();
  }

  void leave(Peer& peer, std::uint8_t how) {
    if (peer.fin || peer.reset) return;
    if (how == 0xF8) {
      io().client_fin(peer.id);
      peer.fin = true;
    } else {
      io().client_reset(peer.id);
      peer.reset = true;
    }
  }

  void command(std::uint8_t byte) {
    Peer& peer = peers_[at_];
    switch (byte) {
      case 0xF5:
        return worker_->turn();
      case 0xF6:
        return next_peer();
      case 0xF7:
        return rest();
      case 0xFA:
        return io().client_stop_reading(peer.id, 100);
      case 0xFB:
        return io().client_resume_reading(peer.id);
      case 0xFC:
        hear(peer);
        return;
      case 0xFD:
        timed_ = true;
        return io().advance(3 * second);
      case 0xFF:
        stopping_ = true;
        return shared_.phase.store(serve::Phase::stopping, std::memory_order_release);
      default:
        return leave(peer, byte);
    }
  }

  [[noreturn]] static void complain(const Peer& peer, const std::string& what) {
    std::fprintf(stderr, "client %u: %s\n  sent:  %s\n  heard: %s\n", peer.id, what.c_str(),
                 testing::shown(peer.sent).c_str(), testing::shown(peer.heard).c_str());
    std::abort();
  }

  // Takes a reply off the front. Returns: whether it was there.
  static bool take(const testing::ExpectedReply& reply, std::string_view& rest) {
    const Match match = testing::match_reply(reply, rest);
    if (match.state != MatchState::matched) return false;
    rest.remove_prefix(match.size);
    return true;
  }

  static testing::ExpectedReply bare(int status) {
    testing::ExpectedReply reply;
    reply.status = status;
    if (status != 100) reply.fields = {"Connection: close"};
    return reply;
  }

  void check_peer(const Peer& peer) {
    const Conversation talk = converse(peer.sent, model_);
    std::string_view rest = peer.heard;
    bool over = false;  // an answer said so, or a deadline
    std::size_t count = 0;
    for (; count < talk.answers.size() && !over; ++count) {
      const HttpAnswer& answer = talk.answers[count];
      if (answer.may_continue) take(bare(100), rest);
      if (rest.empty()) break;
      const Match match = testing::match_reply(answer.reply, rest);
      if (match.state == MatchState::matched) {
        rest.remove_prefix(match.size);
        over = answer.closes;
      } else if (stopping_ && take(answer.closing, rest)) {
        over = true;
      } else if (timed_ && take(bare(408), rest)) {
        over = true;
        break;
      } else if (peer.reset && match.state == MatchState::more) {
        rest = {};
        break;
      } else {
        complain(peer, "answer " + std::to_string(count) + ": " + match.complaint);
      }
      for (const auto& [name, times] : answer.started) certainly_[name] += times;
    }
    for (const HttpAnswer& answer : talk.answers) {
      for (const auto& [name, times] : answer.started) possibly_[name] += times;
      requests_ += answer.counts ? 1 : 0;
    }
    if (!over && count == talk.answers.size() && talk.may_continue) take(bare(100), rest);
    if (!over && timed_) over = take(bare(408), rest);
    if (!rest.empty() && !peer.reset) complain(peer, "there came more");
    const bool excused = peer.reset || timed_ || (stopping_ && over);
    if (count < talk.answers.size() && !excused) complain(peer, "answers are missing");
    disturbed_ |= peer.reset;
    if (peer.reset || timed_ || stopping_) return;
    if (io().client_at_end(peer.id) != (over || peer.fin)) complain(peer, "another end");
  }

  void check_counts() {
    RINGRPC_ASSERT(counted(Counter::limit_partial_pool) == 0);
    RINGRPC_ASSERT(counted(Counter::limit_reply_memory) == 0);
    const bool exact = !disturbed_ && !timed_ && !stopping_;
    for (std::uint32_t slot = 0; slot < house_.names.size(); ++slot) {
      const std::string& name = house_.names[slot];
      const std::uint64_t started = worker_->endpoints()[0].stats->started(slot);
      RINGRPC_ASSERT(started >= certainly_[name], slot, started, certainly_[name]);
      RINGRPC_ASSERT(started <= possibly_[name], slot, started, possibly_[name]);
      RINGRPC_ASSERT(!exact || started == possibly_[name], slot, started, possibly_[name]);
    }
    const std::uint64_t requests = counted(Counter::requests);
    RINGRPC_ASSERT(exact ? requests == requests_ : requests <= requests_, requests, requests_);
  }

  House& house_;
  serve::WorkerOptions options_;
  serve::WorkerShared shared_;
  ServerModel model_;
  std::unique_ptr<sim::FakeWorker> worker_;
  std::vector<Peer> peers_;
  std::size_t at_ = 0;
  bool timed_ = false;
  bool stopping_ = false;
  bool disturbed_ = false;
  std::uint64_t requests_ = 0;
  std::map<std::string, std::uint64_t> certainly_;  // handlers whose answer was heard
  std::map<std::string, std::uint64_t> possibly_;   // handlers that were asked for
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
