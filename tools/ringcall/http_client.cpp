#include "tools/ringcall/http_client.h"

#include <netdb.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

namespace ringcall {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// A non-blocking socket with one deadline for all that is done with it.
// Owns: the descriptor.
class Connection {
 public:
  explicit Connection(double timeout_s)
      : begin_(Clock::now()),
        deadline_(begin_ + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(timeout_s))) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns: milliseconds since this was made.
  [[nodiscard]] double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }

  bool open(const tools::Url& url, std::string& error);
  // Returns: 0, or the errno value that ended it.
  int send_all(std::string_view bytes);
  // Appends what arrives. Returns: bytes, 0 at the end of input, or a negated errno value.
  std::int64_t receive(std::string& into);

 private:
  using Clock = std::chrono::steady_clock;

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int connect_to(const addrinfo& address);
  // Returns: 0 when ready, ETIMEDOUT when the deadline has passed.
  int wait(short events) const;

  Clock::time_point begin_;
  Clock::time_point deadline_;
  int fd_ = -1;
};

int Connection::wait(short events) const {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    if (left <= 0) return ETIMEDOUT;
    pollfd item = {.fd = fd_, .events = events, .revents = 0};
    const int ready = poll(&item, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

int Connection::connect_to(const addrinfo& address) {
  fd_ = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
               address.ai_protocol);
  if (fd_ < 0) return errno;
  if (connect(fd_, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (const int failed = wait(POLLOUT); failed != 0) return failed;
  int outcome = 0;
  socklen_t size = sizeof outcome;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &outcome, &size) != 0) return errno;
  return outcome;
}

bool Connection::open(const tools::Url& url, std::string& error) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(url.port);
  if (const int failed = getaddrinfo(url.host.c_str(), port.c_str(), &hints, &list); failed != 0) {
    error = "cannot resolve " + url.host + ": " + gai_strerror(failed);
    return false;
  }
  int failed = ENOENT;
  for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
    close();
    failed = connect_to(*address);
    if (failed == 0) break;
  }
  freeaddrinfo(list);
  if (failed != 0) error = "cannot connect to " + url.authority + ": " + std::strerror(failed);
  return failed == 0;
}

int Connection::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return errno;
    if (const int failed = wait(POLLOUT); failed != 0) return failed;
  }
  return 0;
}

std::int64_t Connection::receive(std::string& into) {
  char buffer[64 << 10];
  while (true) {
    const ssize_t received = ::recv(fd_, buffer, sizeof buffer, 0);
    if (received >= 0) {
      into.append(buffer, static_cast<std::size_t>(received));
      return received;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return -errno;
    if (const int failed = wait(POLLIN); failed != 0) return -failed;
  }
}

// The bytes of one response as they come, in order, from a connection.
class Reader {
 public:
  explicit Reader(Connection& connection) : connection_(connection) {}

  bool read(Response& response);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool fail(std::string sentence) {
    error_ = std::move(sentence);
    return false;
  }
  bool more();
  bool read_head(Response& response);
  bool read_sized(std::string& body, std::size_t size);
  bool read_chunked(std::string& body);
  bool read_to_end(std::string& body);
  bool read_line(std::string& line);

  Connection& connection_;
  std::string bytes_;  // received and not yet used
  std::string error_;
  bool ended_ = false;
};

// Returns: false at the end of input too, with ended_ set and no error.
bool Reader::more() {
  const std::int64_t received = connection_.receive(bytes_);
  if (received > 0) return true;
  if (received == 0) {
    ended_ = true;
    return false;
  }
  return fail(std::string("receiving failed: ") + std::strerror(static_cast<int>(-received)));
}

bool Reader::read_head(Response& response) {
  std::size_t end = std::string::npos;
  while ((end = bytes_.find("\r\n\r\n")) == std::string::npos) {
    if (bytes_.size() > response_head_size_max) return fail("the response's head is too large");
    if (!more()) {
      if (!error_.empty()) return false;
      return fail(bytes_.empty() ? "the server closed the connection without a response"
                                 : "the response ends inside its head");
    }
  }
  response.head = bytes_.substr(0, end + 2);
  bytes_.erase(0, end + 4);
  const std::string& head = response.head;
  const bool is_http = head.size() >= 13 && head.starts_with("HTTP/1.") && head[8] == ' ';
  const char* digits = head.data() + 9;
  if (!is_http || std::from_chars(digits, digits + 3, response.status).ptr != digits + 3) {
    return fail("the response is not HTTP/1.x");
  }
  return true;
}

bool Reader::read_sized(std::string& body, std::size_t size) {
  if (size > response_size_max) return fail("the response's body is too large");
  while (bytes_.size() < size) {
    if (!more()) return error_.empty() ? fail("the response ends inside its body") : false;
  }
  body.append(bytes_, 0, size);
  bytes_.erase(0, size);
  return true;
}

bool Reader::read_line(std::string& line) {
  std::size_t end = std::string::npos;
  while ((end = bytes_.find("\r\n")) == std::string::npos) {
    if (bytes_.size() > response_head_size_max)
      return fail("a line of the chunked body is too long");
    if (!more()) return error_.empty() ? fail("the response ends inside its body") : false;
  }
  line.assign(bytes_, 0, end);
  bytes_.erase(0, end + 2);
  return true;
}

bool Reader::read_chunked(std::string& body) {
  std::string line;
  while (true) {
    if (!read_line(line)) return false;
    std::size_t size = 0;
    const auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    const bool ends_well = stop == line.data() + line.size() || *stop == ';' || *stop == ' ';
    if (code != std::errc() || !ends_well) return fail("a chunk's size is not a number");
    if (size == 0) break;
    if (body.size() + size > response_size_max) return fail("the response's body is too large");
    if (!read_sized(body, size) || !read_line(line)) return false;
    if (!line.empty()) return fail("a chunk is longer than its size");
  }
  do {  // trailers, which nobody here needs
    if (!read_line(line)) return false;
  } while (!line.empty());
  return true;
}

bool Reader::read_to_end(std::string& body) {
  while (!ended_) {
    if (bytes_.size() > response_size_max) return fail("the response's body is too large");
    if (!more() && !error_.empty()) return false;
  }
  body = std::move(bytes_);
  return true;
}

bool Reader::read(Response& response) {
  if (!more() && !error_.empty()) return false;
  response.timing.first_byte = connection_.elapsed_ms();
  do {  // 1xx answers come before the response itself
    if (!read_head(response)) return false;
  } while (response.status / 100 == 1);
  if (response.status == 204 || response.status == 304) return true;
  if (same_name(response.field("Transfer-Encoding"), "chunked")) {
    return read_chunked(response.body);
  }
  const std::string_view length = response.field("Content-Length");
  if (length.empty()) return read_to_end(response.body);
  std::size_t size = 0;
  const auto [stop, code] = std::from_chars(length.data(), length.data() + length.size(), size);
  if (code != std::errc() || stop != length.data() + length.size()) {
    return fail("the response's Content-Length is not a number");
  }
  return read_sized(response.body, size);
}

}  // namespace

