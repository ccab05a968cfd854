// Goal: the conversations of tests/spec/*.md hold on the worker itself, cut in two at every offset,
// byte by byte, and with a kernel that splits, delays and reorders everything.
// Method: the worker of a server on the fake kernel; between two pieces it comes to rest.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/serve/server_impl.h"
#include "tests/sim/fake_worker.h"
#include "tests/spec/methods.h"
#include "tests/support/conversation.h"

namespace ringrpc {

// The server's own table, host policy and options, which the public door does not show: an explicit
// instantiation may name a private member.
template <auto Member>
struct Door {
  friend auto& impl_of(Server& server) { return *(server.*Member); }
};
auto& impl_of(Server& server);
template struct Door<&Server::impl_>;

namespace sim {
namespace {

using testing::Conversation;
using testing::ConversationFile;
using testing::FakeFaults;
using testing::FakeIo;
using testing::Match;
using testing::MatchState;
using testing::Step;

constexpr std::size_t nowhere = ~std::size_t{0};
// Longer sends are cut at so many places, and not sent byte by byte.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t cuts_max = 50;
#else
constexpr std::size_t cuts_max = 600;
#endif

class Stage {
 public:
  explicit Stage(const ConversationFile& file) {
    Options options;
    options.listen = "";
    options.connections_max = 4;
    std::string methods = "demo";
    for (const auto& [name, value] : file.options) {
      const auto number = [&value = value] {
        return static_cast<std::uint32_t>(std::stoul(value));
      };
      if (name == "methods") methods = value;
      if (name == "message_size_max") options.message_size_max = number();
      if (name == "reply_size_max") options.reply_size_max = number();
      if (name == "batch_length_max") options.batch_length_max = number();
      if (name == "host") options.hosts.push_back(value);
      if (name == "origin") options.origins.push_back(value);
    }
    server_ = std::make_unique<Server>(options);
    EXPECT_TRUE(testing::add_methods(*server_, methods, options.reply_size_max)) << methods;
    auto& impl = impl_of(*server_);
    // Small pools: the fake kernel fills what it lends, and the invariants walk over all.
    serve::WorkerOptions worker = impl.worker_options();
    worker.receive_buffers = 16;
    worker.receive_buffer_size = 1024;
    worker.segments = 64;
    worker.reply_slabs = 4;
    worker_ = std::make_unique<FakeWorker>(worker, impl.shared);
    EXPECT_TRUE(worker_->start({}).ok());
  }

  // Plays it with the given send cut at an offset; step nowhere: none, offset nowhere: everywhere.
  // Returns: a complaint, empty when everything came as it should.
  std::string play(const Conversation& one, std::size_t cut_step, std::size_t offset) {
    FakeIo& io = worker_->io();
    client_ = io.connect({});
    heard_.clear();
    std::string complaint;
    std::size_t sends = 0;
    for (const Step& step : one.steps) {
      switch (step.kind) {
        case Step::Kind::send:
          send(step.bytes, sends++ == cut_step ? offset : 0);
          break;
        case Step::Kind::reply:
          complaint = take(step);
          break;
        case Step::Kind::finish:
          io.client_fin(client_);
          break;
        case Step::Kind::close:
          if (!rest()) complaint = "the server does not come to rest";
          if (!heard_.empty()) complaint = "there came more: " + testing::shown(heard_);
          if (!io.client_at_end(client_)) complaint = "the connection does not end";
          break;
      }
      if (!complaint.empty()) break;
    }
    if (complaint.empty() && !rest()) complaint = "the server does not come to rest";
    if (complaint.empty() && !heard_.empty()) {
      complaint = "there came more: " + testing::shown(heard_);
    }
    io.client_reset(client_);
    rest();
    // What lingers is waited for.
    io.advance(2'000'000'000);
    rest();
    worker_->check_invariants();
    if (complaint.empty() && worker_->connections() != 0) complaint = "the connection stays";
    if (complaint.empty() && io.lent_count() != 0) complaint = "buffers stay lent";
    return complaint;
  }

  std::map<std::string, std::uint64_t> calls() {
    const std::vector<std::string> names = impl_of(*server_).registry.slot_names();
    std::map<std::string, std::uint64_t> started;
    for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
      if (worker_->stats().started(slot) != 0)
        started[names[slot]] = worker_->stats().started(slot);
    }
    return started;
  }

