#include "tests/fuzz/heard.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/ws/close.h"
#include "tests/fuzz/ws_model.h"

namespace ringrpc::fuzz {
namespace {

using testing::ExpectedReply;
using testing::Match;
using testing::MatchState;

constexpr std::string_view head_end = "\r\n\r\n";

Match wrong(std::string complaint) {
  return {.state = MatchState::wrong, .size = 0, .complaint = std::move(complaint)};
}

// The events of a stream: notifications in order, then the answer. Comments say nothing.
std::string check_events(std::string_view body, Awaited& awaited) {
  constexpr std::string_view begin = "data: ";
  Notified notified;
  std::string complaint;
  while (!body.empty()) {
    const std::size_t end = body.find("\n\n");
    if (end == body.npos) return "half an event: " + testing::shown(body);
    const std::string_view event = body.substr(0, end);
    body.remove_prefix(end + 2);
    if (event == ":") continue;
    if (!event.starts_with(begin)) return "no event: " + testing::shown(event);
    const std::string_view text = event.substr(begin.size());
    const bool is_notification = notified.hear(text, complaint);
    if (!complaint.empty()) return complaint + ": " + testing::shown(text);
    const bool open = awaited.any() || awaited.endless();
    if (is_notification && !open) return "an event behind the answer";
    if (is_notification) continue;
    if (!awaited.take(text) || !awaited.settle()) return "another answer: " + testing::shown(text);
  }
  return awaited.any() ? "a stream without its answer" : "";
}

LateMatch match_stream(const HttpAnswer& answer, Awaited& awaited, std::string_view bytes,
                       std::size_t body_at, bool all) {
  if (!answer.events) return {wrong("nobody asked for a stream")};
  const std::string_view head = bytes.substr(0, body_at);
  LateMatch out;
  out.closes = answer.old_http || head.find("\r\nConnection: close\r\n") != head.npos;
  std::string body;
  std::size_t size = bytes.size();
  if (answer.old_http) {
    if (!all) return out;
    body = bytes.substr(body_at);
  } else {
    const Chunked chunked = read_chunked(bytes.substr(body_at), 1u << 30);
    if (chunked.status == Chunked::Status::need_more) return out;
    if (chunked.status != Chunked::Status::done) return {wrong("bad chunks")};
    body = chunked.body;
    size = body_at + chunked.consumed;
    ExpectedReply expected;
    expected.fields = {"Cache-Control: no-store", "Content-Type: text/event-stream",
                       "Transfer-Encoding: chunked", "X-Accel-Buffering: no"};
    if (out.closes) expected.fields.insert(expected.fields.begin() + 1, "Connection: close");
    expected.stream = true;
    expected.body = body;
    out.match = testing::match_reply(expected, bytes);
    if (out.match.state != MatchState::matched) return out;
  }
  const std::string complaint = check_events(body, awaited);
  if (!complaint.empty()) return {wrong(complaint)};
  out.match = {.state = MatchState::matched, .size = size, .complaint = {}};
  return out;
}

LateMatch match_body(const HttpAnswer& answer, const LateExcuses& excuses, Awaited& awaited,
                     std::string_view bytes, std::size_t body_at) {
  const std::string_view head = bytes.substr(0, body_at);
  constexpr std::string_view length_name = "\r\nContent-Length: ";
  const std::size_t name_at = head.find(length_name);
  if (name_at == head.npos) return {wrong("no length")};
  std::size_t length = 0;
  const std::size_t digits = head.find_first_not_of(' ', name_at + length_name.size());
  std::from_chars(head.data() + digits, head.data() + head.size(), length);
  if (bytes.size() < body_at + length) return {};
  LateMatch out;
  out.closes = head.find("\r\nConnection: close\r\n") != head.npos;
  if (out.closes && !answer.closes && !excuses.stopping) return {wrong("another end")};
  ExpectedReply expected = out.closes ? answer.closing : answer.reply;
  if (head.starts_with("HTTP/1.1 503 ")) {
    expected.status = 503;
    expected.fields.emplace_back("Retry-After: 1");
    std::sort(expected.fields.begin(), expected.fields.end());
  }
  expected.body = bytes.substr(body_at, length);
  out.match = testing::match_reply(expected, bytes);
  if (out.match.state != MatchState::matched) return out;
  const bool refused = expected.body.find("\"error\":{\"code\":-31001") != std::string::npos ||
                       expected.body.find("\"error\":{\"code\":-31007") != std::string::npos;
  if (!answer.said.is_batch && refused != (expected.status == 503))
    return {wrong("another status")};
  if (!awaited.take(expected.body)) return {wrong("another body" + awaited.shown())};
  return out;
}

// Everything that a client of frames waits for.
struct Talk {
  Awaited awaited;
  std::vector<std::string> pings = {};
  std::uint16_t close_code = 0;  // 0: nothing ends it
};

void read_said(const FramesSaid& said, Talk& talk, FramesHeard& out) {
  const WsVerdict verdict = read_frames(said.bytes, said.rules);
  for (const ws::test::Said& one : verdict.heard.said) {
    if (one.opcode == ws::Opcode::ping) talk.pings.push_back(one.payload);
    if (one.opcode == ws::Opcode::close) {
      ws::Close close;
      const std::uint16_t refusal = ws::read_close(one.payload, close);
      talk.close_code = refusal != 0 ? refusal : close.code;
      return;
    }
    if (one.opcode != ws::Opcode::text) continue;
    const Answer answer = answer_of(one.payload, said.limits);
    ++out.messages;
    for (const auto& [name, times] : answer.started) out.started[name] += times;
    talk.awaited.add(answer);
  }
  talk.close_code = verdict.heard.close_code;
}

std::string check_close(const FramesSaid& said, const Talk& talk, std::string_view payload) {
  ws::Close close;
  if (ws::read_close(payload, close) != 0) return "no close: " + testing::shown(payload);
  if (talk.close_code != 0 && close.code == talk.close_code) return {};
  if (said.excuses.stopping && close.code == ws::close_code::going_away) return {};
  if (said.timed && close.code == ws::close_code::policy) return {};
  return "close " + std::to_string(close.code) + " in place of " + std::to_string(talk.close_code);
}

// The last ping of what was read at once is answered: pongs are some of the pings, in order.
class Pongs {
 public:
  explicit Pongs(const std::vector<std::string>& pings) : pings_(pings) {}
  bool take(std::string_view payload) {
    while (next_ < pings_.size() && pings_[next_] != payload) ++next_;
    if (next_ == pings_.size()) return false;
    ++next_;
    return true;
  }
  [[nodiscard]] bool answered() const {
    return pings_.empty() || next_ == pings_.size() ||
           (next_ > 0 && pings_[next_ - 1] == pings_.back());
  }

