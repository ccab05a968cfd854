// Goal: the conversations of tests/spec/*.md hold on the worker itself, as HTTP and as lines, cut
// anywhere, byte by byte, and with a kernel that splits, delays and reorders everything.
// Method: the worker of a server on the fake kernel; between two pieces it comes to rest.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/sim_server.h"
#include "tests/support/conversation.h"
#include "tests/support/conversation_lines.h"
#include "tests/support/conversation_messages.h"

namespace ringrpc::sim {
namespace {

using testing::Conversation;
using testing::ConversationFile;
using testing::FakeFaults;
using testing::FakeIo;
using testing::Match;
using testing::MatchState;
using testing::Step;

// The fake kernel moves what it has not delivered at each piece: more is for sockets.
constexpr std::size_t sent_size_max = 256u << 10;
constexpr std::size_t nowhere = ~std::size_t{0};
// Longer sends are cut at so many places, as far as so many bytes go, and not sent byte by byte.
constexpr std::size_t cut_bytes_max = 1u << 20;
constexpr std::size_t handshake_cuts_max = 5;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t cuts_max = 50;
#else
constexpr std::size_t cuts_max = 600;
#endif

class Stage {
 public:
  explicit Stage(const ConversationFile& file)
      : server_(file.options), listener_(file.lines ? 1u : 0u) {}

  // Plays it with the given send cut at an offset; step nowhere: none, offset nowhere: everywhere.
  // Returns: a complaint, empty when everything came as it should.
  std::string play(const Conversation& one, std::size_t cut_step, std::size_t offset) {
    FakeIo& io = server_.io();
    client_ = io.connect({}, listener_);
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
        case Step::Kind::pass:
        case Step::Kind::hold:
          complaint = "not played here";
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
    if (complaint.empty()) complaint = server_.check_baseline();
    return complaint;
  }

  std::map<std::string, std::uint64_t> calls() { return server_.calls(); }

  void set_faults(std::uint64_t seed) {
    FakeFaults faults = FakeFaults::swarm(seed);
    faults.send_error = faults.receive_error = faults.reset = faults.reset_after_fin = 0;
    server_.io().configure(seed, faults);
  }

 private:
  void send(std::string_view bytes, std::size_t offset) {
    FakeIo& io = server_.io();
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

  bool rest() { return server_.rest(client_, heard_); }

  SimServer server_;
  const std::uint32_t listener_;
  FakeIo::ClientId client_ = 0;
  std::string heard_;
};

std::vector<ConversationFile> read_all() {
  std::vector<std::string> paths;
  for (const char* folder : {RINGRPC_SPEC_FOLDER, RINGRPC_ATTACK_FOLDER}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::filesystem::path& path = entry.path();
      if (path.extension() != ".md" || path.filename() == "README.md") continue;
      // Where time passes, another player does (tests/attack/time_test.cpp); threads live in time.
      const bool timed = path.filename() == "time.md" || path.filename() == "blocking.md";
      if (!timed) paths.push_back(path.string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ConversationFile> files;
  for (const std::string& path : paths) {
    ConversationFile file = testing::read_conversations(path);
    ConversationFile lines = testing::as_lines(file);
    ConversationFile messages = testing::as_messages(file);
    if (!file.lines) files.push_back(std::move(file));
    if (!messages.conversations.empty()) files.push_back(std::move(messages));
    if (!lines.error.empty() || !lines.conversations.empty()) files.push_back(std::move(lines));
  }
  return files;
}

template <typename Play>
void for_each_conversation(Play play) {
  for (const ConversationFile& file : read_all()) {
    ASSERT_EQ(file.error, "") << file.name;
    Stage stage(file);
    for (const Conversation& one : file.conversations) {
      if (one.sent_size() <= sent_size_max) play(stage, one);
    }
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
      const std::size_t size = step.bytes.size() + 1;
      const std::size_t most = step.handshake ? handshake_cuts_max : cuts_max;
      const std::size_t cuts = std::clamp<std::size_t>(cut_bytes_max / size, 2, most);
      const std::size_t stride = 1 + size / cuts;
      for (std::size_t offset = 1; offset < step.bytes.size(); offset += stride) {
        ASSERT_EQ(stage.play(one, sends, offset), "")
            << one.place << ": " << one.name << ", send " << sends << " cut at " << offset;
      }
      if (step.bytes.size() <= most) {
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
}  // namespace ringrpc::sim
