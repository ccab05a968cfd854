#pragma once

// The ways in which a client talks to a server, for tests that hold on each of them.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "tests/wire/socket.h"

namespace ringrpc::testing {

enum class Way : std::uint8_t { http, lines, websocket };

// A text frame of a client, whose mask is zero.
inline std::string frame(std::string_view text) {
  std::string bytes = "\x81";
  if (text.size() < 126) {
    bytes += static_cast<char>(0x80 | text.size());
  } else {
    bytes += static_cast<char>(0x80 | 126);
    bytes += static_cast<char>(text.size() >> 8);
    bytes += static_cast<char>(text.size());
  }
  return bytes + std::string(4, '\0') + std::string(text);
}

inline const std::string handshake =
    "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

// A message as a client says it; over HTTP one that takes an event stream.
inline std::string said(Way way, std::string_view message) {
  if (way == Way::lines) return std::string(message) + "\n";
  if (way == Way::websocket) return frame(message);
  return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
         "Accept: application/json, text/event-stream\r\nContent-Length: " +
         std::to_string(message.size()) + "\r\n\r\n" + std::string(message);
}

inline std::string call(std::string_view id, std::string_view method, std::string_view params) {
  std::string text = R"({"jsonrpc":"2.0",)";
  if (!id.empty()) text.append(R"("id":)").append(id).append(",");
  return text + R"("method":")" + std::string(method) + R"(","params":)" + std::string(params) +
         "}";
}

inline Socket connected(std::uint16_t port, Way way) {
  Socket socket(port);
  if (way == Way::websocket) {
    EXPECT_TRUE(socket.write(handshake));
    std::string head;
    while (head.find("\r\n\r\n") == head.npos) head += socket.read_some();
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
  }
  return socket;
}

using BackendAndWay = std::tuple<IoChoice, Way>;

inline std::string name_of(const ::testing::TestParamInfo<BackendAndWay>& info) {
  const char* const ways[] = {"Http", "Lines", "WebSocket"};
  const bool uring = std::get<0>(info.param) == IoChoice::uring;
  return std::string(uring ? "Uring" : "Epoll") + ways[static_cast<int>(std::get<1>(info.param))];
}

inline const auto everything =
    ::testing::Combine(::testing::Values(IoChoice::uring, IoChoice::epoll),
                       ::testing::Values(Way::http, Way::lines, Way::websocket));

}  // namespace ringrpc::testing
