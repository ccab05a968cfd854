// Goal: what a client sends gets the answer that the protocol's page promises, however the bytes
// arrive. Method: the conversations of tests/spec/*.md, in memory and over real sockets on both
// backends: whole, cut in two at every offset, and byte by byte, where the server has taken each
// piece before the next one is sent. Those that are not HTTP's own are played as lines of JSON,
// too, and all on Unix sockets.
//
// Usage: spec_test [gtest flags]

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/spec/methods.h"
#include "tests/spec/player.h"
#include "tests/support/conversation.h"
#include "tests/support/conversation_lines.h"
#include "tests/support/conversation_messages.h"
#include "tests/support/temporary_folder.h"

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
constexpr std::size_t handshake_cuts_max = 4;
constexpr std::size_t handshake_share = 20;
// Longer ones are not sent byte by byte.
constexpr std::size_t bytes_max = 800;
constexpr int complaints_max = 10;

enum class Mode { in_memory, whole, cut, bytes };

// What the server listens on; its paths lie in a folder of the test's own.
struct Transport {
  const char* name;    // in the names of the tests
  const char* listen;  // "PATH" stands for the path of a socket
  bool lines;
};
constexpr Transport http_over_tcp{"", "127.0.0.1:0", false};
constexpr Transport other_transports[] = {{"AsLines", "tcp://127.0.0.1:0", true},
                                          {"AsLinesOnAPath", "unix:PATH", true},
                                          {"OnAPath", "unix-http:PATH", false}};
constexpr Transport websocket{"AsMessages", "127.0.0.1:0", false};

class Conversations : public ::testing::Test {
 public:
  Conversations(const ConversationFile& file, Mode mode, IoChoice io, const Transport& transport)
      : file_(file), mode_(mode), io_(io), transport_(transport) {}

  void TestBody() override {
    ASSERT_EQ(file_.error, "");
    start();
    if (HasFatalFailure()) return;
    for (const Conversation& one : file_.conversations) {
      if (complaints_ >= complaints_max) break;
      mode_ == Mode::in_memory ? play_in_memory(one) : play(one);
    }
    player_.reset();
    if (mode_ != Mode::in_memory) {
      ASSERT_EQ(server_->stop(), 0);
      check_baseline();
    }
  }

 private:
  void start() {
    Options options;
    options.listen = transport_.listen;
    if (const std::size_t at = options.listen.find("PATH"); at != options.listen.npos) {
      options.listen.replace(at, 4, folder_.path() + "/socket");
    }
    options.workers = 1;
    options.io = io_;
    options.pin = false;
    options.connections_max = 16;  // With debug checks on, each turn looks at all of them.
    Served served;
    ASSERT_EQ(read_options(file_.options, options, served), "");
    server_ = std::make_unique<Server>(options);
    ASSERT_TRUE(add_methods(*server_, served, options.reply_size_max)) << served.methods;
    if (mode_ == Mode::in_memory) return;
    ASSERT_TRUE(server_->start()) << server_->error();
    player_ = std::make_unique<Player>(*server_, transport_.lines);
  }

  void complain(const Conversation& one, const std::string& how, const std::string& complaint) {
    if (complaint.empty()) return;
    ++complaints_;
    ADD_FAILURE() << one.place << ": " << one.name << how << "\n " << complaint;
  }

  void play_in_memory(const Conversation& one) {
    if (!one.is_single()) return;
    std::string answer;
    server_->call_http(one.steps[0].bytes, answer);
    const Match match = match_reply(one.steps[1].reply, answer);
    complain(one, "",
             match.state == MatchState::more ? "cut short: " + shown(answer) : match.complaint);
    if (match.state == MatchState::matched && match.size != answer.size()) {
      complain(one, "", "there came more: " + shown(answer));
    }
    if (!one.steps[0].message.has_value()) return;
    server_->call(*one.steps[0].message, answer);
    if (answer != one.steps[1].reply.body) complain(one, " (call)", shown(answer));
  }

  void play(const Conversation& one) {
    if (mode_ == Mode::whole) {
      const std::string before = server_->metrics();
      complain(one, "", player_->play(one, {}));
      check_counts(one, before);
      complain(one, "", player_->probe());
      return;
    }
    std::size_t sends = 0;
    for (const Step& step : one.steps) {
      if (step.kind != Step::Kind::send) continue;
      mode_ == Mode::cut ? play_cut(one, sends, step) : play_bytes(one, sends, step);
      ++sends;
    }
    complain(one, " (torn)", player_->probe());
  }