bool parse_header(std::string_view text, Header& header) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  for (const char c : text.substr(0, colon)) {
    const bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (!plain && marks.find(c) == std::string_view::npos) return false;
  }
  for (const char c : text.substr(colon)) {
    if ((c >= 0 && c < ' ' && c != '\t') || c == 0x7F) return false;
  }
  header.name = text.substr(0, colon);
  header.value = trim(text.substr(colon + 1));
  return true;
}

std::string_view Response::field(std::string_view name) const {
  std::string_view rest = head;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find("\r\n"), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 2, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_name(line.substr(0, colon), name)) {
      return trim(line.substr(colon + 1));
    }
  }
  return {};
}

std::string render(const Request& request) {
  const std::vector<Header> defaults = {
      {"Host", request.url.authority},
      {"Content-Type", "application/json"},
      {"Accept", "application/json"},
      {"Connection", "close"},
  };
  const Header length = {"Content-Length", std::to_string(request.body.size())};
  const auto line = [](const Header& header) { return header.name + ": " + header.value + "\r\n"; };
  const auto line_unless_given = [&](const Header& header) {
    const bool given =
        std::any_of(request.headers.begin(), request.headers.end(),
                    [&](const Header& other) { return same_name(other.name, header.name); });
    return given ? std::string() : line(header);
  };
  std::string out = "POST " + request.url.target + " HTTP/1.1\r\n";
  for (const Header& header : defaults) out += line_unless_given(header);
  for (const Header& header : request.headers) out += line(header);
  return out + line_unless_given(length) + "\r\n" + request.body;
}

bool post(const Request& request, Response& response, std::string& error) {
  Connection connection(request.timeout_s);
  if (!connection.open(request.url, error)) return false;
  response.timing.connected = connection.elapsed_ms();
  const int send_failed = connection.send_all(render(request));
  if (send_failed == ETIMEDOUT) {
    error = std::string("sending failed: ") + std::strerror(send_failed);
    return false;
  }
  // A server may refuse early and close: its answer counts more than the send's error.
  Reader reader(connection);
  if (reader.read(response)) {
    response.timing.total = connection.elapsed_ms();
    return true;
  }
  error = send_failed == 0 ? reader.error()
                           : std::string("sending failed: ") + std::strerror(send_failed);
  return false;
}

}  // namespace ringcall
