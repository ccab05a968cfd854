// Goal: the memory plan is the truth: a server whose pools are all full is as large as its plan
// says, within 10 %, and gives what was mapped for a burst back afterwards.
// Method: a child process with one worker, its pools filled over loopback: the deepest index, the
// whole scratch, partial messages, calls that sleep, and slow readers in front of slabs and large
// replies. When the gauges say so, VmRSS is compared with the plan.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <ringrpc/server.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace ringrpc {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::uint32_t calls_max = 4096;

Options options() {
  return {.listen = "127.0.0.1:0",
          .workers = 1,
          .pin = false,
          .connections_max = 512,
          .partial_pool_size = 32u << 20,
          .in_flight_max = calls_max,
          .in_flight_per_connection_max = calls_max,
          .late_memory_size_max = 16u << 20,
          .frame_memory_size_max = limits::frame_memory_size_max_min};
}

// Serves until the parent closes its end of the pipe; tells it the port first.
[[noreturn]] void serve(int port_out, int end_in) {
  Server server(options());
  server.method("blob", [](Call& call, Reply& reply) {
    std::int64_t bytes = 0;
    if (call.params().at(0).get(bytes)) {
      static const std::string text(16 * mib, 'x');
      reply.result().string(std::string_view(text).substr(0, static_cast<std::size_t>(bytes)));
    }
  });
  server.method("text", [](Call& call) {
    std::string_view text;
    return call.params().at(0).get(text, call.scratch()) ? text.size() : 0;
  });
  server.method("sleep", [](Deferred reply) {
    std::move(reply).after(3'600'000, [](Deferred woken) { woken.stop(); });
  });
  const std::uint16_t port = server.start() ? server.port() : static_cast<std::uint16_t>(0);
  char byte = 0;
  if (write(port_out, &port, sizeof(port)) == sizeof(port)) {
    while (read(end_in, &byte, 1) > 0) {
    }
  }
  server.stop();
  _exit(0);
}

std::size_t resident_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    std::size_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

std::size_t number_behind(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size()));
}