  void play_cut(const Conversation& one, std::size_t step, const Step& send) {
    std::vector<std::size_t> offsets;
    for (std::size_t i = 1; i < send.bytes.size(); ++i) offsets.push_back(i);
    const std::size_t most = send.handshake ? handshake_cuts_max : cuts_max;
    if (offsets.size() > most) {
      std::shuffle(offsets.begin(), offsets.end(), random_);
      offsets.resize(most);
    }
    for (const std::size_t offset : offsets) {
      if (complaints_ >= complaints_max) return;
      const std::string how =
          " (send " + std::to_string(step) + " cut at " + std::to_string(offset) + ")";
      complain(one, how, player_->play(one, {.step = step, .offset = offset}));
    }
  }

  void play_bytes(const Conversation& one, std::size_t step, const Step& send) {
    const std::size_t share = byte_by_byte_share * (send.handshake ? handshake_share : 1);
    if (send.bytes.size() > bytes_max || random_() % share != 0) return;
    complain(one, " (send " + std::to_string(step) + " byte by byte)",
             player_->play(one, {.step = step, .every_byte = true}));
  }

  void check_counts(const Conversation& one, const std::string& before) {
    const std::string after = server_->metrics();
    for (const auto& [name, count] : one.counts) {
      const std::uint64_t grown = metric_of(after, name) - metric_of(before, name);
      if (grown != count) complain(one, "", name + " grew by " + std::to_string(grown));
    }
  }

  void check_baseline() {
    const std::string metrics = server_->metrics();
    for (const char* name : {"ringrpc_connections", "ringrpc_buffers_lent",
                             "ringrpc_memory_bytes{pool=\"large_replies\"}"}) {
      EXPECT_EQ(metric_of(metrics, name), 0u) << name;
    }
  }

  const ConversationFile& file_;
  const Mode mode_;
  const IoChoice io_;
  const Transport transport_;
  const TemporaryFolder folder_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Player> player_;
  std::mt19937_64 random_{seed()};
  int complaints_ = 0;

  static std::uint64_t seed() {
    static const std::uint64_t value = std::random_device{}();
    std::printf("seed of the cuts: %llu\n", static_cast<unsigned long long>(value));
    return value;
  }
};

void add_test(const ConversationFile& file, const std::string& name, Mode mode, IoChoice io,
              const Transport& transport) {
  const std::string whole_name = name + transport.name;
  ::testing::RegisterTest(file.name.c_str(), whole_name.c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [&file, mode, io, &transport]() -> Conversations* {
                            return new Conversations(file, mode, io, transport);
                          });
}

// Whole, cut anywhere, and byte by byte, on both backends.
void add_tests(const ConversationFile& file, const Transport& transport, bool torn) {
  if (file.error.empty() && file.conversations.empty()) return;
  for (const auto& [io, suffix] :
       {std::pair{IoChoice::uring, "OverUring"}, std::pair{IoChoice::epoll, "OverEpoll"}}) {
    add_test(file, std::string("Holds") + suffix, Mode::whole, io, transport);
    if (!torn) continue;
    add_test(file, std::string("HoldsCutAnywhere") + suffix, Mode::cut, io, transport);
    add_test(file, std::string("HoldsByteByByte") + suffix, Mode::bytes, io, transport);
  }
}

std::vector<ConversationFile> read_all() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(RINGRPC_SPEC_FOLDER)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".md" && path.filename() != "README.md") paths.push_back(path.string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ConversationFile> files;
  for (const std::string& path : paths) files.push_back(read_conversations(path));
  return files;
}

}  // namespace
}  // namespace ringrpc::testing

int main(int argc, char** argv) {
  using namespace ringrpc::testing;
  ::testing::InitGoogleTest(&argc, argv);
  const std::vector<ConversationFile> files = read_all();
  std::vector<ConversationFile> lines;
  for (const ConversationFile& file : files) lines.push_back(as_lines(file));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].lines) {
      add_test(files[i], "HoldsInMemory", Mode::in_memory, ringrpc::IoChoice::epoll, http_over_tcp);
      add_tests(files[i], http_over_tcp, true);
    }
    for (const Transport& transport : other_transports) {
      // Bytes are torn the same way on TCP and on a path; how HTTP is torn is known.
      const bool torn = &transport == &other_transports[0];
      if (transport.lines) {
        add_tests(lines[i], transport, torn);
      } else if (!files[i].lines) {
        add_tests(files[i], transport, torn);
      }
    }
  }
  std::vector<ConversationFile> messages;
  for (const ConversationFile& file : files) messages.push_back(as_messages(file));
  for (const ConversationFile& file : messages) {
    if (!file.conversations.empty()) add_tests(file, websocket, false);
  }
  return RUN_ALL_TESTS();
}
