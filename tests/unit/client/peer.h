#pragma once

// The other end of a client, in the same thread: a listener that does what a test wants, while the
// client's loop turns. Waiting has an end, and its failure fails the test.

#include <gtest/gtest.h>
#include <ringrpc/client.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace ringrpc::client_test {

// Turns the client's loop until `done` says so. Returns: false when that takes very long.
bool turn_until(Client& client, const std::function<bool()>& done);

class Peer {
 public:
  // Listens on 127.0.0.1, or on a Unix socket in a new folder.
  explicit Peer(bool unix_socket = false);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Returns: "SCHEME:..." with the address behind it.
  [[nodiscard]] std::string url(std::string_view scheme) const;

  // Waits for the next connection, which takes the place of the one before.
  void accept(Client& client);
  // Returns: whether a connection waits to be accepted.
  [[nodiscard]] bool has_caller() const;
  [[nodiscard]] bool is_connected() const { return fd_ >= 0; }

  // Waits for the next line, or for the next request with its whole body, which may come on another
  // connection.
  std::string read_line(Client& client);
  std::string read_request(Client& client);
  // Waits for a request's head, with the empty line that ends it.
  std::string read_head(Client& client);
  // Returns: what has come and was not read yet, without waiting.
  std::string take_some();
  // Waits until the client has closed the connection. Returns: what came before that.
  std::string read_to_end(Client& client);

  void write(std::string_view bytes);
  void finish();  // FIN
  void close();
  void reset();
  void stop_listening();

 private:
  void take_caller();
  // Takes in what has come. Returns: false at the end.
  bool receive();

  int listener_ = -1;
  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::string folder_;
  std::string in_;
};

// A server in a thread of its own, for what waits: answers the first request of one connection, and
// waits for the client to close it.
class Answering {
 public:
  explicit Answering(std::string answer);
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  [[nodiscard]] std::string url() const;
  // Returns: the request's body. Requires: the client has its answer.
  [[nodiscard]] const std::string& body() const { return body_; }

 private:
  void serve();

  std::string answer_;
  std::string body_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// The token of a message's id. Requires: there is one, a number.
std::string id_of(std::string_view message);

// A response with a length.
std::string http(std::string_view body, std::string_view head = "",
                 std::string_view status = "200 OK");

// {"jsonrpc":"2.0","result":RESULT,"id":ID}
std::string result(std::string_view id, std::string_view value);
std::string error(std::string_view id, int code, std::string_view data = "");

}  // namespace ringrpc::client_test
