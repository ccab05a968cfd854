#include "engine/client/http_response.h"

#include <ringrpc/limits_client.h>

#include <algorithm>
#include <charconv>

#include "engine/base/assert.h"
#include "engine/http/chars.h"

namespace ringrpc::client {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::string_view version = "HTTP/1.";
constexpr std::size_t status_line_size_min = 12;  // HTTP/1.1 200

// Takes a line and its CR LF off the front. Requires: there is one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  RINGRPC_ASSERT(end != std::string_view::npos);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

// Takes the next member of a list off the front, trimmed.
std::string_view take_member(std::string_view& list) {
  const std::size_t comma = std::min(list.find(','), list.size());
  const std::string_view member = http::trim(list.substr(0, comma));
  list.remove_prefix(std::min(comma + 1, list.size()));
  return member;
}

}  // namespace

std::string_view ResponseHead::field(std::string_view name) const {
  std::string lower(name);
  for (char& c : lower) c = http::lower(c);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && http::equals_folded(line.substr(0, colon), lower)) {
      return http::trim(line.substr(colon + 1));
    }
  }
  return {};
}

std::string_view ResponseHead::status_line() const {
  return std::string_view(text).substr(0, text.find("\r\n"));
}

void ResponseReader::start() { *this = ResponseReader(); }

ResponseReader::Status ResponseReader::fail(std::string_view sentence) {
  sentence_ = sentence;
  state_ = State::failed;
  return Status::failed;
}

ResponseReader::Status ResponseReader::next(const char*& cursor, const char* end,
                                            std::string_view& piece) {
  RINGRPC_ASSERT(cursor <= end);
  switch (state_) {
    case State::head:
      return take_head(cursor, end);
    case State::sized: {
      const auto here = static_cast<std::uint64_t>(end - cursor);
      piece = {cursor, static_cast<std::size_t>(std::min(left_, here))};
      cursor += piece.size();
      left_ -= piece.size();
      if (!piece.empty()) return Status::piece;
      if (left_ > 0) return Status::need_more;
      state_ = State::done;
      return Status::done;
    }
    case State::chunked:
      switch (chunks_.next(cursor, end, piece)) {
        case http::ChunkDecoder::Status::piece:
          return Status::piece;
        case http::ChunkDecoder::Status::need_more:
          return Status::need_more;
        case http::ChunkDecoder::Status::done:
          state_ = State::done;
          return Status::done;
        case http::ChunkDecoder::Status::refused:
          return fail("the chunks of the response's body are broken");
      }
      break;
    case State::to_the_end:
      piece = {cursor, static_cast<std::size_t>(end - cursor)};
      cursor = end;
      return piece.empty() ? Status::need_more : Status::piece;
    case State::done:
      return Status::done;
    case State::failed:
      return Status::failed;
  }
  RINGRPC_ASSERT(false, state_);
  return Status::failed;
}

ResponseReader::Status ResponseReader::finish() {
  switch (state_) {
    case State::head:
      if (!begun_) return fail("the server closed the connection without a response");
      return fail("the response ends inside its head");
    case State::sized:
      if (left_ == 0) break;
      return fail("the response ends inside its body");
    case State::chunked:
      return fail("the response ends inside its body");
    case State::failed:
      return Status::failed;
    case State::to_the_end:
    case State::done:
      break;
  }
  state_ = State::done;
  return Status::done;
}

// Gathers the head, interim ones first.
ResponseReader::Status ResponseReader::take_head(const char*& cursor, const char* end) {
  while (cursor != end) {
    begun_ = true;
    std::string& text = head_.text;
    const std::size_t before = text.size();
    const std::size_t room = limits::response_head_size_max + head_end.size() - before;
    const std::size_t taken = std::min(room, static_cast<std::size_t>(end - cursor));
    text.append(cursor, taken);
    const std::size_t checked = std::min(text.size(), version.size());
    if (std::string_view(text).substr(0, checked) != version.substr(0, checked)) {
      return fail("the response is not HTTP/1.x");
    }
    const std::size_t from = before - std::min(before, head_end.size() - 1);
    const std::size_t at = text.find(head_end, from);
    if (at == std::string::npos) {
      cursor += taken;
      if (text.size() > limits::response_head_size_max)
        return fail("the response's head is too large");
      continue;
    }
    if (at + head_end.size() > limits::response_head_size_max) {
      return fail("the response's head is too large");
    }
    cursor += at + head_end.size() - before;
    text.resize(at + 2);
    if (!read_head()) return Status::failed;
    if (head_.status / 100 != 1 || head_.status == 101) {
      choose_body();
      return Status::head;
    }
    if (++interims_ > limits::interim_responses_max) return fail("too many interim responses");
    const unsigned interims = interims_;
    start();
    interims_ = interims;
    begun_ = true;
  }
  return Status::need_more;
}

