// Goal: what is slow, silent or unread ends when its limit says so, to the tick of the timers, and
// costs others nothing meanwhile. Method: the conversations of time.md on the fake kernel's clock;
// what the notation has no words for, and an end at any byte of an exchange, step by step.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_server.h"
#include "tests/support/conversation.h"

namespace ringrpc::sim {
namespace {

using testing::Conversation;
using testing::FakeIo;
using testing::Match;
using testing::MatchState;
using testing::Step;

constexpr std::uint64_t slot_ms = limits::timer_slot_ms;
// Nothing takes longer; it only ends a test that would hang.
constexpr std::uint64_t patience_ms = 200'000;
constexpr std::size_t window_of_holders = 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint32_t clients_max = 50;
constexpr int leavers = 500;
#else
constexpr std::uint32_t clients_max = 20'000;
constexpr int leavers = 50'000;
#endif

std::string post(std::string_view message) {
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Content-Length: " +
         std::to_string(message.size()) + "\r\n\r\n" + std::string(message);
}

// Plays one conversation with all its clients, which do everything together.
class Clock {
 public:
  Clock(SimServer& server, const Conversation& one) : server_(server), one_(one) {
    clients_.resize(std::min(one.clients, clients_max));
    for (Client& client : clients_) client.id = io().connect({});
    begin_ms_ = witnessed_ms_ = server_.now_ms();
  }

  // Returns: a complaint, empty when everything came as it should.
  std::string play() {
    std::string complaint = rest();
    for (const Step& step : one_.steps) {
      if (complaint.empty()) complaint = play(step);
    }
    const std::uint64_t took = server_.now_ms() - begin_ms_;
    if (complaint.empty() && one_.took_ms.has_value() &&
        (took < one_.took_ms->first || took > one_.took_ms->second)) {
      complaint = "it took " + std::to_string(took) + " ms";
    }
    for (const Client& client : clients_) io().client_reset(client.id);
    server_.rest();
    server_.pass(2 * limits::linger_timeout_ms);
    server_.rest();
    return complaint.empty() ? server_.check_baseline() : complaint;
  }

  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] std::uint64_t witnesses() const { return witnesses_; }

 private:
  struct Client {
    FakeIo::ClientId id = 0;
    std::string heard;
    bool holds = false;
  };

  FakeIo& io() { return server_.io(); }

  std::string rest() {
    if (!server_.rest()) return "the server does not come to rest";
    for (Client& client : clients_) {
      if (!client.holds) client.heard += io().client_read(client.id);
    }
    return {};
  }

  // Returns: whether the server has said something to the first client, or ended.
  [[nodiscard]] bool has_spoken() {
    return !clients_[0].heard.empty() || io().client_at_end(clients_[0].id);
  }

  std::string tick(std::uint64_t ms) {
    server_.pass(ms);
    if (server_.now_ms() - witnessed_ms_ >= 1000) {
      witnessed_ms_ = server_.now_ms();
      const std::string complaint = witness();
      if (!complaint.empty()) return complaint;
    }
    return rest();
  }

  // A new client is served at once.
  std::string witness() {
    ++witnesses_;
    const FakeIo::ClientId id = io().connect({});
    io().client_write(id,
                      post(R"({"jsonrpc":"2.0","id":"witness","method":"sum","params":[2,3]})"));
    std::string heard;
    server_.rest(id, heard);
    io().client_reset(id);
    server_.rest();
    if (heard.ends_with(R"({"jsonrpc":"2.0","result":5,"id":"witness"})")) return {};
    return "another client is not served: " + testing::shown(heard);
  }

  std::string play(const Step& step) {
    switch (step.kind) {
      case Step::Kind::send:
        return step.pace_ms == 0 ? send(step.bytes) : drip(step);
      case Step::Kind::finish:
        for (const Client& client : clients_) io().client_fin(client.id);
        return rest();
      case Step::Kind::hold:
        for (Client& client : clients_) {
          client.holds = true;
          io().client_stop_reading(client.id, window_of_holders);
        }
        return {};
      case Step::Kind::pass:
        return pass(step.pace_ms);
      case Step::Kind::reply:
      case Step::Kind::close:
        return expect(step);
    }
    return {};
  }

