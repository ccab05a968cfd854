#include "tools/ringtop/fetch.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/clock.h"
#include "tools/ringtop/text.h"

namespace ringtop {
namespace {

using ringrpc::client::ResponseReader;
using ringrpc::client::Socket;

constexpr std::size_t text_size_max = std::size_t{16} << 20;
constexpr std::uint64_t timeout_ns = 5'000'000'000;
constexpr int ok_status = 200;

}  // namespace

Fetcher::Outcome Fetcher::get(std::string& out) {
  if (socket_.state() == Socket::State::open && socket_.is_stale()) socket_.close();
  const bool used_before = socket_.state() == Socket::State::open;
  Outcome outcome = try_once(out);
  if (outcome == Outcome::failed && used_before && !reader_.begun()) outcome = try_once(out);
  return outcome;
}

Fetcher::Outcome Fetcher::try_once(std::string& out) {
  const std::uint64_t deadline_ns = ringrpc::base::monotonic_ns() + timeout_ns;
  reader_.start();
  if (socket_.state() == Socket::State::closed && !socket_.open(target_, out)) {
    return Outcome::failed;
  }
  socket_.send("GET " + target_.target + " HTTP/1.1\r\nHost: " + target_.authority +
               "\r\nAccept: text/plain\r\nUser-Agent: ringtop\r\n\r\n");
  const Outcome outcome = exchange(deadline_ns, out);
  const bool kept = outcome == Outcome::text && reader_.head().keep_alive;
  if (!kept) socket_.close();
  return outcome;
}

Fetcher::Outcome Fetcher::exchange(std::uint64_t deadline_ns, std::string& out) {
  std::string input;
  std::string body;
  for (;;) {
    if (socket_.state() == Socket::State::open) {
      if (const int error = socket_.flush(); error != 0) {
        out = std::string("cannot send: ") + std::strerror(error);
        return Outcome::failed;
      }
    }
    const Stop::Wait wait = stop_.wait(socket_.fd(), socket_.events(), deadline_ns);
    if (wait == Stop::Wait::stopped) return Outcome::stopped;
    if (wait == Stop::Wait::timed_out) {
      out = "no answer from " + target_.name() + " within 5 s";
      return Outcome::failed;
    }
    if (socket_.state() == Socket::State::connecting) {
      if (!socket_.connect_more(target_, out)) return Outcome::failed;
      continue;
    }
    Outcome outcome = Outcome::failed;
    if (!take(input, body, outcome, out)) return outcome;
  }
}

bool Fetcher::take(std::string& input, std::string& body, Outcome& outcome, std::string& out) {
  using Status = ResponseReader::Status;
  const std::int64_t received = socket_.receive(input, text_size_max);
  if (received == -EAGAIN) return true;
  if (received < 0) {
    out = std::string("cannot receive: ") + std::strerror(static_cast<int>(-received));
    return false;
  }
  const char* cursor = input.data();
  const char* const end = input.data() + input.size();
  std::string_view piece;
  Status status = Status::need_more;
  do {
    status = reader_.next(cursor, end, piece);
    if (status == Status::piece) body += piece;
    if (body.size() > text_size_max) {
      out = "the answer is longer than 16 MiB";
      return false;
    }
  } while (status == Status::head || status == Status::piece);
  input.clear();
  if (status == Status::need_more && received == 0) status = reader_.finish();
  if (status == Status::need_more) return true;
  if (status == Status::failed) {
    out = target_.name() + ": " + reader_.sentence();
    return false;
  }
  outcome = judge(body, out);
  return false;
}

Fetcher::Outcome Fetcher::judge(std::string& body, std::string& out) const {
  if (reader_.head().status == ok_status) {
    out = std::move(body);
    return Outcome::text;
  }
  out = "GET " + target_.target + " answers " + std::string(reader_.head().status_line());
  return Outcome::failed;
}

}  // namespace ringtop
