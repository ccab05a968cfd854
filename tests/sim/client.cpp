#include "tests/sim/client.h"

#include <algorithm>
#include <charconv>

#include "engine/ws/close.h"
#include "engine/ws/frame.h"

namespace ringrpc::sim {
namespace {

constexpr std::string_view head_end = "\r\n\r\n";

// Returns: the length that a response's head announces; 0 without one.
std::size_t length_of(const std::string& head) {
  const std::size_t at = head.find("\r\nContent-Length:");
  if (at == std::string::npos) return 0;
  std::size_t digits = at + 17;
  while (head[digits] == ' ') ++digits;
  std::size_t length = 0;
  std::from_chars(head.data() + digits, head.data() + head.size(), length);
  return length;
}

std::string shortened(const std::string& text) {
  if (text.size() <= 400) return text;
  return text.substr(0, 400) + "... (" + std::to_string(text.size()) + " bytes)";
}

}  // namespace

std::string Client::step(std::mt19937_64& random, const Excuses& excuses) {
  if (left_) return {};
  if (random() % 100 < habits_.reset_percent) {
    io_.client_reset(id_);
    left_ = disturbed_ = true;
    return {};
  }
  if (random() % 100 < habits_.fin_early) {
    finish();
    left_ = true;
    return {};
  }
  if (habits_.reads_slowly && random() % (stopped_reading_ ? 16 : 4) == 0) {
    stopped_reading_ = !stopped_reading_;
    if (stopped_reading_) {
      io_.client_stop_reading(id_, random() % 2000);
    } else {
      io_.client_resume_reading(id_);
    }
  }
  write_some(1 + random() % habits_.write_max, false);
  return stopped_reading_ && random() % 8 != 0 ? std::string() : read(excuses);
}

std::string Client::go_on(const Excuses& excuses) {
  moved_ = false;
  if (stopped_reading_) io_.client_resume_reading(id_);
  stopped_reading_ = false;
  std::string complaint = read(excuses);
  if (!left_) write_some(~std::size_t{0}, true);
  return complaint;
}

// Returns: how many bytes of the next request may be written now.
std::size_t Client::limit_of_writing(bool to_the_end) const {
  const Request& next = script_[written_requests_];
  const bool waits = next.expects_continue && habits_.waits_for_continue && !to_the_end;
  const bool told = may_continue_ && answered_ == written_requests_;
  return waits && !told ? next.head_size : next.bytes.size();
}

void Client::write_some(std::size_t most, bool to_the_end) {
  while (most > 0 && written_requests_ < script_.size() && !ended_ && !io_.client_gone(id_)) {
    if (!habits_.pipelines && (written_requests_ > answered_ || waits_later())) return;
    const Request& next = script_[written_requests_];
    const std::size_t limit = limit_of_writing(to_the_end);
    if (limit <= written_bytes_) return;
    const std::size_t size = std::min(most, limit - written_bytes_);
    io_.client_write(id_, std::string_view(next.bytes).substr(written_bytes_, size));
    moved_ = true;
    most -= size;
    written_bytes_ += size;
    if (written_bytes_ == next.bytes.size()) wrote_request();
  }
}

void Client::wrote_request() {
  if (two_way() && script_[written_requests_].later.is) awaited_.push_back(written_requests_);
  written_bytes_ = 0;
  ++written_requests_;
}

// On lines the end of what is said ends the last line.
void Client::finish() {
  io_.client_fin(id_);
  // Nobody listens to an event stream behind its own end.
  for (std::size_t i = answered_; i <= written_requests_ && i < script_.size(); ++i) {
    disturbed_ = disturbed_ || (!two_way() && script_[i].later.stream);
  }
  if (!habits_.lines || written_bytes_ == 0) return;
  if (written_bytes_ >= script_[written_requests_].head_size) return wrote_request();
  torn_ = true;
  written_bytes_ = 0;
}

// Answers that are said at once come in order. Nothing is said of some requests.
std::string Client::read_lines(const Excuses& excuses) {
  for (std::size_t end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
    const std::string line = heard_.substr(0, end);
    heard_.erase(0, end + 1);
    std::string complaint = take_line(line, excuses);
    if (!complaint.empty()) return complaint;
  }
  skip_silent();
  return {};
}

void Client::skip_silent() {
  while (answered_ < written_requests_ &&
         (script_[answered_].silent || script_[answered_].later.is)) {
    ++answered_;
  }
}

// The frames of a server, behind its answer to the handshake.
std::string Client::read_frames(const Excuses& excuses) {
  for (;;) {
    ws::FrameHeader frame;
    const char* const begin = heard_.data();
    const ws::HeaderResult header =
        ws::read_header(begin, begin + heard_.size(), ws::Side::client, false, frame);
    if (header.status == ws::HeaderStatus::refused) return complain("no frame begins so", heard_);
    if (header.status == ws::HeaderStatus::incomplete) break;
    if (heard_.size() < frame.size + frame.length) break;
    const std::string payload = heard_.substr(frame.size, frame.length);
    heard_.erase(0, frame.size + frame.length);
    std::string complaint;
    if (ended_) return complain("a frame behind the close", payload);
    if (frame.opcode == ws::Opcode::text) complaint = take_line(payload, excuses);
    if (frame.opcode == ws::Opcode::close) complaint = take_close(payload, excuses);
    if (frame.opcode == ws::Opcode::pong && payload != std::string(payload.size(), 'c')) {
      complaint = complain("a pong to no ping", payload);
    }
    if (!complaint.empty()) return complaint;
  }
  skip_silent();
  return {};
}

std::string Client::take_close(std::string_view payload, const Excuses& excuses) {
  ws::Close close;
  if (ws::read_close(payload, close) != 0) return complain("no close", std::string(payload));
  const std::string text = "close " + std::to_string(close.code);
  ended_ = true;
  skip_silent();
  awaited_.clear();
  unclear_.clear();
  const bool begun =
      answered_ < written_requests_ || (answered_ == written_requests_ && written_bytes_ > 0);
  if (begun && script_[answered_].answer.close && text == script_[answered_].answer.body) {
    heard_of_ = ++answered_;
    return {};
  }
  disturbed_ = true;
  const bool excused = (excuses.stopping && close.code == ws::close_code::going_away) ||
                       (excuses.time && close.code == ws::close_code::policy) ||
                       (excuses.memory && (close.code == ws::close_code::internal_error ||
                                           close.code == ws::close_code::try_again_later));
  return excused ? std::string() : complain("an unexpected close", text);
}

std::string Client::take_line(const std::string& line, const Excuses& excuses) {
  const auto says = [&line](std::string_view text) { return line.find(text) != line.npos; };
  const bool notification = line.starts_with(R"({"jsonrpc":"2.0","method":)");
  if (notification) return take_notification(line, excuses);
  // On lines what has been begun is answered behind the error that ends the connection.
  if (ended_ && habits_.lines && take_late(line, excuses)) return {};
  if (ended_) return complain("an answer after the last one", line);
  const bool late = excuses.time && says(R"("data":{"reason":"body_rate_min"}},"id":null})");
  const bool crowded = excuses.crowd && heard_of_ == 0 && says(R"("reason":"connections_max")");
  const bool no_room = excuses.memory && says(R"("reason":"partial_pool_size")");
  if (late || crowded || no_room) {
    ended_ = disturbed_ = true;
    return {};
  }
  skip_silent();
  const bool next = answered_ < written_requests_ && line == script_[answered_].answer.body;
  if (!next && take_late(line, excuses)) return {};
  if (answered_ == written_requests_ && torn_) {
    torn_ = false;
    return says(R"("error":)") ? std::string() : complain("half a message was answered", line);
  }
  // A line that is too long is answered before its end.
  const bool begun =
      answered_ < written_requests_ || (answered_ == written_requests_ && written_bytes_ > 0);
  if (!begun) return complain("an answer that nobody asked for", line);
  const Answer& answer = script_[answered_].answer;
  const bool right = line == answer.body || (!answer.or_body.empty() && line == answer.or_body);
  if (!right && !(excuses.memory && says("\"code\":-31004"))) return complain("another body", line);
  heard_of_ = ++answered_;
  return {};
}

std::string Client::read(const Excuses& excuses) {
  const std::string more = io_.client_read(id_);
  if (!more.empty()) moved_ = true;
  heard_ += more;
  if (habits_.lines) return read_lines(excuses);
  for (;;) {
    if (habits_.websocket && answered_ != 0) return read_frames(excuses);
    const std::size_t end = heard_.find(head_end);
    if (end == std::string::npos) break;
    const std::string head = heard_.substr(0, end + 2);
    if (head.find("\r\nContent-Type: text/event-stream\r\n") != std::string::npos) {
      std::string complaint;
      if (!read_stream(end + 4, complaint, excuses)) break;
      if (!complaint.empty()) return complaint;
      continue;
    }
    const std::size_t length = length_of(head);
    if (heard_.size() < end + 4 + length) break;
    const std::string body = heard_.substr(end + 4, length);
    heard_.erase(0, end + 4 + length);
    std::string complaint = take_answer(head, body, excuses);
    if (!complaint.empty()) return complaint;
  }
  // A whole answer has a head by now; what cannot begin one is somebody else's, or damaged.
  const std::string_view start = std::string_view("HTTP/1.1 ").substr(0, heard_.size());
  if (!std::string_view(heard_).starts_with(start)) return complain("no answer begins so", heard_);
  return {};
}

std::string Client::take_answer(const std::string& head, const std::string& body,
                                const Excuses& excuses) {
  int status = 0;
  if (head.starts_with("HTTP/1.1 ")) std::from_chars(head.data() + 9, head.data() + 12, status);
  const bool closes = head.find("\r\nConnection: close\r\n") != std::string::npos;
  if (ended_) return complain("an answer after the last one", head + body);
  if (status == 408 && excuses.time) {
    ended_ = disturbed_ = true;
    return closes ? std::string() : complain("408 without close", head);
  }
  if (status == 503 && excuses.crowd && answered_ == 0 && body.empty()) {
    ended_ = disturbed_ = true;
    return closes ? std::string() : complain("not our 503", head + body);
  }
  const bool begun =
      answered_ < written_requests_ || (answered_ == written_requests_ && written_bytes_ > 0);
  if (!begun) return complain("an answer that nobody asked for", head + body);
  const Request& request = script_[answered_];
  if (status == 100) {
    if (!request.expects_continue || may_continue_) return complain("an unexpected 100", head);
    may_continue_ = true;
    return {};
  }
  if (status == 503 && excuses.memory && body.empty()) {
    ended_ = disturbed_ = true;
    return closes ? std::string() : complain("not our 503", head + body);
  }
  const Answer& answer = request.answer;
  const bool short_of_memory = excuses.memory && body.find("\"code\":-31004") != std::string::npos;
  // A call that is not made, or stopped, by what concerns the whole server.
  const bool is_late = request.later.is && is_late_answer(answered_, body, excuses);
  const bool refused = status == 503 && is_late && body != answer.body;
  if (status != answer.status && !refused) return complain("another status", head + body);
  const bool right =
      is_late || body == answer.body || (!answer.or_body.empty() && body == answer.or_body);
  if (!right && !short_of_memory) return complain("another body", head + body);
  if (closes != answer.close && !(closes && excuses.stopping)) {
    return complain("another end", head + body);
  }
  if (closes && !answer.close) disturbed_ = true;
  ended_ = closes;
  may_continue_ = false;
  ++answered_;
  return {};
}

std::string Client::complain(const std::string& what, const std::string& heard,
                             std::size_t request) const {
  std::string text = "client " + std::to_string(id_) + ", answer " + std::to_string(request) +
                     ": " + what + "\n  heard: " + shortened(heard);
  if (request >= script_.size()) return text;
  const Answer& answer = script_[request].answer;
  return text + "\n  expected: " + std::to_string(answer.status) + " " + shortened(answer.body) +
         "\n  asked: " + shortened(script_[request].bytes);
}

bool Client::is_done() const {
  return ended_ || (answered_ == script_.size() && !waits_later() && heard_.empty());
}

std::string Client::check_complete(const Excuses& excuses) const {
  if (is_disturbed()) return {};
  if (!heard_.empty()) return complain("half an answer and no more", heard_);
  if (ended_ && !io_.client_at_end(id_)) return complain("told of an end that does not come", "");
  if (ended_) return {};
  if (answered_ < written_requests_) return complain("no answer", "");
  const std::string complaint = check_complete_late(excuses);
  if (!complaint.empty()) return complaint;
  if (!left_ && io_.client_at_end(id_)) return complain("the connection ended unasked", "");
  return {};
}

void Client::leave(std::mt19937_64& random) {
  if (left_) return;
  left_ = true;
  const std::uint64_t way = random() % 3;
  if (way == 0) finish();
  if (way == 1) io_.client_reset(id_);
  // Else it stays and says nothing more.
}

void Client::count(std::map<std::string, std::uint64_t>& certainly,
                   std::map<std::string, std::uint64_t>& possibly) const {
  std::size_t heard_of = two_way() ? heard_of_ : answered_;
  if (!unclear_.empty() && !waits_later()) heard_of = std::max(heard_of, awaited_.back() + 1);
  for (std::size_t i = 0; i < script_.size(); ++i) {
    for (const auto& [method, times] : script_[i].answer.started) {
      if (i < heard_of) certainly[method] += times;
      if (i < written_requests_) possibly[method] += times;
    }
    if (i < written_requests_ && !script_[i].answer.or_body.empty()) ++possibly["sometimes"];
  }
}

}  // namespace ringrpc::sim
