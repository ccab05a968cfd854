// Goal: whoever sends what cannot be sent is told so, and it is counted and said; nothing of it
// reaches the wire, and what comes before and behind it does.
// Method: servers and clients in one process, on every transport that takes notifications.

#include <gtest/gtest.h>
#include <ringrpc/client.h>
#include <ringrpc/feed.h>
#include <ringrpc/server.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/serve/in_memory_calls.h"

namespace ringrpc {
namespace {

using testing::call;
using testing::limit_hits;
using testing::metric;
using testing::no_listener;
using testing::request;

struct Number {
  double n;
};

struct Text {
  std::string text;
};

const Number whole{.n = 1};
const Number broken{.n = std::numeric_limits<double>::quiet_NaN()};
const Text large{.text = std::string(5000, 'x')};
const std::vector<int> nothing;

std::string_view name_of(Sent sent) {
  switch (sent) {
    case Sent::yes:
      return "yes";
    case Sent::no_room:
      return "no_room";
    case Sent::unwanted:
      return "unwanted";
    case Sent::invalid:
      return "invalid";
    case Sent::stopped:
      break;
  }
  return "stopped";
}

struct ParamsText {
  std::string_view json;
  bool is_params;
};

constexpr ParamsText texts[] = {{"", false},      {"{bad", false},       {"5", false},
                                {"null", false},  {"\"a\"", false},      {"[1", false},
                                {"[1]x", false},  {"[1]{}", false},      {"{\"a\":1,}", false},
                                {"[NaN]", false}, {"[\"\xff\"]", false}, {"[1]", true},
                                {"{}", true},     {" \t\r\n[2] ", true}, {"{\"a\":[1]}", true}};

std::vector<std::string> expected_of_texts() {
  std::vector<std::string> names;
  for (const ParamsText& one : texts) names.emplace_back(one.is_params ? "yes" : "invalid");
  return names;
}

using Names = std::vector<std::string>;

// What is sent is the same by either door.
template <class S>
Names notify_all(S& stream) {
  Names names;
  for (const Sent sent :
       {stream.notify("a", whole), stream.notify("b", broken), stream.notify("c", large),
        stream.notify("d", 5), stream.notify("e", std::optional<Number>()),
        stream.notify("f", nothing)}) {
    names.emplace_back(name_of(sent));
  }
  return names;
}

template <class S>
Names notify_texts(S& stream) {
  Names names;
  for (const ParamsText& one : texts)
    names.emplace_back(name_of(stream.notify_json("t", one.json)));
  return names;
}

Co<Names> send_all(CoStream stream) {
  Names names;
  names.emplace_back(name_of(co_await stream.send("a", whole)));
  names.emplace_back(name_of(co_await stream.send("b", broken)));
  names.emplace_back(name_of(co_await stream.send("c", large)));
  names.emplace_back(name_of(co_await stream.send("d", 5)));
  const std::optional<Number> none;
  names.emplace_back(name_of(co_await stream.send("e", none)));
  names.emplace_back(name_of(co_await stream.send("f", nothing)));
  co_return names;
}

Co<Names> send_texts(CoStream stream) {
  Names names;
  for (const ParamsText& one : texts) {
    names.emplace_back(name_of(co_await stream.send_json("t", one.json)));
  }
  co_return names;
}

void add_methods(Server& server) {
  server.method("stream.all", [](Stream stream) { stream.answer(notify_all(stream)); });
  server.method("stream.texts", [](Stream stream) { stream.answer(notify_texts(stream)); });
  server.method("co.all", [](CoStream stream) -> Co<Names> { co_return notify_all(stream); });
  server.method("co.texts", [](CoStream stream) -> Co<Names> { co_return notify_texts(stream); });
  server.method("co.send.all", send_all);
  server.method("co.send.texts", send_texts);
}

const Names all_expected = {"yes", "invalid", "invalid", "invalid", "invalid", "yes"};
constexpr const char* doors[] = {"stream", "co", "co.send"};

class SentTo : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Options options;
    options.workers = 1;
    options.pin = false;
    options.reply_size_max = 4096;
    const std::string scheme = GetParam();
    options.listen = scheme == "tcp" ? "tcp://127.0.0.1:0" : "127.0.0.1:0";
    server_ = std::make_unique<Server>(options);
    feed_ = std::make_unique<Feed>(*server_);
    add_methods(*server_);
    server_->method("listen", [this](Stream stream) { feed_->subscribe(std::move(stream), "t"); });
    ASSERT_TRUE(server_->start()) << server_->error();
    const std::string path = scheme == "tcp" ? "" : "/rpc";
    client_ =
        std::make_unique<Client>(scheme + "://127.0.0.1:" + std::to_string(server_->port()) + path);
    client_->on_notification([this](const Notification& event) {
      heard_.push_back(std::string(event.method) + std::string(event.params));
    });
  }