  std::string send(std::string_view bytes) {
    for (const Client& client : clients_) io().client_write(client.id, bytes);
    return rest();
  }

  // Byte by byte, until the server says something.
  std::string drip(const Step& step) {
    for (const char byte : step.bytes) {
      for (std::uint64_t left = step.pace_ms; left > 0; left -= std::min(left, slot_ms)) {
        const std::string complaint = tick(std::min(left, slot_ms));
        if (!complaint.empty() || has_spoken()) return complaint;
      }
      send({&byte, 1});
    }
    return {};
  }

  std::string pass(std::uint64_t ms) {
    for (; ms > 0; ms -= std::min(ms, slot_ms)) {
      const std::string complaint = tick(std::min(ms, slot_ms));
      if (!complaint.empty()) return complaint;
      for (const Client& client : clients_) {
        if (!client.heard.empty() || io().client_at_end(client.id)) {
          return "too early, with " + std::to_string(ms) +
                 " ms left: " + testing::shown(client.heard);
        }
      }
    }
    return {};
  }

  // Waits for it, for each client.
  std::string expect(const Step& step) {
    for (Client& client : clients_) {
      for (std::uint64_t waited = 0; !has_come(client, step); waited += slot_ms) {
        if (!complaint_.empty()) return complaint_;
        if (waited > patience_ms) {
          return "it does not come to client " + std::to_string(&client - clients_.data()) +
                 "; so far: " + testing::shown(client.heard);
        }
        const std::string complaint = tick(slot_ms);
        if (!complaint.empty()) return complaint;
      }
      if (!complaint_.empty()) return complaint_;
    }
    return {};
  }

  bool has_come(Client& client, const Step& step) {
    if (step.kind != Step::Kind::reply) {
      const bool ended = io().client_at_end(client.id);
      if (!client.heard.empty()) complaint_ = "there came more: " + testing::shown(client.heard);
      // Who reads nothing loses what it has not read.
      if (io().client_gone(client.id) && !client.holds) complaint_ = "it was reset";
      return ended;
    }
    const Match match = testing::match_reply(step.reply, client.heard);
    complaint_ = match.complaint;
    if (match.state == MatchState::matched) client.heard.erase(0, match.size);
    return match.state == MatchState::matched;
  }

  SimServer& server_;
  const Conversation& one_;
  std::vector<Client> clients_;
  std::string complaint_;
  std::uint64_t begin_ms_ = 0;
  std::uint64_t witnessed_ms_ = 0;
  std::uint64_t witnesses_ = 0;
};

TEST(Time, IsLimitedAsTheConversationsSay) {
  const testing::ConversationFile file =
      testing::read_conversations(std::string(RINGRPC_ATTACK_FOLDER) + "/time.md");
  ASSERT_EQ(file.error, "");
  for (const Conversation& one : file.conversations) {
    SimServer server(file.options, std::min(one.clients, clients_max) + 4);
    Clock clock(server, one);
    EXPECT_EQ(clock.play(), "") << one.place << ": " << one.name;
    std::map<std::string, std::uint64_t> expected =
        one.calls.value_or(std::map<std::string, std::uint64_t>());
    for (auto& [name, count] : expected) {
      if (one.clients > 1) count = count * clock.clients() / one.clients;
    }
    if (clock.witnesses() != 0) expected["sum"] += clock.witnesses();
    EXPECT_EQ(server.calls(), expected) << one.place << ": " << one.name;
  }
}

class TimeOf : public ::testing::Test {
 protected:
  static constexpr const char* half_ = "POST /rpc HTTP/1.1\r\nHost: local";
  static constexpr const char* other_half_ =
      "host\r\nContent-Type: application/json\r\nContent-Length: 54\r\n\r\n"
      R"({"jsonrpc":"2.0","id":1,"method":"sum","params":[2,3]})";

