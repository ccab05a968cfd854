#include "tools/ringload/framing.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "tools/ringload/reply_check.h"
#include "tools/ringload/rpc_check.h"
#include "tools/ringload/websocket.h"

namespace ringload {

namespace {

constexpr std::uint64_t body_size_max = std::uint64_t{1} << 48;  // sums with it stay far from 2^64

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool read_digits(std::string_view text, std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && rest == end;
}

// "HTTP/1.1 200 OK"
bool read_status_line(std::string_view line, std::uint16_t& status) {
  constexpr std::string_view version = "HTTP/1.";
  if (line.size() < 12 || line.substr(0, version.size()) != version) return false;
  if ((line[7] != '0' && line[7] != '1') || line[8] != ' ') return false;
  if (line.size() > 12 && line[12] != ' ') return false;
  std::uint64_t value = 0;
  if (!read_digits(line.substr(9, 3), value) || value < 200) return false;
  status = static_cast<std::uint16_t>(value);
  return true;
}

// A line has no head: all of it is body, its end included.
ReplyHead line_head(std::uint64_t size) {
  return {.body_size = size, .head_size = 0, .status = 200, .json = true};
}

}  // namespace

HeadStatus read_head(std::string_view bytes, ReplyHead& head) {
  const std::size_t size = bytes.substr(0, ReplyReader::head_size_max).find("\r\n\r\n");
  if (size == std::string_view::npos) {
    return bytes.size() >= ReplyReader::head_size_max ? HeadStatus::bad : HeadStatus::incomplete;
  }
  head = ReplyHead{};
  head.head_size = static_cast<std::uint32_t>(size + 4);
  std::string_view lines = bytes.substr(0, size + 2);  // each line with its CRLF
  std::size_t line_size = lines.find("\r\n");
  if (!read_status_line(lines.substr(0, line_size), head.status)) return HeadStatus::bad;
  bool has_length = false;
  for (lines.remove_prefix(line_size + 2); !lines.empty(); lines.remove_prefix(line_size + 2)) {
    line_size = lines.find("\r\n");
    const std::string_view line = lines.substr(0, line_size);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return HeadStatus::bad;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (equals_ignoring_case(name, "content-length")) {
      if (has_length || !read_digits(value, head.body_size)) return HeadStatus::bad;
      has_length = true;
    } else if (equals_ignoring_case(name, "transfer-encoding")) {
      return HeadStatus::bad;
    } else if (equals_ignoring_case(name, "content-type")) {
      head.json = equals_ignoring_case(value.substr(0, 16), "application/json");
    }
  }
  if (head.body_size > body_size_max) return HeadStatus::bad;
  if (head.status == 204 || head.status == 304) {
    head.body_size = 0;
  } else if (!has_length) {
    return HeadStatus::bad;
  }
  return HeadStatus::complete;
}

ReplyReader::Fed ReplyReader::feed(Partial& partial, const char* data, std::size_t size) {
  Fed fed;
  const char* cursor = data;
  const char* const end = data + size;
  if (partial.left != 0 || !partial.bytes.empty()) [[unlikely]] {
    cursor = resume(partial, cursor, end, fed);
  }
  while (cursor != end && cursor != nullptr && !fed.closed) {
    const std::size_t same_size = last_good_.size();
    if (same_size != 0 && static_cast<std::size_t>(end - cursor) >= same_size &&
        std::memcmp(cursor, last_good_.data(), same_size) == 0) [[likely]] {
      cursor += same_size;
      ++fed.replies;
      ++counts_.bodies_checked;
    } else {
      cursor = take_one(partial, cursor, end, fed);
    }
  }
  counts_.replies += fed.replies;
  fed.bad = cursor == nullptr;
  return fed;
}

const char* ReplyReader::take_one(Partial& partial, const char* cursor, const char* end, Fed& fed) {
  const std::string_view bytes(cursor, static_cast<std::size_t>(end - cursor));
  ReplyHead head;
  const HeadStatus status = read_front(bytes, head);
  if (status == HeadStatus::bad) return bad(bytes);
  if (status == HeadStatus::incomplete) {
    partial.bytes.assign(bytes);
    return end;
  }
  const std::uint64_t size = head.head_size + head.body_size;
  if (bytes.size() >= size) {
    complete(head, bytes.substr(0, size), fed);
    return cursor + size;
  }
  begin_partial(partial, head, bytes);
  return end;
}

HeadStatus ReplyReader::read_front(std::string_view bytes, ReplyHead& head) const {
  if (frames_) return read_frame_head(bytes, head);
  if (!lines_) return read_head(bytes, head);
  const std::size_t size = bytes.find('\n');
  if (size == std::string_view::npos) return HeadStatus::incomplete;
  head = line_head(size + 1);
  return HeadStatus::complete;
}

// A line is kept up to its end; most large ones are not looked at then.
const char* ReplyReader::resume_line(Partial& partial, const char* cursor, const char* end,
                                     Fed& fed) {
  const std::string_view bytes(cursor, static_cast<std::size_t>(end - cursor));
  const std::size_t size = bytes.find('\n');
  if (size == std::string_view::npos) {
    partial.bytes.append(bytes);
    return end;
  }
  partial.bytes.append(bytes.substr(0, size + 1));
  const ReplyHead head = line_head(partial.bytes.size());
  if (wants_body(head)) {
    judge(head, partial.bytes);
  } else {
    ++counts_.bodies_unchecked;
  }
  partial.bytes.clear();
  ++fed.replies;
  return cursor + size + 1;
}

// Requires: `bytes` holds the whole head and not the whole body.
void ReplyReader::begin_partial(Partial& partial, const ReplyHead& head, std::string_view bytes) {
  const std::uint64_t size = head.head_size + head.body_size;
  if (wants_body(head)) {
    if (partial.bytes.data() != bytes.data()) partial.bytes.assign(bytes);
    partial.size = size;
    return;
  }
  judge_status(head);
  ++counts_.bodies_unchecked;
  partial.left = size - bytes.size();
  partial.bytes.clear();
}

// Completes the reply that earlier bytes began, and takes nothing of the next one.
const char* ReplyReader::resume(Partial& partial, const char* cursor, const char* end, Fed& fed) {
  if (lines_) return resume_line(partial, cursor, end, fed);
  constexpr std::size_t step = 1024;  // of a head whose end is not known
  while (cursor != end) {
    const auto here = static_cast<std::size_t>(end - cursor);
    if (partial.left != 0) {
      const std::uint64_t taken = std::min<std::uint64_t>(here, partial.left);
      partial.left -= taken;
      cursor += taken;
      if (partial.left != 0) return cursor;
      ++fed.replies;
      return cursor;
    }
    const std::size_t wanted = partial.size != 0 ? partial.size - partial.bytes.size() : step;
    const std::size_t taken = std::min(here, wanted);
    partial.bytes.append(cursor, taken);
    cursor += taken;
    if (partial.bytes.size() < partial.size) continue;

    ReplyHead head;
    const HeadStatus status = read_front(partial.bytes, head);
    if (status == HeadStatus::bad) return bad(partial.bytes);
    if (status == HeadStatus::incomplete) continue;
    const std::uint64_t size = head.head_size + head.body_size;
    if (partial.bytes.size() >= size) {
      complete(head, std::string_view(partial.bytes).substr(0, size), fed);
      cursor -= partial.bytes.size() - size;  // The head came with bytes of the next reply.
      partial.bytes.clear();
      partial.size = 0;
      return cursor;
    }
    if (partial.size == 0) begin_partial(partial, head, partial.bytes);
  }
  return cursor;
}

// Asked once for each reply whose body is not here yet: counts the large ones.
bool ReplyReader::wants_body(const ReplyHead& head) {
  if (head.body_size <= checked_size_max) return true;
  if (head.body_size > sampled_size_max) return false;
  if (sampled_ || in_flight_ != nullptr) return true;
  return head.json && large_bodies_++ % sample_every == 0;
}

const char* ReplyReader::bad(std::string_view bytes) {
  note("a reply that cannot be framed", bytes);
  return nullptr;
}

void ReplyReader::note(std::string_view sentence, std::string_view reply) {
  if (kinds_.first.empty()) kinds_.first = std::string(sentence) + ":\n" + excerpt(reply);
}

void ReplyReader::complete(const ReplyHead& head, std::string_view reply, Fed& fed) {
  if (head.control != 0) [[unlikely]]
    return take_control(head, reply, fed);
  judge(head, reply);
  ++fed.replies;
}

// A frame of a WebSocket that is no message: a ping, an answer to none of ours, or the end.
void ReplyReader::take_control(const ReplyHead& head, std::string_view frame, Fed& fed) {
  const std::string_view payload = frame.substr(head.head_size);
  if (head.control == opcode_ping) {
    pong_ = make_pong(payload);
    fed.pinged = true;
  } else if (head.control == opcode_close) {
    note("the server closed the WebSocket: " + close_text(payload), frame);
    fed.closed = true;
  }
}

bool ReplyReader::judge_status(const ReplyHead& head) {
  const bool good = head.status == 200 || head.status == 202 || head.status == 204;
  if (good) return true;
  ++counts_.status_errors;
  ++kinds_.by_status[head.status];
  return false;
}

void ReplyReader::judge(const ReplyHead& head, std::string_view reply) {
  if (!sampled_ && reply == last_good_) {  // It came in pieces.
    ++counts_.bodies_checked;
    return;
  }
  bool good = judge_status(head);
  if (head.json && head.body_size != 0) {
    ++counts_.bodies_checked;
    const RpcVerdict verdict = check_rpc(reply.substr(head.head_size));
    if (!verdict.valid || verdict.errors != 0) {
      ++counts_.rpc_errors;
      if (verdict.valid) count_codes(reply.substr(head.head_size), kinds_.by_code);
      good = false;
    }
  }
  if (!good) note("a reply that is no good answer", reply);
  if (tape_ != nullptr) return judge_tracked(head, reply, good);
  if (good && reply.size() <= checked_size_max) last_good_.assign(reply);
}

}  // namespace ringload
