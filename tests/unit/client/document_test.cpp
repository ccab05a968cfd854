// Goal: only whole JSON is believed, and each message is what it is: a reply, a notification, a
// request, or nothing that a client knows.
// Method: messages with what they are; the public suite of JSON texts as a result.

#include "engine/client/document.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/json/check.h"

namespace ringrpc::client {
namespace {

using Kind = ServerMessage::Kind;

Kind kind_of(std::string_view text) {
  Document document;
  EXPECT_TRUE(document.read(text)) << text;
  return Document::message(document.root()).kind;
}

TEST(Document, AReplyHasAResultOrAnError) {
  for (const std::string_view text :
       {R"({"jsonrpc":"2.0","result":null,"id":1})", R"({"id":"a","result":[1]})",
        R"({"error":{"code":-1,"message":"m"},"id":null})", R"({"error":{"code":1e0}})",
        R"({"result":1,"error":null,"id":1})", R"({"result":null,"error":{"code":1},"id":1})",
        R"( { "\u0069d" : 1 , "resul\u0074" : 2 } )", R"({"result":1,"id":1,"x":{"result":2}})"}) {
    EXPECT_EQ(Kind::response, kind_of(text)) << text;
  }
}

TEST(Document, ANotificationHasAMethodAndNoId) {
  EXPECT_EQ(Kind::notification, kind_of(R"({"jsonrpc":"2.0","method":"a"})"));
  EXPECT_EQ(Kind::notification, kind_of(R"({"method":"a","params":[1]})"));
  EXPECT_EQ(Kind::request, kind_of(R"({"method":"a","id":1})"));
  EXPECT_EQ(Kind::request, kind_of(R"({"method":"a","id":null})"));
}

TEST(Document, EverythingElseIsNothing) {
  for (const std::string_view text :
       {"1", "[]", "{}", R"({"id":1})", R"({"id":1,"result":1,"error":{"code":1}})",
        R"({"id":1,"error":{}})", R"({"id":1,"error":1})", R"({"id":1,"error":{"code":"1"}})",
        R"({"id":1,"error":null})", R"({"id":1,"id":1,"result":1})",
        R"({"id":1,"result":1,"resul\u0074":1})", R"({"id":[],"result":1})",
        R"({"id":true,"result":1})", R"({"method":1})", R"({"method":"a","result":1})"}) {
    EXPECT_EQ(Kind::invalid, kind_of(text)) << text;
  }
}

TEST(Document, AnErrorIsReadWithItsData) {
  Document document;
  ASSERT_TRUE(document.read(
      R"({"error":{"data":{"retryAfterMs": 1.5e3},"code":-31001,"message":"a\n\u00e9"},"id":1})"));
  const JsonAnswer answer = Document::message(document.root()).answer();
  ASSERT_TRUE(answer.is_error());
  EXPECT_EQ(-31001, answer.error().code);
  EXPECT_EQ("a\n\xC3\xA9", answer.error().message);
  EXPECT_EQ(R"({"retryAfterMs": 1.5e3})", answer.error().data);
  EXPECT_EQ(1500, retry_after_ms(answer.error()));
  EXPECT_EQ(0, retry_after_ms({.data = R"({"retryAfterMs":-1})"}));
  EXPECT_EQ(0, retry_after_ms({.data = R"({"retryAfterMs":"1"})"}));
  EXPECT_EQ(0, retry_after_ms({.data = "[1]"}));
  EXPECT_EQ(0, retry_after_ms({}));
}

TEST(Document, ACodeThatIsNoIntIsStillACode) {
  Document document;
  ASSERT_TRUE(document.read(R"({"error":{"code":99999999999},"id":1})"));
  EXPECT_EQ(INT32_MAX, Document::message(document.root()).answer().error().code);
  ASSERT_TRUE(document.read(R"({"error":{"code":1.5},"id":1})"));
  EXPECT_EQ(0, Document::message(document.root()).answer().error().code);
}

TEST(Document, ResultsMayBeAsDeepAsServersSendThem) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  Document document;
  const std::string most = nested(limits::depth_max);
  const std::string more = nested(limits::depth_max + 1);
  for (const std::string_view frame :
       {"{\"result\":%}", "[{\"result\":%}]", "{\"error\":{\"code\":1,\"data\":%}}",
        "[{\"error\":{\"code\":1,\"data\":%}}]"}) {
    const std::size_t at = frame.find('%');
    const std::string begin(frame.substr(0, at));
    const std::string end(frame.substr(at + 1));
    EXPECT_TRUE(document.read(begin + most + end)) << frame;
    EXPECT_FALSE(document.read(begin + more + end)) << frame;
  }
}

TEST(Document, TheIndexGrowsWithTheTexts) {
  Document document;
  for (const std::size_t size : {1u, 100'000u, 10u, 3'000'000u, 1u}) {
    const std::string text = "{\"result\":\"" + std::string(size, 'x') + "\"}";
    ASSERT_TRUE(document.read(text));
    EXPECT_EQ(size + 2, Document::message(document.root()).result.raw().size());
  }
}

TEST(Document, ThePublicSuiteIsReadAsByTheEngine) {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  Document document;
  for (const auto& entry : std::filesystem::directory_iterator(RINGRPC_JSON_TEST_SUITE)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const bool good = document.read(text);
    const std::string name = entry.path().filename();
    EXPECT_TRUE(good || name[0] != 'y') << name;
    EXPECT_FALSE(good && name[0] == 'n') << name;
    EXPECT_EQ(json::is_json(text), good) << name;
    EXPECT_EQ(good, document.read("{\"result\":" + text + "}")) << name;
    EXPECT_EQ(good, document.read("[1," + text + "]")) << name;
    ++(good ? accepted : refused);
  }
  EXPECT_GT(accepted, 90u);
  EXPECT_GT(refused, 180u);
}

}  // namespace
}  // namespace ringrpc::client
