#pragma once

// Peers of a whole worker on the fake kernel whose calls are answered later.

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tests/sim/sim_server.h"

namespace ringrpc::testing {

using base::Counter;
using sim::SimServer;
using ClientId = FakeIo::ClientId;
using Settings = std::map<std::string, std::string>;

inline std::string call(std::string_view method, std::string_view params,
                        std::string_view id = "1") {
  std::string text = R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":)" +
                     std::string(params);
  if (!id.empty()) text += R"(,"id":)" + std::string(id);
  return text + "}";
}
inline std::string hold(std::string_view key, std::string_view id = "1") {
  return call("hold", R"({"key":")" + std::string(key) + R"("})", id);
}
inline std::string result(std::string_view value, std::string_view id = "1") {
  return R"({"jsonrpc":"2.0","result":)" + std::string(value) + R"(,"id":)" + std::string(id) +
         "}\n";
}
inline constexpr std::string_view overloaded =
    R"({"jsonrpc":"2.0","error":{"code":-31001,"message":"Overloaded",)";
inline std::string overloaded_by(std::string_view limit) {
  return std::string(overloaded) + R"("data":{"reason":")" + std::string(limit) + "\"";
}

inline Settings late(const std::string& limit, std::uint64_t value) {
  return {{"methods", "late"}, {limit, std::to_string(value)}};
}

// Lines, where nothing else is said.
class Peers {
 public:
  explicit Peers(Settings settings, std::uint32_t connections_max = 4)
      : server_(settings, connections_max) {}

  ClientId open() { return server_.io().connect({}, 1); }
  ClientId open_http() { return server_.io().connect({}, 0); }
  std::string say(ClientId client, std::string_view text) {
    return say_bytes(client, std::string(text) + "\n");
  }
  std::string say_bytes(ClientId client, std::string_view bytes) {
    server_.io().client_write(client, bytes);
    return hear(client);
  }
  std::string hear(ClientId client) {
    std::string heard;
    EXPECT_TRUE(server_.rest(client, heard));
    return heard;
  }
  // Ends a call that is held.
  void release(std::string_view key, std::string_view value = "0") {
    const ClientId client = open();
    const std::string params =
        R"({"key":")" + std::string(key) + R"(","result":)" + std::string(value) + "}";
    EXPECT_EQ(say(client, call("release", params)), result("true"));
    leave(client);
  }
  void leave(ClientId client) {
    server_.io().client_reset(client);
    EXPECT_TRUE(server_.rest());
  }

  [[nodiscard]] std::uint64_t counted(Counter counter) { return server_.counted(counter); }
  [[nodiscard]] const serve::Gauges& gauges() { return server_.worker().gauges(); }
  SimServer& server() { return server_; }

 private:
  SimServer server_;
};

}  // namespace ringrpc::testing