bool ResponseReader::read_head() {
  std::string_view rest = head_.text;
  // A line end is CR LF: what other readers take for one must not stand inside.
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    const bool pair = c == '\r' ? at + 1 < rest.size() && rest[at + 1] == '\n'
                                : c != '\n' || (at > 0 && rest[at - 1] == '\r');
    if (!pair || c == '\0') {
      fail("a line of the response's head is broken");
      return false;
    }
  }
  if (!read_status_line(take_line(rest))) return false;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (http::is_blank(line.front())) continue;  // folded: part of a field that is no framing
    if (rest.starts_with(' ') || rest.starts_with('\t')) {
      // The first line of a folded field: its value is not whole, so it must not be framing.
      const std::string_view name = line.substr(0, line.find(':'));
      if (http::equals_folded(name, "content-length") ||
          http::equals_folded(name, "transfer-encoding")) {
        fail("a framing field of the response is folded");
        return false;
      }
    }
    if (!read_field(line)) return false;
  }
  return true;
}

bool ResponseReader::read_status_line(std::string_view line) {
  const bool shaped = line.size() >= status_line_size_min && line.starts_with(version) &&
                      http::is_digit(line[7]) && line[8] == ' ' &&
                      (line.size() == status_line_size_min || line[12] == ' ');
  const char* const digits = line.data() + 9;
  if (!shaped || std::from_chars(digits, digits + 3, head_.status).ptr != digits + 3 ||
      head_.status < 100) {
    fail("the response is not HTTP/1.x");
    return false;
  }
  version_1_0_ = line[7] == '0';
  head_.keep_alive = !version_1_0_;
  return true;
}

bool ResponseReader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || name.empty() ||
      !std::all_of(name.begin(), name.end(), http::is_token)) {
    fail("a field of the response's head has no name");
    return false;
  }
  std::string_view value = http::trim(line.substr(colon + 1));
  if (http::equals_folded(name, "content-length")) return read_length(value);
  if (http::equals_folded(name, "transfer-encoding")) {
    while (!value.empty()) {
      const std::string_view coding = take_member(value);
      if (coding.empty()) continue;
      if (is_chunked_ || !http::equals_folded(coding, "chunked")) {
        // gzip and the like: nobody asked for them.
        fail("the response has a transfer coding that was not asked for");
        return false;
      }
      is_chunked_ = true;
    }
  } else if (http::equals_folded(name, "connection")) {
    while (!value.empty()) {
      const std::string_view option = take_member(value);
      if (http::equals_folded(option, "close")) head_.keep_alive = false;
      if (http::equals_folded(option, "keep-alive") && version_1_0_) head_.keep_alive = true;
    }
  } else if (http::equals_folded(name, "content-type")) {
    const std::string_view type = http::trim(value.substr(0, value.find(';')));
    head_.event_stream = http::equals_folded(type, "text/event-stream");
  }
  return true;
}

// One number, or the same one several times (RFC 9110, section 8.6).
bool ResponseReader::read_length(std::string_view value) {
  do {
    const std::string_view member = take_member(value);
    const char* const end = member.data() + member.size();
    std::uint64_t size = 0;
    const auto [stop, code] = std::from_chars(member.data(), end, size);
    if (member.empty() || code != std::errc() || stop != end) {
      fail("the response's Content-Length is not a number");
      return false;
    }
    if (has_length_ && size != left_) {
      fail("the response has two lengths");
      return false;
    }
    has_length_ = true;
    left_ = size;
  } while (!value.empty());
  return true;
}

void ResponseReader::choose_body() {
  constexpr int no_content = 204;
  constexpr int not_modified = 304;
  const int status = head_.status;
  if (status == no_content || status == not_modified || status == 101) {
    left_ = 0;
    state_ = State::sized;
  } else if (is_chunked_) {
    // A length beside it is wrong, and may be somebody's attempt: no other response follows.
    if (has_length_ || version_1_0_) head_.keep_alive = false;
    state_ = State::chunked;
  } else if (has_length_) {
    announced_ = left_;
    state_ = State::sized;
  } else {
    head_.keep_alive = false;
    state_ = State::to_the_end;
  }
}

}  // namespace ringrpc::client
