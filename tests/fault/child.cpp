#include "tests/fault/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "engine/base/assert.h"

namespace ringrpc::testing {
namespace {

struct Sum {
  std::int64_t a;
  std::int64_t b;
};

}  // namespace

Options Child::options(IoChoice io) {
  return {.listen = "127.0.0.1:0",
          .workers = 1,
          .io = io,
          .pin = false,
          .linger_timeout_ms = limits::timeout_ms_min};
}

Child::Child(const Setup& setup) {
  int pipes[2] = {-1, -1};
  RINGRPC_ASSERT(pipe2(pipes, O_CLOEXEC) == 0);
  pid_ = fork();
  RINGRPC_ASSERT(pid_ >= 0, errno);
  if (pid_ == 0) {
    dup2(pipes[1], STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // Nothing is left behind by a test that is killed.
    setup.before();
    int code = 0;
    {
      Server server(setup.options);
      server.method("sum", [](const Sum& in) { return in.a + in.b; });
      if (setup.methods) setup.methods(server);
      code = server.run();
    }
    _exit(code);
  }
  close(pipes[1]);
  pipe_ = pipes[0];
  for (char c = 0; read(pipe_, &c, 1) == 1 && c != '\n';) start_line_ += c;
  constexpr std::string_view mark = "http://127.0.0.1:";
  const std::size_t at = start_line_.find(mark);
  if (at == start_line_.npos) return;
  port_ = static_cast<std::uint16_t>(std::atoi(start_line_.c_str() + at + mark.size()));
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(pipe_);
}

std::uint64_t Child::metric(Socket& over, std::string_view name) {
  if (!over.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")) return 0;
  const std::string text = over.read_response();
  const std::string line = "\n" + std::string(name) + " ";
  const std::size_t at = text.find(line);
  RINGRPC_ASSERT(at != text.npos, name, text);
  return std::strtoull(text.c_str() + at + line.size(), nullptr, 10);
}

int Child::stop() {
  kill(pid_, SIGTERM);
  return wait();
}

int Child::wait() {
  char bytes[4096];
  for (ssize_t count = 0; (count = read(pipe_, bytes, sizeof(bytes))) > 0;) {
    errors_.append(bytes, static_cast<std::size_t>(count));
  }
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, 0);
  RINGRPC_ASSERT(ended == pid_, errno);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string call_text(std::string_view method, std::string_view params) {
  std::string text = R"({"jsonrpc":"2.0","method":")";
  text.append(method).append("\"");
  if (!params.empty()) text.append(R"(,"params":)").append(params);
  return text + R"(,"id":1})";
}

std::string call_over(Socket& socket, std::string_view method, std::string_view params) {
  return socket.write(post(call_text(method, params))) ? socket.read_response() : "<not written>";
}

bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

}  // namespace ringrpc::testing
