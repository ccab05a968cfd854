// Goal: the client and the server of this library understand each other, on every transport that
// the server has.
// Method: both in one process; typed calls, errors, batches, many in flight, large messages.

#include <gtest/gtest.h>
#include <ringrpc/client.h>
#include <ringrpc/feed.h>
#include <ringrpc/server.h>
#include <ringrpc/stream.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tests/unit/client/peer.h"

namespace ringrpc::client_test {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

enum class Unit { celsius, kelvin };

struct Reading {
  std::string_view sensor;
  std::vector<double> values;
  std::optional<Unit> unit;
};

struct Blob {
  std::size_t bytes;
};

struct Ticks {
  int count;
  int ms;
};

struct Tick {
  int n;
};

struct Topic {
  std::string_view topic;
};

void tick(Stream stream, int done, int count) {
  if (stream.stop_requested()) return stream.stop();
  if (done == count) return stream.answer(count);
  stream.notify("tick", Tick{done});
  std::move(stream).after(1,
                          [done, count](Stream woken) { tick(std::move(woken), done + 1, count); });
}

// Calls that are never answered, until they are to stop.
struct Held {
  std::atomic<int> begun = 0;
  std::atomic<int> stopped = 0;
};

void hold(Held& held, Deferred reply) {
  constexpr std::uint32_t very_long_ms = 600'000;
  ++held.begun;
  std::move(reply).after(very_long_ms, [&held](Deferred woken) {
    if (woken.stop_requested()) ++held.stopped;
    woken.stop_requested() ? woken.stop() : woken.answer();
  });
}

void add_methods(Server& server) {
  server.method("sum", [](const Sum& in) { return in.a + in.b; })
      .method("reading", [](const Reading& in) { return in; })
      .method("blob", [](const Blob& in) { return std::string(in.bytes, 'x'); })
      .method("size", [](const std::vector<std::string>& in) { return in.at(0).size(); })
      .method("fail",
              []() -> Result<int> {
                return Error{.code = 1001, .message = "Failed \u20AC", .data = "{\"a\":[1]}"};
              })
      .method("crash", []() -> int { throw 1; });
}

// A folder for a socket, gone with this.
class Folder {
 public:
  Folder() { EXPECT_NE(nullptr, mkdtemp(path_)); }
  ~Folder() { rmdir(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string socket() const { return std::string(path_) + "/s"; }

 private:
  char path_[32] = "/tmp/ringrpc_served_XXXXXX";
};

// Parameter: the scheme of the client's URL.
class Served : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const std::string scheme(GetParam());
    const bool local = scheme.starts_with("unix");
    Options options;
    options.workers = 1;
    options.listen = scheme == "tcp" ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    if (local) options.listen = (scheme == "unix" ? "unix:" : "unix-http:") + folder_.socket();
    server_.emplace(options);
    add_methods(*server_);
    server_->method("ticks",
                    [](const Ticks& in, Stream stream) { tick(std::move(stream), 0, in.count); });
    feed_.emplace(*server_);
    server_->method("follow", [this](const Topic& in, Stream stream) {
      feed_->subscribe(std::move(stream), in.topic);
    });
    server_->method("hold", [this](Deferred reply) { hold(held_, std::move(reply)); });
    ASSERT_TRUE(server_->start()) << server_->error();
    std::string url = scheme + "://" + server_->address();
    if (scheme == "http" || scheme == "ws") url += "/rpc";
    url_ = local ? scheme + ":" + folder_.socket() : url;
    client_.emplace(url_);
    ASSERT_EQ("", client_->error());
  }
  void TearDown() override {
    client_.reset();
    EXPECT_EQ(0, server_->stop());
  }
  [[nodiscard]] static bool over_websocket() { return GetParam().ends_with("ws"); }

