// Goal: no attack of the rows F, R and P, and no mistake of a peer, gets anything but its one right
// answer. Method: the conversations of tests/attack/*.md against a real server on both backends:
// whole, cut in two at every offset, and byte by byte, each under the rule of
// tests/attack/README.md.
//
// Usage: attack_test [gtest flags]

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/attack/crowd.h"
#include "tests/spec/methods.h"
#include "tests/support/conversation.h"

namespace ringrpc::testing {
namespace {

// A sanitizer makes each turn many times dearer: then a sample has to do, another one in each run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t cuts_max = 4;
constexpr std::size_t byte_by_byte_share = 16;
#else
constexpr std::size_t cuts_max = 400;
constexpr std::size_t byte_by_byte_share = 1;
#endif
// Longer conversations are cut less often, and not sent byte by byte.
constexpr std::size_t bytes_max = 800;
constexpr std::size_t cut_bytes_max = 400u << 10;
// So many connections at a time; a conversation that the server may not read to its end has to be
// alone, since its bytes cannot be counted.
constexpr std::size_t crowd_max = 48;
constexpr std::size_t crowd_size_max = 48u << 10;
constexpr std::size_t complaints_max = 5;

// The conversations of one row, as one test.
struct Row {
  const ConversationFile* file = nullptr;
  std::vector<const Conversation*> conversations;
};

class Attack : public ::testing::Test {
 public:
  Attack(const Row& row, IoChoice io) : row_(row), io_(io) {}

  void TestBody() override {
    start();
    if (HasFatalFailure()) return;
    for (const Conversation* one : row_.conversations) play_whole(*one);
    play_torn(cuts());
    play_torn(single_bytes());
    EXPECT_EQ(crowd_->check_baseline(), "");
    crowd_.reset();
    EXPECT_EQ(server_->stop(), 0);
  }

 private:
  void start() {
    Options options;
    options.listen = "127.0.0.1:0";
    options.workers = 1;
    options.io = io_;
    options.pin = false;
    options.connections_max = 2 * crowd_max;
    // Many connections take their steps together: the slowest must not be the server's concern.
    options.head_timeout_ms = options.body_grace_ms = options.linger_timeout_ms = 60'000;
    Served served;
    ASSERT_EQ(read_options(row_.file->options, options, served), "");
    server_ = std::make_unique<Server>(options);
    ASSERT_TRUE(add_methods(*server_, served, options.reply_size_max)) << served.methods;
    server_->method("witness", []() { return true; });
    ASSERT_TRUE(server_->start()) << server_->error();
    crowd_ = std::make_unique<Crowd>(*server_);
  }

  void play(std::span<const Part> parts, std::string_view how) {
    if (complaints_ >= complaints_max) return;
    for (const std::string& complaint : crowd_->play(parts)) {
      if (++complaints_ <= complaints_max) ADD_FAILURE() << how << complaint;
    }
  }

  void play_whole(const Conversation& one) {
    const std::string before = server_->metrics();
    const Part part{.one = &one, .cuts = {}};
    play({&part, 1}, "");
    EXPECT_EQ(crowd_->check_baseline(), "") << one.place << ": " << one.name;
    const std::string after = server_->metrics();
    for (const auto& [name, count] : one.counts) {
      std::uint64_t grown = metric_of(after, name) - metric_of(before, name);
      if (name == "ringrpc_bytes_copied_total") grown -= std::min(grown, witness_copies_max);
      EXPECT_EQ(grown, count) << one.place << ": " << one.name << ": " << name;
    }
  }

  // All at the same time as far as there is room.
  void play_torn(std::vector<Part> parts) {
    std::vector<Part> batch;
    for (const Part& part : parts) {
      if (part.one->sent_size() > crowd_size_max) {
        play({&part, 1}, describe(part));
        continue;
      }
      batch.push_back(part);
      if (batch.size() == crowd_max) play(batch, "torn: "), batch.clear();
    }
    if (!batch.empty()) play(batch, "torn: ");
  }

  static std::string describe(const Part& part) {
    return "send " + std::to_string(part.cuts.step) + " cut at " +
           std::to_string(part.cuts.offset) + ": ";
  }

  std::vector<Part> cuts() {
    std::vector<Part> parts;
    for (const Conversation* one : row_.conversations) {
      std::size_t sends = 0;
      for (const Step& step : one->steps) {
        if (step.kind != Step::Kind::send) continue;
        std::vector<std::size_t> offsets;
        for (std::size_t i = 1; i < step.bytes.size(); ++i) offsets.push_back(i);
        std::shuffle(offsets.begin(), offsets.end(), random_);
        const std::size_t most = std::max<std::size_t>(
            2, std::min(cuts_max, cut_bytes_max / std::max<std::size_t>(1, one->sent_size())));
        offsets.resize(std::min(offsets.size(), most));
        for (const std::size_t offset : offsets) {
          parts.push_back({.one = one, .cuts = {.step = sends, .offset = offset}});
        }
        ++sends;
      }
    }
    return parts;
  }