class Resident : public ::testing::Test {
 protected:
  void SetUp() override {
    int port_pipe[2];
    int end_pipe[2];
    ASSERT_EQ(pipe(port_pipe) + pipe(end_pipe), 0);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      close(end_pipe[1]);
      serve(port_pipe[1], end_pipe[0]);
    }
    close(port_pipe[1]);
    close(end_pipe[0]);
    end_ = end_pipe[1];
    ASSERT_EQ(read(port_pipe[0], &port_, sizeof(port_)), static_cast<ssize_t>(sizeof(port_)));
    close(port_pipe[0]);
    ASSERT_NE(port_, 0);
  }

  void TearDown() override {
    hang_up();
    close(end_);
    int status = 0;
    ASSERT_EQ(waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }

  void hang_up() {
    for (const int fd : fds_) close(fd);
    fds_.clear();
  }

  int connected(bool slow = false) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int least = 1;
    if (slow) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    fds_.push_back(fd);
    return fd;
  }

  static void write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t size = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(size, 0);
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  static std::string post(const std::string& body, std::size_t more = 0) {
    return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "Content-Length: " +
           std::to_string(body.size() + more) + "\r\n\r\n" + body;
  }

  static std::string blob(std::size_t size) {
    return post(R"({"jsonrpc":"2.0","method":"blob","params":[)" + std::to_string(size) +
                R"(],"id":1})");
  }

  // One request on a connection of its own. Returns: the answer up to the server's end.
  std::string answer_to(std::string request) {
    request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
    const int fd = connected();
    write_all(fd, request);
    std::string answer;
    char bytes[16'384];
    for (ssize_t size; (size = recv(fd, bytes, sizeof(bytes), 0)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(size));
    }
    close(fd);
    fds_.pop_back();
    return answer;
  }

  std::size_t gauge(const std::string& pool) {
    return number_behind(answer_to("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                         "ringrpc_memory_bytes{pool=\"" + pool + "\"} ");
  }

  // Structure in every byte, then one string that has to be unescaped.
  void fill_index_and_scratch() {
    std::string body = R"({"jsonrpc":"2.0","method":"nobody","id":1,"params":[1)";
    while (body.size() + 4 < limits::message_size_max) body += ",1";
    ASSERT_NE(answer_to(post(body + "]}")).find("-32601"), std::string::npos);
    body = R"({"jsonrpc":"2.0","method":"text","id":1,"params":["\n)";
    body.append(limits::message_size_max - body.size() - 3, 't');
    ASSERT_NE(answer_to(post(body + "\"]}")).find("\"result\":4194"), std::string::npos);
  }

  // Three quarters: the rest is kept for what is said of them.
  const std::uint32_t requests_size_max = options().late_memory_size_max / 4 * 3;

  // Calls that sleep, whose params, and the room to unescape them, fill what there may be.
  void fill_late_calls() {
    const std::string call = R"({"jsonrpc":"2.0","id":1,"method":"sleep","params":[")" +
                             std::string(requests_size_max / calls_max / 2 - 256, 'p') + "\"]}";
    const int fd = connected();
    for (std::uint32_t i = 0; i < calls_max; ++i) write_all(fd, post(call));
  }

  // Bodies that lack their last byte, each filling a block.
  void fill_partial_messages() {
    const std::size_t size = mib - 512;
    for (std::size_t i = 0; i < options().partial_pool_size / mib; ++i) {
      write_all(connected(), post(std::string(size - 1, ' '), 1));
    }
  }

  // Slow readers, each asking for more than the kernel takes for it.
  void fill_slabs() {
    for (std::uint32_t i = 0; i < limits::reply_slabs; ++i) {
      const int fd = connected(true);
      for (int asked = 0; asked < 60; ++asked) write_all(fd, blob(120'000));
    }
  }

  void fill_large_replies() {
    for (std::size_t i = 0; i < limits::large_replies_size_max / (16 * mib); ++i) {
      write_all(connected(true), blob(16 * mib - 1000));
    }
  }

  // Returns: whether a gauge comes to at least that, asking again and again.
  bool reaches(const std::string& pool, std::size_t bytes) {
    for (int i = 0; i < 5000; ++i) {
      if (gauge(pool) >= bytes) return true;
    }
    return false;
  }

  pid_t child_ = -1;
  int end_ = -1;
  std::uint16_t port_ = 0;
  std::vector<int> fds_;
};

TEST_F(Resident, AServerWithAllPoolsFullIsAsLargeAsItsPlan) {
  Server same(options());
  const std::size_t planned = number_behind(same.plan(), "  total");
  fill_index_and_scratch();
  fill_late_calls();
  fill_slabs();
  fill_large_replies();
  fill_partial_messages();
  EXPECT_TRUE(reaches("partial_messages", options().partial_pool_size * 9 / 10))
      << gauge("partial_messages");
  EXPECT_TRUE(reaches("late_memory", requests_size_max / 10 * 9)) << gauge("late_memory");
  EXPECT_TRUE(reaches("large_replies", limits::large_replies_size_max / 10 * 9))
      << gauge("large_replies");
  const double resident = static_cast<double>(resident_bytes(child_));
  const double share = resident / static_cast<double>(planned);
  RecordProperty("resident_share_of_plan", std::to_string(share));
  std::printf("resident %.0f KiB, planned %zu KiB, %.1f %%\n", resident / 1024, planned / 1024,
              share * 100);
  EXPECT_GE(share, 0.9);
  EXPECT_LE(share, 1.1);
  hang_up();
  std::size_t left = ~std::size_t{0};
  for (int i = 0; i < 5000 && left != 0; ++i) left = gauge("large_replies");
  EXPECT_EQ(left, 0u);
  EXPECT_LT(resident_bytes(child_), planned - limits::large_replies_size_max * 9ull / 10);
}

}  // namespace
}  // namespace ringrpc
