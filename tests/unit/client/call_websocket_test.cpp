// Goal: over WebSocket calls are what they are over lines, the handshake proves itself, and a
// server that breaks the rules is left. Method: a scripted server in the same thread, with the
// codec's other side; random cuts of all it sends.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ws/close.h"
#include "engine/ws/decoder.h"
#include "engine/ws/frame.h"
#include "engine/ws/handshake.h"
#include "tests/unit/client/started.h"

namespace ringrpc::client_test {
namespace {

std::string frame(std::string_view payload, ws::Opcode opcode = ws::Opcode::text,
                  bool final = true) {
  char header[ws::header_size_max];
  const std::uint32_t size = ws::write_header(header, opcode, final, payload.size());
  return std::string(header, size) + std::string(payload);
}

std::string field_of(const std::string& head, const std::string& name) {
  const std::size_t at = head.find("\r\n" + name + ": ");
  EXPECT_NE(std::string::npos, at) << head;
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

// The server's side of one WebSocket.
class WebSocket {
 public:
  explicit WebSocket(Peer& peer) : peer_(peer) {}

  // Reads the handshake. Returns: the answer to it.
  std::string handshake(Client& client) {
    peer_.accept(client);
    head = peer_.read_head(client);
    std::string accept(ws::accept_size, '?');
    ws::write_accept(field_of(head, "Sec-WebSocket-Key"), accept.data());
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, "
           "Upgrade\r\nSec-WebSocket-Accept: " +
           accept + "\r\n\r\n";
  }

  // Returns: the next message, or "OPCODE:payload" of a control frame.
  std::string read(Client& client) {
    std::string message;
    const ws::Rules rules{.reader = ws::Side::server};
    const bool whole = turn_until(client, [&] {
      bytes_ += peer_.take_some();
      while (true) {
        char* cursor = bytes_.data();
        const auto status = decoder_.next(cursor, bytes_.data() + bytes_.size(), rules);
        if (status == ws::Decoder::Status::piece) message += decoder_.piece();
        if (status == ws::Decoder::Status::control) {
          message = std::to_string(static_cast<int>(decoder_.opcode())) + ":" +
                    std::string(decoder_.payload());
        }
        EXPECT_NE(ws::Decoder::Status::refused, status);
        bytes_.erase(0, static_cast<std::size_t>(cursor - bytes_.data()));
        if (status == ws::Decoder::Status::message || status == ws::Decoder::Status::control) {
          return true;
        }
        if (status != ws::Decoder::Status::piece) return false;
      }
      return false;
    });
    EXPECT_TRUE(whole) << "no message comes";
    return message;
  }

  std::string head;

 private:
  Peer& peer_;
  ws::Decoder decoder_;
  std::string bytes_;
};

TEST(WebSocketCall, TheHandshakeAsksAsTheStandardSays) {
  Peer peer;
  Client client(peer.url("ws") + "/x", {.headers = {{"Origin", "http://a"}, {"connection", "x"}}});
  Started call(client);
  WebSocket socket(peer);
  const std::string answer = socket.handshake(client);
  EXPECT_TRUE(socket.head.starts_with("GET /x HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_EQ("Upgrade", field_of(socket.head, "Connection"));
  EXPECT_EQ("websocket", field_of(socket.head, "Upgrade"));
  EXPECT_EQ("13", field_of(socket.head, "Sec-WebSocket-Version"));
  EXPECT_EQ("http://a", field_of(socket.head, "Origin"));
  EXPECT_EQ(std::string::npos, socket.head.find("connection: x"));
  peer.write(answer);
  EXPECT_EQ("1", id_of(socket.read(client)));
  peer.write(frame(result("1", "6")));
  EXPECT_EQ(6, *call.wait());
}

TEST(WebSocketCall, WhatIsNoHandshakeIsRefusedAndNothingWasSent) {
  for (int fault = 0; fault < 9; ++fault) {
    Peer peer;
    Client client(peer.url("ws"), fast());
    Started call(client);
    WebSocket socket(peer);
    std::string answer = socket.handshake(client);
    const auto replace = [&](std::string_view old, std::string_view by) {
      answer.replace(answer.find(old), old.size(), by);
    };
    switch (fault) {
      case 0:
        replace("101", "200");
        break;
      case 1:
        replace("WebSocket\r", "h2c\r");
        break;
      case 2:
        replace(", Upgrade", "");
        break;
      case 3:
        replace("Accept: ", "Accept: x");
        break;
      case 4:
        replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n");
        break;
      case 5:
        replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: chat\r\n\r\n");
        break;
      case 6:
        answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        break;
      case 7:
        answer = "SSH-2.0\r\n";
        break;
      default:
        answer.resize(answer.size() - 1);
    }
    peer.write(answer);
    if (fault == 8) peer.finish();
    EXPECT_EQ(FailureKind::unreachable, call.wait().failure().kind) << fault;
    EXPECT_FALSE(call.wait().failure().may_have_run);
  }
}

TEST(WebSocketCall, AllThatComesMayComeInAnyPieces) {
  std::size_t size = 1;
  for (std::size_t cut = 0; cut < size; ++cut) {
    Peer peer;
    Client client(peer.url("ws"), fast());
    std::string events;
    client.on_notification([&](const Notification& event) { events += event.method; });
    Started call(client);
    WebSocket socket(peer);
    const std::string answer = socket.handshake(client);
    peer.write(std::string_view(answer).substr(0, cut));
    client.poll(1);
    client.poll(0);
    peer.write(std::string_view(answer).substr(std::min(cut, answer.size())));
    EXPECT_EQ("1", id_of(socket.read(client)));
    const std::string reply = result("1", "6");
    const std::string bytes =
        frame(R"({"method":"a"})") + frame("hello", ws::Opcode::ping) +
        frame(reply.substr(0, 5), ws::Opcode::text, false) + frame("x", ws::Opcode::pong) +
        frame("", ws::Opcode::continuation, false) +
        frame(reply.substr(5), ws::Opcode::continuation) + frame(R"({"method":"b"})");
    size = std::max(bytes.size(), answer.size()) + 1;
    peer.write(std::string_view(bytes).substr(0, cut));
    client.poll(1);
    client.poll(0);
    peer.write(std::string_view(bytes).substr(std::min(cut, bytes.size())));
    ASSERT_TRUE(call.wait().ok()) << cut << call.wait().sentence();
    EXPECT_EQ(6, *call.wait());
    ASSERT_TRUE(turn_until(client, [&] { return events == "ab"; })) << events;
  }
}

TEST(WebSocketCall, LargeMessagesGoBothWays) {
  Peer peer;
  Client client(peer.url("ws"), fast());
  const std::string text(70'000, 'y');
  std::optional<Answer<std::string>> answer;
  client.start<std::string>("a", std::vector{text},
                            [&](Answer<std::string> came) { answer.emplace(std::move(came)); });
  WebSocket socket(peer);
  peer.write(socket.handshake(client));
  EXPECT_NE(std::string::npos, socket.read(client).find(text));
  peer.write(frame(result("1", "\"" + text + "\"")));
  ASSERT_TRUE(turn_until(client, [&] { return answer.has_value(); }));
  EXPECT_EQ(text, answer->value());
}

TEST(WebSocketCall, APingIsAnsweredAndAnEndSaysWhy) {
  Peer peer;
  Client client(peer.url("ws"), fast());
  Started call(client);
  WebSocket socket(peer);
  peer.write(socket.handshake(client));
  socket.read(client);
  peer.write(frame("hi", ws::Opcode::ping));
  EXPECT_EQ("10:hi", socket.read(client));
  peer.write(frame(std::string("\x03\xE9") + "bye", ws::Opcode::close));
  EXPECT_EQ("8:\x03\xE9", socket.read(client));
  EXPECT_EQ(FailureKind::disconnected, call.wait().failure().kind);
  EXPECT_EQ("the server closed the WebSocket: 1001 bye", call.wait().sentence());
}

TEST(WebSocketCall, AServerThatBreaksTheRulesIsLeftWithACode) {
  struct Case {
    std::string bytes;
    FailureKind kind;
    std::string close;
  };
  for (const Case& is :
       {Case{frame("\xFF"), FailureKind::bad_reply, "8:\x03\xEF"},
        Case{frame("x", ws::Opcode::binary), FailureKind::bad_reply, "8:\x03\xEB"},
        Case{frame("x", ws::Opcode::continuation), FailureKind::bad_reply, "8:\x03\xEA"},
        Case{std::string("\x81\x81", 2) + "abcdx", FailureKind::bad_reply, "8:\x03\xEA"},
        Case{frame(std::string(101, 'x')), FailureKind::too_large, "8:\x03\xF1"}}) {
    Peer peer;
    ClientOptions options = fast();
    options.reply_size_max = 100;
    Client client(peer.url("ws"), options);
    Started call(client);
    WebSocket socket(peer);
    peer.write(socket.handshake(client));
    socket.read(client);
    peer.write(is.bytes);
    EXPECT_EQ(is.close, socket.read(client));
    EXPECT_EQ(is.kind, call.wait().failure().kind);
  }
}

TEST(WebSocketCall, ATimeoutTellsTheServerAndTheEndSaysGoodbye) {
  Peer peer(true);
  WebSocket socket(peer);
  std::optional<Client> client(std::in_place, peer.url("unix-ws"), fast());
  {
    Started call(*client, "[]", {.timeout_ms = 20});
    peer.write(socket.handshake(*client));
    EXPECT_TRUE(socket.head.starts_with("GET /rpc HTTP/1.1\r\nHost: localhost\r\n"));
    socket.read(*client);
    EXPECT_EQ(FailureKind::timed_out, call.wait().failure().kind);
    EXPECT_EQ(R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}})", socket.read(*client));
  }
  client.reset();
  Client other("tcp://127.0.0.1:1");
  EXPECT_EQ("8:\x03\xE8", socket.read(other));
}

}  // namespace
}  // namespace ringrpc::client_test