  FakeIo& io() { return server_.io(); }
  std::string say(FakeIo::ClientId id, std::string_view bytes) {
    std::string heard;
    io().client_write(id, bytes);
    EXPECT_TRUE(server_.rest(id, heard));
    return heard;
  }
  std::string hear(FakeIo::ClientId id) {
    std::string heard;
    EXPECT_TRUE(server_.rest(id, heard));
    return heard;
  }
  void leave(FakeIo::ClientId id) {
    io().client_reset(id);
    server_.rest();
    server_.pass(2 * limits::linger_timeout_ms);
    server_.rest();
    EXPECT_EQ(server_.check_baseline(), "");
  }

  SimServer server_{{}};
};

// A head whose first half was kept unread while its connection was paused.
class TimeOfAKeptHead : public TimeOf {
 protected:
  void SetUp() override {
    id_ = io().connect({});
    io().client_stop_reading(id_, 1024);
    const std::string blob =
        post(R"({"jsonrpc":"2.0","id":7,"method":"blob","params":{"bytes":300000}})");
    io().client_write(id_, blob + half_);
    ASSERT_TRUE(server_.rest());
    ASSERT_GE(server_.counted(base::Counter::limit_unsent_size), 1u) << "it was not paused";
    server_.pass(20'000);
    io().client_resume_reading(id_);
    const std::string heard = hear(id_);
    ASSERT_TRUE(heard.ends_with("xxx\",\"id\":7}")) << testing::shown(heard);
  }

  FakeIo::ClientId id_ = 0;
};

TEST_F(TimeOfAKeptHead, BeginsWhenItIsRead) {
  server_.pass(200);
  EXPECT_EQ(hear(id_), "");
  server_.pass(limits::head_timeout_ms - 2 * slot_ms - 200);
  EXPECT_EQ(hear(id_), "");
  EXPECT_TRUE(say(id_, other_half_).ends_with(R"({"jsonrpc":"2.0","result":5,"id":1})"));
  leave(id_);
}

TEST_F(TimeOfAKeptHead, Ends) {
  server_.pass(limits::head_timeout_ms + 2 * slot_ms);
  EXPECT_TRUE(hear(id_).starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(io().client_at_end(id_));
  leave(id_);
}

TEST_F(TimeOf, HalfAHeadAtAStopIsAMoment) {
  const FakeIo::ClientId id = io().connect({});
  EXPECT_EQ(say(id, half_), "");
  server_.begin_stop();
  EXPECT_EQ(hear(id), "");
  server_.pass(limits::linger_timeout_ms - 2 * slot_ms);
  EXPECT_EQ(hear(id), "") << "it has a moment";
  server_.pass(4 * slot_ms);
  EXPECT_TRUE(hear(id).starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(io().client_at_end(id));
  leave(id);
  EXPECT_TRUE(server_.worker().finished());
}

TEST_F(TimeOf, HalfAHeadThatIsCompletedAfterAStopIsAnswered) {
  const FakeIo::ClientId id = io().connect({});
  EXPECT_EQ(say(id, half_), "");
  server_.begin_stop();
  EXPECT_EQ(hear(id), "");
  const std::string heard = say(id, other_half_);
  EXPECT_NE(heard.find("\r\nConnection: close\r\n"), heard.npos) << heard;
  EXPECT_TRUE(heard.ends_with(R"({"jsonrpc":"2.0","result":5,"id":1})")) << heard;
  EXPECT_TRUE(io().client_at_end(id));
  leave(id);
  EXPECT_TRUE(server_.worker().finished());
}

TEST_F(TimeOf, HalfABodyAtAStopIsItsGrace) {
  const FakeIo::ClientId id = io().connect({});
  const std::string call = post(R"({"jsonrpc":"2.0","id":1,"method":"sum","params":[2,3]})");
  EXPECT_EQ(say(id, call.substr(0, call.size() - 1)), "");
  server_.begin_stop();
  EXPECT_EQ(hear(id), "");
  server_.pass(limits::body_grace_ms - 2 * slot_ms);
  EXPECT_EQ(hear(id), "");
  server_.pass(4 * slot_ms);
  EXPECT_TRUE(hear(id).starts_with("HTTP/1.1 408 "));
  leave(id);
  EXPECT_TRUE(server_.worker().finished());
}

TEST_F(TimeOf, ClientsThatLeaveAtOnceIsNothing) {
  for (int i = 0; i < leavers; ++i) {
    const FakeIo::ClientId id = io().connect({});
    if (i % 2 == 0) server_.worker().turn();  // Accepted before it leaves, or not.
    io().client_reset(id);
    if (i % 3 == 0) server_.rest();
  }
  ASSERT_TRUE(server_.rest());
  EXPECT_EQ(server_.check_baseline(), "");
}

// Requests of every shape in one stream.
std::string exchange() {
  return post(R"({"jsonrpc":"2.0","id":1,"method":"sum","params":[2,3]})") +
         "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Transfer-Encoding: chunked\r\n\r\n"
         "10\r\n{\"jsonrpc\":\"2.0\"\r\n31;x=y\r\n"
         ",\"id\":2,\"method\":\"blob\",\"params\":{\"bytes\":300000}\r\n1\r\n}\r\n0\r\n"
         "X: y\r\n\r\n" +
         post(R"({"jsonrpc":"2.0","method":"jobs.progress"})") +
         "POST /nope HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello" +
         post(R"([{"jsonrpc":"2.0","id":1,"method":"echo"}])");
}

// How a client leaves, having sent so many bytes.
enum class Leaving { resets, resets_unread, finishes, finishes_unread };

class Ends : public ::testing::TestWithParam<Leaving> {};

TEST_P(Ends, AtAnyByteOfAPipelinedExchangeGiveEverythingBackWithinASecond) {
  const std::string bytes = exchange();
  const bool reads = GetParam() == Leaving::resets || GetParam() == Leaving::finishes;
  const bool resets = GetParam() == Leaving::resets || GetParam() == Leaving::resets_unread;
  SimServer server({});
  std::string heard;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const FakeIo::ClientId id = server.io().connect({});
    if (!reads) server.io().client_stop_reading(id, size);
    server.io().client_write(id, std::string_view(bytes).substr(0, size));
    heard.clear();
    ASSERT_TRUE(reads ? server.rest(id, heard) : server.rest()) << size;
    if (resets) {
      server.io().client_reset(id);
    } else {
      server.io().client_fin(id);
      ASSERT_TRUE(server.rest()) << size;
      // Who has said that it is finished may still read, and must.
      server.io().client_resume_reading(id);
      ASSERT_TRUE(server.rest(id, heard)) << size;
      ASSERT_TRUE(server.io().client_at_end(id) && !server.io().client_gone(id)) << size;
    }
    ASSERT_TRUE(server.rest()) << size;
    ASSERT_EQ(server.check_baseline(), "") << "without any time, at " << size;
  }
  EXPECT_TRUE(server.calls().contains("blob"));
  // The whole exchange is the last: nobody who reads misses anything of it.
  const std::string end = R"([{"jsonrpc":"2.0","result":null,"id":1}])";
  EXPECT_EQ(heard.size() > 300'000 && heard.ends_with(end), GetParam() != Leaving::resets_unread)
      << testing::shown(heard.substr(0, 3000));
}

INSTANTIATE_TEST_SUITE_P(Ways, Ends,
                         ::testing::Values(Leaving::resets, Leaving::resets_unread,
                                           Leaving::finishes, Leaving::finishes_unread));

}  // namespace
}  // namespace ringrpc::sim
