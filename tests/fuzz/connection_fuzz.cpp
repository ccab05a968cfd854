// Goal: whatever bytes clients of HTTP and of WebSockets send, in whatever pieces, each hears
// exactly the answers of its own requests, over HTTP in order, and nothing is left behind.
// Method: the worker of production on the fake kernel. The first byte of the input chooses limits
// and harmless faults; the rest is a script (scripted_server.h). A model works out the answers from
// each client's whole stream; of those that come later it knows what they may be.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/assert.h"
#include "tests/fuzz/heard.h"
#include "tests/fuzz/http_model.h"
#include "tests/fuzz/scripted_server.h"

namespace ringrpc::fuzz {
namespace {

using testing::Match;
using testing::MatchState;

class Check {
 public:
  explicit Check(ScriptedServer& server)
      : server_(server),
        model_{.rpc = server.model(),
               .message_size_max = server.options().message_size_max,
               .drain_size_max = server.options().peer.drain_size_max,
               .head = server.options().head} {}

  void all() {
    for (const Client& client : server_.clients()) one(client);
    const bool exact = !disturbed_ && !server_.timed() && !server_.stopping();
    server_.check_starts(certainly_, possibly_, exact);
    const std::uint64_t requests = server_.counted(base::Counter::requests);
    RINGRPC_ASSERT(exact ? requests == requests_ : requests <= requests_, requests, requests_);
  }

 private:
  // One client's answers, from the front.
  struct Hearing {
    const Client& client;
    std::string_view rest;
    bool over = false;     // an answer said so, or a deadline
    bool endless = false;  // an answer has no end, so those behind it do not come
  };

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

  static bool is_endless(const HttpAnswer& answer) {
    return answer.said.late.size() == 1 && answer.said.late.front().endless;
  }

  // Returns: whether the answer is there, or what is as good.
  bool take_answer(const HttpAnswer& answer, const std::vector<std::string>& cancels,
                   std::size_t count, Hearing& now) {
    Match match;
    bool closes = answer.closes;
    if (answer.said.late.empty()) {
      match = testing::match_reply(answer.reply, now.rest);
    } else {
      const bool all = server_.at_end(now.client);
      const LateMatch late = match_late(answer, cancels, server_.excuses(), now.rest, all);
      match = late.match;
      closes = late.closes;
    }
    if (match.state == MatchState::matched) {
      now.rest.remove_prefix(match.size);
      now.over = closes;
      return true;
    }
    if (server_.stopping() && take(answer.closing, now.rest)) {
      now.over = true;
      return true;
    }
    if (server_.timed() && take(bare(408), now.rest)) {
      now.over = true;
      return false;
    }
    // A stream ends in the middle when its peer leaves, anything when its peer does not read.
    const bool cut = now.client.reset || server_.timed() || (answer.events && now.client.fin);
    if (match.state == MatchState::more && (cut || is_endless(answer))) {
      now.endless = is_endless(answer);
      now.rest = {};
      return false;
    }
    ScriptedServer::complain(now.client,
                             "answer " + std::to_string(count) + ": " + match.complaint);
  }

  void one(const Client& client) {
    const Conversation talk = converse(client.sent, model_);
    std::vector<std::string> cancels;
    bool streams = false;
    for (const HttpAnswer& answer : talk.answers) {
      cancels.insert(cancels.end(), answer.said.cancels.begin(), answer.said.cancels.end());
      streams |= answer.events;
    }
    Hearing now{.client = client, .rest = client.heard};
    std::size_t count = 0;
    for (; count < talk.answers.size() && !now.over; ++count) {
      const HttpAnswer& answer = talk.answers[count];
      if (answer.may_continue) take(bare(100), now.rest);
      now.endless |= now.rest.empty() && is_endless(answer);
      if (now.rest.empty() || !take_answer(answer, cancels, count, now)) break;
      for (const auto& [name, times] : answer.started) certainly_[name] += times;
    }
    for (const HttpAnswer& answer : talk.answers) {
      for (const auto& [name, times] : answer.started) possibly_[name] += times;
      requests_ += answer.counts ? 1 : 0;
    }
    disturbed_ |= client.reset || now.endless || (streams && client.fin);
    const bool whole = !now.over && count == talk.answers.size();
    if (talk.upgraded)
      return frames(now, std::string_view(client.sent).substr(talk.frames_at), whole);
    if (whole && talk.may_continue) take(bare(100), now.rest);
    if (!now.over && server_.timed()) now.over = take(bare(408), now.rest);
    const bool left = client.reset || now.endless || (streams && client.fin);
    if (!now.rest.empty() && !left) ScriptedServer::complain(client, "there came more");
    const bool excused = left || server_.timed() || (server_.stopping() && now.over);
    if (count < talk.answers.size() && !excused) {
      ScriptedServer::complain(client, "answers are missing");
    }
    if (left || server_.timed() || server_.stopping()) return;
    if (server_.at_end(client) != (now.over || client.fin)) {
      ScriptedServer::complain(client, "another end");
    }
  }

  // What a WebSocket heard, when its handshake was answered.
  void frames(const Hearing& now, std::string_view sent, bool agreed) {
    const Client& client = now.client;
    FramesSaid said{.bytes = sent,
                    .rules = {.message_size_max = server_.options().message_size_max},
                    .limits = server_.model(),
                    .excuses = server_.excuses(),
                    .cut = client.reset || !agreed,
                    .timed = server_.timed()};
    said.limits.two_way = true;
    const FramesHeard heard = check_frames(said, agreed ? now.rest : "");
    if (!heard.complaint.empty()) ScriptedServer::complain(client, heard.complaint);
    requests_ += heard.messages;
    for (const auto& [name, times] : heard.started) possibly_[name] += times;
    if (!agreed || client.reset || server_.timed() || server_.stopping()) return;
    if (server_.at_end(client) != (heard.ended || client.fin)) {
      ScriptedServer::complain(client, "another end");
    }
  }

  ScriptedServer& server_;
  const ServerModel model_;
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
  if (size == 0 || size > script_size_max) return 0;
  ScriptedServer server(*house, data[0], ringrpc::serve::Protocol::http);
  server.play({reinterpret_cast<const char*>(data) + 1, size - 1});
  Check(server).all();
  server.close();
  return 0;
}
