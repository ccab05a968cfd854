// Goal: what a server says on stdout is messages and nothing else, whoever prints, and nobody who
// does not read holds it up. Method: a server in a process of its own, on both backends, with pipes
// for its stdin and stdout.

#include <gtest/gtest.h>
#include <poll.h>
#include <ringrpc/async.h>
#include <ringrpc/limits.h>
#include <ringrpc/server.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace ringrpc::testing {
namespace {

constexpr int patience_ms = 20'000;
constexpr std::string_view noise = "somebody prints\n";
constexpr std::size_t large_size = 4'000'000;
constexpr std::size_t large_line_size =
    std::string_view(R"({"jsonrpc":"2.0","result":"","id":1})").size() + large_size + 1;

// Prints in every way that a handler, or a library that it uses, may have.
bool print() {
  std::printf("%s", noise.data());
  std::fflush(stdout);
  std::printf("%s", noise.data());  // This one is written when the process ends.
  return write(STDOUT_FILENO, noise.data(), noise.size()) > 0;
}

// Owns: the process, which is killed at the end unless it has been waited for.
class Child {
 public:
  explicit Child(IoChoice io) {
    int in[2];
    int out[2];
    int error[2];
    if (pipe(in) != 0 || pipe(out) != 0 || pipe(error) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(error[1], STDERR_FILENO);
      for (int* ends : {in, out, error}) {
        close(ends[0]);
        close(ends[1]);
      }
      std::printf("%s", noise.data());  // Not written yet when the server starts.
      Server server({.listen = "", .stdio = true, .io = io, .pin = false, .stop_timeout_ms = 300});
      server.method("print", print);
      server.method("blob", [] { return std::string(large_size, 'x'); });
      server.method("sleep", [](Deferred reply) {
        std::move(reply).after(3'600'000, [](Deferred woken) { woken.stop(); });
      });
      const int code = server.run();
      std::fflush(stdout);
      _exit(code);
    }
    close(in[0]);
    close(out[1]);
    close(error[1]);
    in_ = in[1];
    out_ = out[0];
    error_ = error[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    wait();
    close_in();
    close(out_);
    close(error_);
  }

  void say(std::string_view text) {
    EXPECT_EQ(write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_in() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  std::string hear_line() {
    std::size_t end = 0;
    while ((end = heard_.find('\n', end)) == heard_.npos) {
      end = heard_.size();
      if (!hear_more()) return std::exchange(heard_, {});
    }
    std::string line = heard_.substr(0, end + 1);
    heard_.erase(0, end + 1);
    return line;
  }
  std::string hear_all() {
    while (hear_more()) {
    }
    return std::exchange(heard_, {});
  }
  std::string errors() { return read_all(error_); }
  void stop() { kill(pid_, SIGTERM); }

  // Returns: the exit code; -1 when a signal ended it.
  int wait() {
    if (pid_ <= 0) return -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  bool hear_more() {
    char bytes[65536];
    const ssize_t size = read_some(out_, bytes, sizeof(bytes));
    if (size > 0) heard_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }
  static ssize_t read_some(int fd, char* bytes, std::size_t size) {
    pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&waited, 1, patience_ms) > 0 ? read(fd, bytes, size) : -1;
  }
  static std::string read_all(int fd) {
    std::string text;
    char bytes[65536];
    for (ssize_t size = 0; (size = read_some(fd, bytes, sizeof(bytes))) > 0;) {
      text.append(bytes, static_cast<std::size_t>(size));
    }
    return text;
  }

  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  int error_ = -1;
  std::string heard_;
};

class Stdio : public ::testing::TestWithParam<IoChoice> {};

TEST_P(Stdio, WhoeverPrintsPrintsOnStderr) {
  Child child(GetParam());
  child.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"print\"}\n");
  EXPECT_EQ(child.hear_line(), "{\"jsonrpc\":\"2.0\",\"result\":true,\"id\":1}\n");
  child.close_in();
  EXPECT_EQ(child.hear_all(), "");
  EXPECT_EQ(child.wait(), 0);
  const std::string errors = child.errors();
  std::size_t count = 0;
  for (std::size_t at = errors.find(noise); at != errors.npos; at = errors.find(noise, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 4u) << errors;
}

TEST_P(Stdio, AReaderThatTakesNothingIsLeftBehindAtTheDeadline) {
  Child child(GetParam());
  child.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blob\"}\n");
  EXPECT_EQ(child.hear_line().size(), large_line_size);  // It serves.
  child.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blob\"}\n");
  child.stop();
  EXPECT_EQ(child.wait(), 1);
}

TEST_P(Stdio, AWriterThatHasMoreThanIsReadWaits) {
  Child child(GetParam());
  // Answers that nobody reads stop the reading of calls; nothing is lost on the way.
  const pid_t writer = fork();
  if (writer == 0) {
    for (int i = 0; i < 20; ++i) {
      child.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"blob\"}\n");
    }
    _exit(0);
  }
  for (int i = 0; i < 20; ++i) ASSERT_EQ(child.hear_line().size(), large_line_size) << i;
  int status = 0;
  waitpid(writer, &status, 0);
  child.close_in();
  EXPECT_EQ(child.hear_all(), "");
  EXPECT_EQ(child.wait(), 0);
}

TEST_P(Stdio, WhoHasAsManyCallsAsThereMayBeCanCancelThem) {
  Child child(GetParam());
  const auto wait = [](std::uint32_t id) {
    return R"({"jsonrpc":"2.0","method":"sleep","id":)" + std::to_string(id) + "}\n";
  };
  const auto begins = [](int code) {
    return R"({"jsonrpc":"2.0","error":{"code":)" + std::to_string(code) + ",";
  };
  const auto cancel = [](std::uint32_t id) {
    return R"({"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":)" + std::to_string(id) +
           "}}\n";
  };
  constexpr std::uint32_t most = limits::in_flight_per_connection_max;
  std::string calls;
  for (std::uint32_t id = 1; id <= most + 1; ++id) calls += wait(id);
  child.say(calls);
  const std::string refused = child.hear_line();
  EXPECT_TRUE(refused.starts_with(begins(-31001))) << refused;
  EXPECT_NE(refused.find(R"("reason":"in_flight_per_connection")"), refused.npos) << refused;
  for (std::uint32_t id = 1; id <= most; ++id) {
    child.say(cancel(id));
    const std::string ended = child.hear_line();
    EXPECT_TRUE(ended.starts_with(begins(-31006))) << ended;
    EXPECT_TRUE(ended.ends_with(R"(,"id":)" + std::to_string(id) + "}\n")) << ended;
  }
  child.say(wait(1) + cancel(1));
  EXPECT_TRUE(child.hear_line().starts_with(begins(-31006)));
  child.close_in();
  EXPECT_EQ(child.hear_all(), "");
  EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(OnBothBackends, Stdio, ::testing::Values(IoChoice::uring, IoChoice::epoll),
                         [](const auto& one) {
                           return one.param == IoChoice::uring ? "Uring" : "Epoll";
                         });

}  // namespace
}  // namespace ringrpc::testing