  void set_faults(std::uint64_t seed) {
    FakeFaults faults = FakeFaults::swarm(seed);
    faults.send_error = faults.receive_error = faults.reset = 0;
    worker_->io().configure(seed, faults);
  }

 private:
  void send(std::string_view bytes, std::size_t offset) {
    FakeIo& io = worker_->io();
    while (offset == nowhere && bytes.size() > 1) {
      io.client_write(client_, bytes.substr(0, 1));
      rest();
      bytes.remove_prefix(1);
    }
    if (offset != nowhere && offset != 0) {
      io.client_write(client_, bytes.substr(0, offset));
      rest();
      bytes.remove_prefix(offset);
    }
    io.client_write(client_, bytes);
  }

  std::string take(const Step& step) {
    if (!rest()) return "the server does not come to rest";
    const Match match = testing::match_reply(step.reply, heard_);
    if (match.state == MatchState::wrong) return match.complaint;
    if (match.state == MatchState::more) return "no whole answer: " + testing::shown(heard_);
    heard_.erase(0, match.size);
    return {};
  }

  // Turns until nothing moves. Returns: false when that does not come.
  bool rest() {
    for (int i = 0; i < 100'000; ++i) {
      worker_->turn();
      heard_ += worker_->io().client_read(client_);
      if (worker_->io().idle()) return true;
    }
    return false;
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<FakeWorker> worker_;
  FakeIo::ClientId client_ = 0;
  std::string heard_;
};

std::vector<ConversationFile> read_all() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(RINGRPC_SPEC_FOLDER)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".md" && path.filename() != "README.md") paths.push_back(path.string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ConversationFile> files;
  for (const std::string& path : paths) files.push_back(testing::read_conversations(path));
  return files;
}

template <typename Play>
void for_each_conversation(Play play) {
  for (const ConversationFile& file : read_all()) {
    ASSERT_EQ(file.error, "") << file.name;
    Stage stage(file);
    for (const Conversation& one : file.conversations) play(stage, one);
  }
}

TEST(ConversationsOnAFakeKernel, HoldWholeAndStartTheirHandlers) {
  for_each_conversation([](Stage& stage, const Conversation& one) {
    std::map<std::string, std::uint64_t> before = stage.calls();
    EXPECT_EQ(stage.play(one, nowhere, 0), "") << one.place << ": " << one.name;
    if (!one.calls.has_value()) return;
    std::map<std::string, std::uint64_t> grown;
    for (const auto& [method, count] : stage.calls()) {
      if (count != before[method]) grown[method] = count - before[method];
    }
    EXPECT_EQ(grown, *one.calls) << one.place << ": " << one.name;
  });
}

TEST(ConversationsOnAFakeKernel, HoldCutAnywhereAndByteByByte) {
  for_each_conversation([](Stage& stage, const Conversation& one) {
    std::size_t sends = 0;
    for (const Step& step : one.steps) {
      if (step.kind != Step::Kind::send) continue;
      const std::size_t stride = 1 + step.bytes.size() / cuts_max;
      for (std::size_t offset = 1; offset < step.bytes.size(); offset += stride) {
        ASSERT_EQ(stage.play(one, sends, offset), "")
            << one.place << ": " << one.name << ", send " << sends << " cut at " << offset;
      }
      if (step.bytes.size() <= cuts_max) {
        ASSERT_EQ(stage.play(one, sends, nowhere), "")
            << one.place << ": " << one.name << ", send " << sends << " byte by byte";
      }
      ++sends;
    }
  });
}

TEST(ConversationsOnAFakeKernel, HoldWithEveryHarmlessFault) {
  for_each_conversation([](Stage& stage, const Conversation& one) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      stage.set_faults(seed);
      ASSERT_EQ(stage.play(one, nowhere, 0), "")
          << one.place << ": " << one.name << ", seed " << seed;
    }
  });
}

}  // namespace
}  // namespace sim
}  // namespace ringrpc