  Names ask(const std::string& method) {
    heard_.clear();
    const Answer<Names> answer = client_->call<Names>(method);
    EXPECT_TRUE(answer.ok()) << method;
    return answer.ok() ? *answer : Names();
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<Feed> feed_;
  std::unique_ptr<Client> client_;
  Names heard_;
};

TEST_P(SentTo, WhatCannotBeEncodedIsInvalidWhateverItIsSentBy) {
  std::uint64_t doors_tried = 0;
  for (const std::string door : doors) {
    EXPECT_EQ(ask(door + ".all"), all_expected) << door;
    EXPECT_EQ(heard_, (Names{"a{\"n\":1}", "f[]"})) << door;
    ++doors_tried;
    EXPECT_EQ(metric(*server_, "ringrpc_bad_events_total"), 3 * doors_tried) << door;
    EXPECT_EQ(limit_hits(*server_, "reply_size"), doors_tried) << door;
  }
  EXPECT_EQ(metric(*server_, "ringrpc_events_total"), 2 * doors_tried);
  EXPECT_EQ(metric(*server_, "ringrpc_events_dropped_total"), 0u);
}

TEST_P(SentTo, TextsThatAreNoParamsAreInvalidAndDoNotReachTheWire) {
  for (const std::string door : doors) {
    EXPECT_EQ(ask(door + ".texts"), expected_of_texts()) << door;
    ASSERT_EQ(heard_.size(), 4u) << door;
    EXPECT_EQ(heard_[0], "t[1]");
    EXPECT_EQ(heard_[1], "t{}");
    EXPECT_NE(heard_[2].find("[2]"), std::string::npos);
    EXPECT_EQ(heard_[3], "t{\"a\":[1]}");
  }
  EXPECT_EQ(metric(*server_, "ringrpc_bad_events_total"), 33u);
}

TEST_P(SentTo, WhatCannotBePublishedIsInvalidAndNobodyHearsIt) {
  // Over HTTP the stream of events is the answer, and does not end.
  client_->start<Json>("listen", std::vector<int>(), [](const Answer<Json>&) {}, {.timeout_ms = 0});
  while (metric(*server_, "ringrpc_subscriptions") == 0) client_->poll(1);
  EXPECT_EQ(feed_->publish("t", "a", broken), Sent::invalid);
  EXPECT_EQ(feed_->publish("t", "b", 5), Sent::invalid);
  EXPECT_EQ(metric(*server_, "ringrpc_bad_events_total"), 2u);
  EXPECT_EQ(feed_->publish("t", "c", large), Sent::invalid);
  EXPECT_EQ(limit_hits(*server_, "reply_size"), 1u);
  for (const ParamsText& one : texts) {
    const Sent sent = feed_->publish_json("t", "d", one.json);
    EXPECT_EQ(sent, one.is_params ? Sent::yes : Sent::invalid) << one.json;
  }
  EXPECT_EQ(metric(*server_, "ringrpc_bad_events_total"), 13u);
  EXPECT_EQ(feed_->publish("t", "last", whole), Sent::yes);
  while (heard_.empty() || !heard_.back().starts_with("last")) client_->poll(1);
  EXPECT_EQ(heard_.size(), 5u);
  EXPECT_EQ(metric(*server_, "ringrpc_events_dropped_total"), 0u);
}

TEST_P(SentTo, OneThatCannotBeEncodedIsSaid) {
  ::testing::internal::CaptureStderr();
  ask("co.all");
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("\"b\""), std::string::npos) << said;
  // The others come within the same second.
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

INSTANTIATE_TEST_SUITE_P(Ways, SentTo, ::testing::Values("http", "ws", "tcp"),
                         [](const auto& way) { return std::string(way.param); });

TEST(Sent, WhereNobodyTakesNotificationsNothingIsEncoded) {
  Server server(no_listener());
  add_methods(server);
  for (const std::string door : doors) {
    EXPECT_EQ(call(server, request(door + ".all", "[]")).find("invalid"), std::string::npos);
  }
  EXPECT_EQ(metric(server, "ringrpc_bad_events_total"), 0u);
}

}  // namespace
}  // namespace ringrpc
