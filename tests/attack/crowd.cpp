#include "tests/attack/crowd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>

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

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

// A reset leaves no port behind that waits for late segments: there are tens of thousands of these.
void end_connection(int fd) {
  const linger hard{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  close(fd);
}

bool has_ended(int fd) {
  pollfd waited{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return poll(&waited, 1, 0) > 0;
}

std::string difference(const std::map<std::string, std::uint64_t>& before,
                       std::map<std::string, std::uint64_t> calls,
                       std::map<std::string, std::uint64_t> expected) {
  for (const auto& [name, count] : before) calls[name] -= count;
  calls.erase("witness");
  std::string text;
  for (const auto& [name, count] : calls) {
    if (count != expected[name]) text += " " + name + " " + std::to_string(count);
    expected.erase(name);
  }
  for (const auto& [name, count] : expected) {
    if (count != 0) text += " " + name + " 0";
  }
  return text;
}

}  // namespace

Crowd::Crowd(Server& server) : server_(server) {
  descriptors_ = open_descriptors();
  witness_.fd = connect();
}

Crowd::~Crowd() { close(witness_.fd); }

std::uint64_t Crowd::metric(std::string_view name) const {
  return metric_of(server_.metrics(), name);
}

bool Crowd::wait_for(std::string_view name, std::uint64_t value) {
  const Patience patience;
  while (metric(name) != value) {
    if (patience.is_over()) return false;
    sched_yield();
  }
  return true;
}

int Crowd::connect() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  const timeval patience{.tv_sec = patience_ms / 1000, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

void Crowd::write(Member& member, std::string_view bytes) {
  while (!bytes.empty() && !member.reset) {
    const ssize_t count = ::send(member.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      member.reset = true;  // Whether it may is seen when the answer is read.
      return;
    }
    member.sent += static_cast<std::uint64_t>(count);
    sent_ += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

long Crowd::read_more(Member& member) {
  pollfd waited{.fd = member.fd, .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, patience_ms) <= 0) return -2;
  char buffer[65536];
  const ssize_t count = recv(member.fd, buffer, sizeof(buffer), 0);
  if (count > 0) member.received.append(buffer, static_cast<std::size_t>(count));
  return count < 0 ? -1 : count;
}

std::string Crowd::read_reply(Member& member, const ExpectedReply& expected) {
  for (;;) {
    const Match match = match_reply(expected, member.received);
    if (match.state == MatchState::wrong) return match.complaint;
    if (match.state == MatchState::matched) {
      member.received.erase(0, match.size);
      return {};
    }
    const long count = read_more(member);
    if (count > 0) continue;
    const std::string what = count == 0    ? "the connection ended"
                             : count == -1 ? "the connection was reset"
                                           : "nothing came";
    return what + " where an answer should be; so far: \"" + shown(member.received) + "\"";
  }
}

std::string Crowd::read_end(Member& member) {
  long count = 1;
  while (count > 0 && member.received.empty()) count = read_more(member);
  if (!member.received.empty()) return "there came more: " + shown(member.received);
  if (count == 0 || (count == -1 && member.sent > drained_size_max)) return {};
  return count == -1 ? "the connection was reset" : "the connection does not end";
}

// Asks something else: whether the connection is where it should be.
std::string Crowd::probe(Member& member) {
  write(member, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ExpectedReply expected;
  expected.fields = {"Content-Type: text/plain; charset=utf-8"};
  expected.body = "ok\n";
  const std::string complaint = read_reply(member, expected);
  return complaint.empty() ? complaint : "behind it, GET /healthz: " + complaint;
}

// Returns: whether the step is over; if not, the rest is sent the next time.
bool Crowd::send_step(Member& member, const Step& step) {
  const Cuts& cuts = member.part.cuts;
  const bool meant = cuts.step == Cuts::nowhere || cuts.step == member.sends;
  const std::string_view rest = std::string_view(step.bytes).substr(member.step_sent);
  std::size_t count = rest.size();
  if (meant && cuts.every_byte) count = 1;
  if (meant && cuts.offset != Cuts::nowhere && member.step_sent == 0) count = cuts.offset;
  count = std::min(count, rest.size());
  write(member, rest.substr(0, count));
  member.step_sent += count;
  return member.step_sent == step.bytes.size();
}

// Plays a member to its next tear, or to its end.
void Crowd::advance(Member& member) {
  const std::vector<Step>& steps = member.part.one->steps;
  while (member.complaint.empty() && member.step < steps.size()) {
    const Step& step = steps[member.step];
    switch (step.kind) {
      case Step::Kind::send:
        if (!send_step(member, step)) return;
        ++member.sends;
        member.step_sent = 0;
        break;
      case Step::Kind::reply:
        member.complaint = read_reply(member, step.reply);
        break;
      case Step::Kind::finish:
        shutdown(member.fd, SHUT_WR);
        break;
      case Step::Kind::close:
        member.complaint = read_end(member);
        break;
      case Step::Kind::pass:
      case Step::Kind::hold:
        member.complaint = "not played here";
        break;
    }
    ++member.step;
  }
  if (member.complaint.empty() && member.part.one->stays_open()) member.complaint = probe(member);
  if (member.complaint.empty() && !member.received.empty()) {
    member.complaint = "there came more: " + shown(member.received);
  }
  end_connection(member.fd);
  member.done = true;
}

std::string Crowd::wait_until_taken(std::span<const Member> members) {
  const Patience patience;
  while (metric("ringrpc_bytes_in_total") < taken_before_ + sent_) {
    // What a server that has refused does not read, nobody takes.
    for (const Member& member : members) {
      const bool may_end = member.sent > drained_size_max;
      if (may_end && (member.done || member.reset || has_ended(member.fd))) return {};
    }
    if (patience.is_over()) return "the server does not take what was sent";
    sched_yield();
  }
  return {};
}

// The second client has half of a call with the server.
std::string Crowd::begin_witness() {
  const std::string body = "{\"jsonrpc\":\"2.0\",\"id\":\"witness " +
                           std::to_string(++witness_calls_) + "\",\"method\":\"witness\"}";
  const std::string call =
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  const std::size_t half = 1 + witness_calls_ % (call.size() - 1);
  write(witness_, std::string_view(call).substr(0, half));
  witness_rest_ = call.substr(half);
  return {};
}

std::string Crowd::end_witness() {
  write(witness_, witness_rest_);
  ExpectedReply expected;
  expected.fields = {"Content-Type: application/json"};
  expected.body = "{\"jsonrpc\":\"2.0\",\"result\":true,\"id\":\"witness " +
                  std::to_string(witness_calls_) + "\"}";
  std::string complaint = read_reply(witness_, expected);
  if (complaint.empty() && !witness_.received.empty()) {
    complaint = "there came more: " + shown(witness_.received);
  }
  return complaint.empty() ? complaint : "the second client: " + complaint;
}

std::vector<std::string> Crowd::play(std::span<const Part> parts) {
  if (!wait_for("ringrpc_connections", 1)) return {"former connections do not end"};
  taken_before_ = metric("ringrpc_bytes_in_total");
  sent_ = 0;
  const std::map<std::string, std::uint64_t> calls = calls_of(server_);
  std::map<std::string, std::uint64_t> expected;
  std::vector<Member> members(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    members[i].part = parts[i];
    members[i].fd = connect();
    if (members[i].fd < 0) return {"no connection"};
    if (!parts[i].one->calls.has_value()) continue;
    for (const auto& [name, count] : *parts[i].one->calls) expected[name] += count;
  }

  std::vector<std::string> complaints;
  bool all_done = false;
  while (!all_done && complaints.empty()) {
    begin_witness();
    all_done = true;
    for (Member& member : members) {
      if (!member.done) advance(member);
      all_done = all_done && member.done;
    }
    for (const std::string& complaint : {wait_until_taken(members), end_witness()}) {
      if (!complaint.empty()) complaints.push_back(members[0].part.one->place + ": " + complaint);
    }
  }
  for (Member& member : members) {
    if (!member.done) end_connection(member.fd);
    if (!member.complaint.empty()) {
      complaints.push_back(member.part.one->place + ": " + member.part.one->name + "\n " +
                           member.complaint);
    }
  }
  if (!complaints.empty()) return complaints;
  const std::string others = difference(calls, calls_of(server_), expected);
  if (!others.empty()) complaints.push_back(parts[0].one->place + ": handlers ran:" + others);
  return complaints;
}

std::string Crowd::check_baseline() {
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::uint64_t>{"ringrpc_connections", 1},
        {"ringrpc_buffers_lent", 0},
        {"ringrpc_partial_messages", 0},
        {"ringrpc_in_flight", 0},
        {"ringrpc_memory_bytes{pool=\"large_replies\"}", 0}}) {
    if (!wait_for(name, value)) {
      return std::string(name) + " stays " + std::to_string(metric(name));
    }
  }
  const std::uint64_t closes = metric("ringrpc_closes_total");
  if (metric("ringrpc_accepts_total") != closes + 1) return "accepts and closes differ";
  // The second client's two ends; a backend may keep its own out of the table.
  const std::size_t now = open_descriptors();
  if (now == descriptors_ + 1 || now == descriptors_ + 2) return {};
  return "descriptors: " + std::to_string(now) + " in place of " + std::to_string(descriptors_);
}

}  // namespace ringrpc::testing