  std::vector<Part> single_bytes() {
    std::vector<Part> parts;
    for (const Conversation* one : row_.conversations) {
      if (one->sent_size() > bytes_max || random_() % byte_by_byte_share != 0) continue;
      parts.push_back({.one = one, .cuts = {.every_byte = true}});
    }
    return parts;
  }

  // The second client's call is put together from two halves.
  static constexpr std::uint64_t witness_copies_max = 1024;

  const Row& row_;
  const IoChoice io_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Crowd> crowd_;
  std::mt19937_64 random_{seed()};
  std::size_t complaints_ = 0;

  static std::uint64_t seed() {
    static const std::uint64_t value = std::random_device{}();
    std::printf("seed of the cuts: %llu\n", static_cast<unsigned long long>(value));
    return value;
  }
};

const std::vector<ConversationFile>& files() {
  static const std::vector<ConversationFile> all = [] {
    std::vector<ConversationFile> read;
    for (const char* name : {"framing", "payload", "peers", "size", "time", "websocket"}) {
      read.push_back(read_conversations(std::string(RINGRPC_ATTACK_FOLDER) + "/" + name + ".md"));
    }
    return read;
  }();
  return all;
}

// "F4: a length" is of the row F4; what has none is there to prove the others.
std::string row_of(const Conversation& one) {
  const std::size_t colon = one.name.find(": ");
  std::string row;
  for (const char c : one.name.substr(0, colon == one.name.npos ? 0 : colon)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) row += c;
  }
  return row.empty() ? "Sanity" : row;
}

TEST(AttackRows, AreThereAndFramingRefusalsEndTheirConnections) {
  std::set<std::string> rows;
  std::size_t cases = 0;
  for (const ConversationFile& file : files()) {
    ASSERT_EQ(file.error, "");
    for (const Conversation& one : file.conversations) {
      rows.insert(row_of(one));
      ++cases;
      for (const Step& step : one.steps) {
        if (step.kind != Step::Kind::reply) continue;
        const int status = step.reply.status;
        const std::set<int> of_framing{400, 408, 413, 417, 431, 501, 505};
        if (!of_framing.contains(status)) continue;
        const auto& fields = step.reply.fields;
        EXPECT_NE(std::find(fields.begin(), fields.end(), "Connection: close"), fields.end())
            << one.place;
        EXPECT_EQ(one.steps.back().kind, Step::Kind::close) << one.place;
      }
    }
  }
  for (const char* row :
       {"F1",  "F2",  "F3",  "F4",  "F5",  "F7",  "F8",   "F10",  "F11", "F12", "F14",
        "F15", "F16", "F18", "F19", "F21", "F22", "F23",  "F24",  "F27", "F29", "F30",
        "F31", "F33", "F34", "F36", "TM1", "TM2", "TM3",  "TM4",  "TM7", "R1",  "R2",
        "R5",  "R6",  "R7",  "R8",  "R9",  "P1",  "P2",   "P3",   "P4",  "P6",  "P8",
        "P9",  "P10", "P11", "P12", "P14", "P15", "P16",  "P17",  "P20", "P21", "P22",
        "WS1", "WS2", "WS3", "WS4", "WS7", "WS9", "WS11", "WS12", "W1",  "W2",  "W7"}) {
    EXPECT_TRUE(rows.contains(row)) << row;
  }
  std::printf("%zu cases in %zu rows\n", cases, rows.size());
}

void add_tests() {
  static std::map<std::pair<std::string, std::string>, Row> rows;
  for (const ConversationFile& file : files()) {
    for (const Conversation& one : file.conversations) {
      if (one.took_ms.has_value()) continue;  // Needs a clock: time_test.cpp.
      Row& row = rows[{file.name, row_of(one)}];
      row.file = &file;
      row.conversations.push_back(&one);
    }
  }
  for (const auto& [key, row] : rows) {
    for (const auto& [io, suffix] :
         {std::pair{IoChoice::uring, "OverUring"}, std::pair{IoChoice::epoll, "OverEpoll"}}) {
      ::testing::RegisterTest(key.first.c_str(), (key.second + suffix).c_str(), nullptr, nullptr,
                              __FILE__, __LINE__,
                              [&row = row, io = io]() -> Attack* { return new Attack(row, io); });
    }
  }
}

}  // namespace
}  // namespace ringrpc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ringrpc::testing::add_tests();
  return RUN_ALL_TESTS();
}
