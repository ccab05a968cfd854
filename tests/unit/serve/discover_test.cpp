// Goal: rpc.discover shows the methods that there are now, with the schemas of their types.
// Method: a server in memory whose methods come and go.

#include <gtest/gtest.h>
#include <ringrpc/server.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace ringrpc {
namespace {

struct Point {
  std::int64_t x;
  std::optional<bool> y;
};

struct Tree {
  std::vector<Tree> children;
};

std::string discover(Server& server) {
  std::string reply;
  server.call(R"({"jsonrpc":"2.0","id":1,"method":"rpc.discover"})", reply);
  return reply;
}

std::string document(const std::string& methods) {
  return R"({"jsonrpc":"2.0","result":{"openrpc":"1.3.2",)"
         R"("info":{"title":"test","version":"0.1.0"},)"
         R"("methods":[)" +
         methods + R"(]},"id":1})";
}

Options options() {
  Options options;
  options.listen = "";
  options.name = "test";
  return options;
}

TEST(Discover, AnEmptyServerHasNoMethods) {
  Server server(options());
  EXPECT_EQ(discover(server), document(""));
}

TEST(Discover, MembersBecomeParamsAndTheResultHasItsSchema) {
  Server server(options());
  server.method("b", [](const Point& in) { return in.x; });
  server.method("a", [](const std::tuple<std::string, std::optional<bool>>&) {});
  const std::string integer =
      R"({"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807})";
  const std::string text = discover(server);
  EXPECT_NE(
      text.find(R"({"name":"a","paramStructure":"either","params":[{"name":"0","required":true,)"
                R"("schema":{"type":"string"}},{"name":"1","schema":{"type":["boolean","null"]}}])"
                R"(,"result":{"name":"result","schema":{"type":"null"}}})"),
      text.npos)
      << text;
  EXPECT_NE(
      text.find(R"({"name":"b","paramStructure":"either","params":[{"name":"x","required":true,)"
                R"("schema":)"),
      text.npos)
      << text;
  EXPECT_LT(text.find(R"("name":"a")"), text.find(R"("name":"b")"));
}

TEST(Discover, AHandlerThatReadsByHandSaysSo) {
  Server server(options());
  server.method("raw", [](Call&, Reply& reply) { reply.result().null(); });
  EXPECT_EQ(discover(server), document(R"({"name":"raw","paramStructure":"either","params":[],)"
                                       R"("x-params":"read by the handler",)"
                                       R"("result":{"name":"result","schema":true}})"));
}

TEST(Discover, ReferencesCountFromTheirOwnSchema) {
  Server server(options());
  server.method("tree", [](const Tree& in) { return in; });
  const std::string text = discover(server);
  EXPECT_NE(text.find(R"("schema":{"$id":"schema:1",)"), text.npos) << text;
  EXPECT_NE(text.find(R"("schema":{"$id":"schema:2",)"), text.npos) << text;
}

TEST(Discover, WhatIsAddedIsThereAndWhatIsRemovedIsGone) {
  Server server(options());
  server.method("now", [] {});
  EXPECT_NE(discover(server).find(R"("name":"now")"), std::string::npos);
  server.remove("now");
  EXPECT_EQ(discover(server), document(""));
}

TEST(Discover, NoUserTakesANameOfTheEngine) {
  Server server(options());
  server.method("rpc.discover", [] { return 1; });
  EXPECT_FALSE(server.remove("rpc.cancel"));
  EXPECT_FALSE(server.remove("rpc.discover"));
  EXPECT_EQ(discover(server), document(""));
}

}  // namespace
}  // namespace ringrpc
