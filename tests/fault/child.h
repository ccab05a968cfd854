#pragma once

// A server in a process of its own, so that a test can take something away from it.

#include <ringrpc/server.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tests/wire/socket.h"

namespace ringrpc::testing {

// Owns:   the process; it is killed at the end unless it has been stopped.
// Thread: one, of a process that has no other (fork).
class Child {
 public:
  struct Setup {
    Options options = {};
    std::function<void()> before = [] {};            // in the child, before the server exists
    std::function<void(Server&)> methods = nullptr;  // beside sum
  };

  // One worker on a free port of that backend, with the short stop that tests want.
  static Options options(IoChoice io);

  explicit Child(const Setup& setup);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // The first line on stderr: where it listens, or why it does not.
  [[nodiscard]] const std::string& start_line() const { return start_line_; }
  // The value of a metric, asked for over that connection.
  static std::uint64_t metric(Socket& over, std::string_view name);

  // Returns: the exit code; -1 when a signal ended it.
  int stop();
  int wait();
  // What stands on stderr behind the first line, up to the end. After stop() or wait().
  [[nodiscard]] const std::string& errors() const { return errors_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::uint16_t port_ = 0;
  std::string start_line_;
  std::string errors_;
};

// One call of that method, without an HTTP head; and the response of one over a connection.
std::string call_text(std::string_view method, std::string_view params = "");
std::string call_over(Socket& socket, std::string_view method, std::string_view params = "");

// Whether a checker is compiled in that needs address space of its own.
bool has_sanitizer();

}  // namespace ringrpc::testing
