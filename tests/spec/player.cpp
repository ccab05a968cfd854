#include "tests/spec/player.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace ringrpc::testing {
namespace {

// Nothing here takes this long; it only ends a test that would hang.
constexpr int patience_ms = 20'000;
// More than this is not read by a server that has refused; it may reset the connection.
constexpr std::size_t drained_size_max = 64u << 10;

class Patience {
 public:
  [[nodiscard]] bool is_over() const {
    return std::chrono::steady_clock::now() - begin_ > std::chrono::milliseconds(patience_ms);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::map<std::string, std::uint64_t> calls_of(const Server& server) {
  std::map<std::string, std::uint64_t> calls;
  const std::string text = server.calls_json();
  std::size_t at = 1;
  while (at < text.size() && text[at] == '"') {
    const std::size_t end = text.find('"', at + 1);
    const std::string name = text.substr(at + 1, end - at - 1);
    char* after = nullptr;
    calls[name] = std::strtoull(text.c_str() + end + 2, &after, 10);
    at = static_cast<std::size_t>(after - text.c_str()) + 1;
  }
  return calls;
}

std::uint64_t metric_of(const std::string& metrics, std::string_view name) {
  const std::string line = "\n" + std::string(name) + " ";
  const std::size_t at = metrics.find(line);
  return at == metrics.npos ? 0 : std::strtoull(metrics.c_str() + at + line.size(), nullptr, 10);
}

std::uint64_t Player::metric(std::string_view name) const {
  return metric_of(server_.metrics(), name);
}

bool Player::connect() {
  hang_up();
  // The bytes of an earlier connection must be counted before those of this one.
  const Patience patience;
  while (metric("ringrpc_connections") != 0) {
    if (patience.is_over()) return false;
    sched_yield();
  }
  taken_before_ = metric("ringrpc_bytes_in_total");
  sent_ = 0;
  reset_ = false;
  if (server_.port() == 0) return connect_to_path();
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

bool Player::connect_to_path() {
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = server_.address();
  if (path.empty() || path.size() >= sizeof(address.sun_path)) return false;
  path.copy(address.sun_path, path.size());
  return ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

void Player::hang_up() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  received_.clear();
}

std::string Player::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      reset_ = true;  // Whether it may is seen when the answer is read.
      return {};
    }
    sent_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

std::string Player::wait_until_taken() {
  const Patience patience;
  while (!reset_ && metric("ringrpc_bytes_in_total") < taken_before_ + sent_) {
    if (patience.is_over()) return "the server does not take what was sent";
    // A reset after a refusal leaves bytes that nobody takes.
    pollfd waited{.fd = fd_, .events = 0, .revents = 0};
    if (poll(&waited, 1, 0) > 0 && (waited.revents & POLLERR) != 0) reset_ = true;
    sched_yield();
  }
  return {};
}

std::string Player::send(std::string_view bytes, const Cuts& cuts) {
  std::string complaint;
  while (cuts.every_byte && bytes.size() > 1 && complaint.empty()) {
    complaint = write(bytes.substr(0, 1));
    if (complaint.empty()) complaint = wait_until_taken();
    bytes.remove_prefix(1);
  }
  if (cuts.offset != Cuts::nowhere) {
    complaint = write(bytes.substr(0, cuts.offset));
    if (complaint.empty()) complaint = wait_until_taken();
    bytes.remove_prefix(cuts.offset);
  }
  return complaint.empty() ? write(bytes) : complaint;
}

long Player::read_more() {
  pollfd waited{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, patience_ms) <= 0) return -2;
  char buffer[65536];
  const ssize_t count = recv(fd_, buffer, sizeof(buffer), 0);
  if (count > 0) received_.append(buffer, static_cast<std::size_t>(count));
  return count < 0 ? -1 : count;
}

std::string Player::read_reply(const ExpectedReply& expected) {
  for (;;) {
    const Match match = match_reply(expected, received_);
    if (match.state == MatchState::wrong) return match.complaint;
    if (match.state == MatchState::matched) {
      received_.erase(0, match.size);
      return {};
    }
    const long count = read_more();
    if (count > 0) continue;
    const std::string what = count == 0    ? "the connection ended"
                             : count == -1 ? "the connection was reset"
                                           : "nothing came";
    return what + " where an answer should be; so far: \"" + shown(received_) + "\"";
  }
}

std::string Player::read_end() {
  long count = 1;
  while (count > 0 && received_.empty()) count = read_more();
  if (!received_.empty()) return "there came more: " + shown(received_);
  if (count == 0 || (count == -1 && sent_ > drained_size_max)) return {};
  return count == -1 ? "the connection was reset" : "the connection does not end";
}

std::string Player::play_steps(const Conversation& conversation, const Cuts& cuts) {
  std::size_t sends = 0;
  for (const Step& step : conversation.steps) {
    std::string complaint;
    switch (step.kind) {
      case Step::Kind::send: {
        const bool meant = cuts.step == Cuts::nowhere || cuts.step == sends;
        complaint = send(step.bytes, meant ? cuts : Cuts{});
        ++sends;
        break;
      }
      case Step::Kind::reply:
        complaint = read_reply(step.reply);
        break;
      case Step::Kind::finish:
        shutdown(fd_, SHUT_WR);
        break;
      case Step::Kind::close:
        complaint = read_end();
        break;
      case Step::Kind::pass:
      case Step::Kind::hold:
        complaint = "not played here";
        break;
    }
    if (!complaint.empty()) return complaint;
  }
  if (!received_.empty()) return "there came more: " + shown(received_);
  return {};
}

std::string Player::play(const Conversation& conversation, const Cuts& cuts) {
  if (fd_ < 0 && !connect()) return "no connection";
  const std::map<std::string, std::uint64_t> before = calls_of(server_);
  std::string complaint = play_steps(conversation, cuts);
  if (!complaint.empty() || !conversation.stays_open()) hang_up();
  if (!complaint.empty() || !conversation.calls.has_value()) return complaint;
  std::map<std::string, std::uint64_t> calls = calls_of(server_);
  for (const auto& [name, count] : before) {
    calls[name] -= count;
    if (calls[name] == 0) calls.erase(name);
  }
  if (calls == *conversation.calls) return {};
  std::string text = "handlers ran otherwise:";
  for (const auto& [name, count] : calls) text += " " + name + " " + std::to_string(count);
  return text;
}

std::string Player::probe() {
  if (fd_ < 0) return {};
  ExpectedReply expected;
  std::string_view question = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (lines_) {
    question = "{}\n";
    expected.line = true;
    expected.body =
        R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null})";
  } else {
    expected.fields = {"Content-Type: text/plain; charset=utf-8"};
    expected.body = "ok\n";
  }
  std::string complaint = write(question);
  if (!complaint.empty()) return complaint;
  complaint = read_reply(expected);
  if (complaint.empty() && !received_.empty()) complaint = "there came more: " + shown(received_);
  if (complaint.empty()) return {};
  hang_up();
  return "behind it, another question: " + complaint;
}

}  // namespace ringrpc::testing