 private:
  const std::vector<std::string>& pings_;
  std::size_t next_ = 0;
};

}  // namespace

LateMatch match_late(const HttpAnswer& answer, const std::vector<std::string>& cancels,
                     const LateExcuses& excuses, std::string_view bytes, bool all) {
  Awaited awaited(excuses);
  awaited.add(answer.said);
  awaited.allow_cancels(cancels);
  constexpr std::string_view start = "HTTP/1.1 ";
  const std::size_t count = std::min(start.size(), bytes.size());
  if (bytes.substr(0, count) != start.substr(0, count)) return {wrong("no HTTP")};
  const std::size_t end = bytes.find(head_end);
  if (end == bytes.npos) return {};
  const std::size_t body_at = end + head_end.size();
  const std::string_view head = bytes.substr(0, body_at);
  if (head.find("\r\nContent-Type: text/event-stream\r\n") != head.npos) {
    return match_stream(answer, awaited, bytes, body_at, all);
  }
  return match_body(answer, excuses, awaited, bytes, body_at);
}

FramesHeard check_frames(const FramesSaid& said, std::string_view heard) {
  FramesHeard out;
  Talk talk{.awaited = Awaited(said.excuses)};
  read_said(said, talk, out);
  const ws::Rules rules{.reader = ws::Side::client, .message_size_max = 1u << 30};
  const WsVerdict verdict = read_frames(heard, rules);
  if (verdict.heard.close_code != 0) out.complaint = "no frame: " + testing::shown(heard);
  if (!verdict.heard.at_rest && !said.cut && !said.timed) out.complaint = "half a frame";
  Pongs pongs(talk.pings);
  Notified notified;
  for (const ws::test::Said& one : verdict.heard.said) {
    if (!out.complaint.empty()) break;
    if (out.ended) {
      out.complaint = "a frame behind the close";
    } else if (one.opcode == ws::Opcode::close) {
      out.ended = true;
      out.complaint = check_close(said, talk, one.payload);
    } else if (one.opcode == ws::Opcode::ping) {
      if (!said.timed || !one.payload.empty()) out.complaint = "a ping";
    } else if (one.opcode == ws::Opcode::pong) {
      if (!pongs.take(one.payload)) out.complaint = "a pong: " + testing::shown(one.payload);
    } else if (!notified.hear(one.payload, out.complaint) && out.complaint.empty() &&
               !talk.awaited.take(one.payload)) {
      out.complaint = "another answer: " + testing::shown(one.payload) + talk.awaited.shown();
    }
  }
  if (out.complaint.empty() && !talk.awaited.settle()) {
    out.complaint = "too many answers of one kind:" + talk.awaited.shown();
  }
  if (!out.complaint.empty() || said.cut || said.timed || said.excuses.stopping) return out;
  if (talk.close_code != 0 && !out.ended) out.complaint = "no close";
  if (talk.close_code == 0 && !pongs.answered()) out.complaint = "no pong";
  const bool missing = talk.close_code != 0 ? talk.awaited.at_once() : talk.awaited.any();
  if (missing) out.complaint = "answers are missing:" + talk.awaited.shown();
  return out;
}

}  // namespace ringrpc::fuzz