  Folder folder_;
  Held held_;
  std::string url_;
  std::optional<Server> server_;
  std::optional<Feed> feed_;
  std::optional<Client> client_;
};

TEST_P(Served, ResultsAndParamsKeepTheirTypes) {
  Client& client = *client_;
  EXPECT_EQ(5, *client.call<std::int64_t>("sum", Sum{2, 3}));
  EXPECT_EQ(5, *client.call<std::int64_t>("sum", std::tuple(2, 3)));
  EXPECT_EQ(5, *client.call<std::int64_t>("sum", "[2,3]"));
  EXPECT_EQ("5", client.call_json("sum", Sum{2, 3}).json());
  const auto same = client.call<Reading>(
      "reading", Reading{.sensor = "a\n\"\u00e9", .values = {1.5, -2e300}, .unit = Unit::kelvin});
  ASSERT_TRUE(same) << same.sentence();
  EXPECT_EQ("a\n\"\u00e9", same->sensor);
  EXPECT_EQ((std::vector<double>{1.5, -2e300}), same->values);
  EXPECT_EQ(Unit::kelvin, same->unit);
  const auto text = client.call<Json>("reading", R"({"sensor":"a","values":[1]})");
  EXPECT_EQ(R"({"sensor":"a","values":[1]})", text->text());
}

TEST_P(Served, ViewsOfAnAnswerStayWhenItIsMoved) {
  Answer<Reading> kept;
  {
    auto came = client_->call<Reading>("reading", R"({"sensor":"a\u0062c","values":[]})");
    kept = std::move(came);
  }
  EXPECT_EQ("abc", kept->sensor);
}

TEST_P(Served, ErrorsCarryCodeMessageAndData) {
  const auto failed = client_->call<int>("fail");
  ASSERT_TRUE(failed.is_error());
  EXPECT_EQ(1001, failed.error().code);
  EXPECT_EQ("Failed \u20AC", failed.error().message);
  EXPECT_EQ("{\"a\":[1]}", failed.error().data);
  EXPECT_EQ(-32601, client_->call<int>("none").error().code);
  EXPECT_EQ(-32602, client_->call<int>("sum").error().code);
}

TEST_P(Served, ADefectIsTriedTwice) {
  EXPECT_EQ(-32603, client_->call<int>("crash").error().code);
  EXPECT_EQ(2u, client_->stats().sent);
}

TEST_P(Served, NotificationsAndBatchesAreTaken) {
  EXPECT_FALSE(client_->notify("sum", Sum{1, 2}));
  Batch batch;
  std::vector<Batch::Place<std::int64_t>> places;
  for (int i = 0; i < 500; ++i) places.push_back(batch.call<std::int64_t>("sum", Sum{i, 1}));
  batch.notify("sum", Sum{1, 1});
  const auto failed = batch.call<int>("fail");
  ASSERT_TRUE(client_->send(batch)) << batch.failure().sentence;
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(i + 1, *batch.take(places[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(1001, batch.take(failed).error().code);
  Batch large;
  const auto place = large.call<int>("fail");
  for (int i = 0; i < 1000; ++i) large.notify("none");
  EXPECT_TRUE(client_->send(large));
  EXPECT_EQ(-31005, large.take(place).error().code);
  Batch silent;
  silent.notify("sum", Sum{1, 1});
  EXPECT_TRUE(client_->send(silent)) << silent.failure().sentence;
}

TEST_P(Served, ManyCallsAreInFlightAtOnce) {
  int answered = 0;
  for (int i = 0; i < 1000; ++i) {
    client_->start<std::int64_t>("sum", Sum{i, i}, [&, i](Answer<std::int64_t> answer) {
      ASSERT_TRUE(answer) << answer.sentence();
      EXPECT_EQ(2 * i, *answer);
      ++answered;
    });
  }
  EXPECT_TRUE(client_->run());
  EXPECT_EQ(1000, answered);
}

TEST_P(Served, EventsComeBeforeTheResult) {
  std::vector<int> seen;
  CallOptions options;
  options.on_event = [&](const Notification& event) {
    EXPECT_EQ("tick", event.method);
    seen.push_back(event.as<Tick>().value().n);
  };
  for (int round = 0; round < 2; ++round) {
    seen.clear();
    const auto ticks = client_->call<int>("ticks", Ticks{.count = 5, .ms = 1}, options);
    ASSERT_TRUE(ticks) << ticks.sentence();
    EXPECT_EQ(5, *ticks);
    EXPECT_EQ((std::vector<int>{0, 1, 2, 3, 4}), seen);
  }
  // Nobody listens: the result alone.
  seen.clear();
  EXPECT_EQ(5, *client_->call<int>("ticks", Ticks{.count = 5, .ms = 1}));
  EXPECT_TRUE(seen.empty());
}

TEST_P(Served, ASubscriptionIsHeardUntilItsClientLeaves) {
  std::vector<std::string> heard;
  std::optional<Client> subscriber(std::in_place, url_);
  subscriber->on_notification([&](const Notification& event) {
    heard.push_back(std::string(event.method) + std::string(event.params));
  });
  // Over HTTP the stream of events is the answer, and does not end.
  subscriber->start<void>("follow", Topic{"a"}, [](Answer<void>) {}, {.timeout_ms = 0});
  ASSERT_TRUE(turn_until(*subscriber, [&] {
    feed_->publish("a", "changed", Tick{7});
    return !heard.empty();
  }));
  EXPECT_EQ("changed{\"n\":7}", heard.front());
  feed_->publish("b", "changed", Tick{8});
  feed_->publish("a", "changed", Tick{9});
  ASSERT_TRUE(turn_until(*subscriber, [&] { return heard.back() == "changed{\"n\":9}"; }));
  EXPECT_EQ(0, std::count(heard.begin(), heard.end(), "changed{\"n\":8}"));
  subscriber.reset();
  EXPECT_EQ(5, *client_->call<std::int64_t>("sum", Sum{2, 3}));
}

TEST_P(Served, ACancelledCallAndOneThatIsTooLateAreStopped) {
  for (int round = 1; round <= 2; ++round) {
    std::optional<JsonAnswer> answer;
    CallOptions options;
    if (round == 2) options.timeout_ms = 50;
    const CallNumber number = client_->start<void>(
        "hold", client::NoParams(), [&](Answer<void> came) { answer.emplace(std::move(came)); },
        options);
    ASSERT_TRUE(turn_until(*client_, [&] { return held_.begun == round; }));
    EXPECT_TRUE(round == 2 || client_->cancel(number));
    ASSERT_TRUE(turn_until(*client_, [&] { return answer.has_value(); }));
    EXPECT_EQ(round == 1 ? FailureKind::cancelled : FailureKind::timed_out, answer->failure().kind);
    EXPECT_TRUE(answer->failure().may_have_run);
    // The end of a Unix socket looks to the server like no more than the end of the requests.
    if (GetParam() != "unix-http") {
      ASSERT_TRUE(turn_until(*client_, [&] { return held_.stopped == round; }));
    }
    EXPECT_EQ(5, *client_->call<std::int64_t>("sum", Sum{2, 3}));
  }
}

TEST_P(Served, LargeMessagesGoBothWays) {
  const auto blob = client_->call<std::string>("blob", Blob{15'000'000});
  ASSERT_TRUE(blob) << blob.sentence();
  EXPECT_EQ(15'000'000u, blob->size());
  const std::vector<std::string> text = {std::string(4'000'000, 'y')};
  EXPECT_EQ(4'000'000u, *client_->call<std::size_t>("size", text));
  EXPECT_EQ(-31004, client_->call<std::string>("blob", Blob{17'000'000}).error().code);
  const auto refused = client_->call<int>("size", std::vector{std::string(5'000'000, 'z')});
  if (over_websocket()) {  // a WebSocket says that with its close code
    EXPECT_EQ(FailureKind::disconnected, refused.failure().kind);
    EXPECT_NE(std::string::npos, refused.sentence().find("1009")) << refused.sentence();
  } else {
    EXPECT_EQ(-31008, refused.error().code) << refused.sentence();
  }
  EXPECT_EQ(5, *client_->call<std::int64_t>("sum", Sum{2, 3}));
}

TEST_P(Served, AStoppedServerIsAFailureAndAnotherClientGoesOn) {
  EXPECT_EQ(5, *client_->call<std::int64_t>("sum", Sum{2, 3}));
  EXPECT_EQ(0, server_->stop());
  const auto lost = client_->call<int>("sum", Sum{2, 3}, {.retries = 0});
  EXPECT_TRUE(lost.failed());
  EXPECT_EQ(0u, client_->in_flight());
}

std::string name_of(const testing::TestParamInfo<std::string_view>& one) {
  std::string name(one.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Transports, Served,
                         testing::Values("http", "ws", "tcp", "unix", "unix-http", "unix-ws"),
                         name_of);

}  // namespace
}  // namespace ringrpc::client_test
