// What a simulated client hears of calls that are answered later.

#include <algorithm>
#include <charconv>

#include "tests/sim/client.h"

namespace ringrpc::sim {
namespace {

// Returns: what stands in the text behind that, up to the next of these.
std::string_view behind(std::string_view text, std::string_view what, char end) {
  const std::size_t at = text.find(what);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + what.size());
  return rest.substr(0, rest.find(end));
}

std::uint64_t number_behind(std::string_view text, std::string_view what) {
  const std::size_t at = text.find(what);
  std::uint64_t number = 0;
  if (at == text.npos) return 0;
  std::from_chars(text.data() + at + what.size(), text.data() + text.size(), number);
  return number;
}

// Whether the text is an array of these, in any order.
bool is_array_of(const std::vector<std::string>& parts, std::string_view text) {
  std::size_t size = 1;
  for (const std::string& part : parts) size += part.size() + 1;
  if (text.size() != size || !text.starts_with("[") || !text.ends_with("]")) return false;
  return std::all_of(parts.begin(), parts.end(),
                     [text](const std::string& part) { return text.find(part) != text.npos; });
}

bool is_error(std::string_view text, int code, std::string_view id) {
  return text.starts_with(R"({"jsonrpc":"2.0","error":{"code":)" + std::to_string(code) + ",") &&
         text.ends_with(R"(,"id":)" + std::string(id) + "}");
}

}  // namespace

// Whether the text is what the call asked for.
bool Client::is_wanted(std::size_t request, std::string_view text) const {
  const Later& later = script_[request].later;
  if (!later.parts.empty()) return is_array_of(later.parts, text);
  return text == script_[request].answer.body ||
         std::find(later.also.begin(), later.also.end(), text) != later.also.end();
}

// Whether a call that is answered later may find no room. Over HTTP a connection with as many as it
// may have is not read.
bool Client::may_be_refused(const Excuses& excuses) const {
  return excuses.memory || (excuses.in_flight && two_way());
}

// The same, or an error that stands for it.
bool Client::is_late_answer(std::size_t request, std::string_view text,
                            const Excuses& excuses) const {
  if (is_wanted(request, text)) return true;
  const Later& later = script_[request].later;
  if (!later.parts.empty()) {
    const bool excused =
        excuses.memory || excuses.stopping || excuses.calls_time || excuses.in_flight;
    return excused && text.starts_with("[{") && text.ends_with("}]");
  }
  if (may_be_refused(excuses)) {
    // A subscription that was refused makes the next one the first.
    const std::string_view result = behind(text, R"("result":)", ',');
    const bool is_boolean = result == "true" || result == "false";
    const bool own = text.ends_with(R"(,"id":)" + later.id + "}");
    if (!later.topic.empty() && is_boolean && own) return true;
  }
  return (excuses.stopping && is_error(text, -31007, later.id)) ||
         (excuses.calls_time && is_error(text, -31003, later.id)) ||
         (excuses.memory && is_error(text, -31001, later.id)) ||
         (may_be_refused(excuses) && is_error(text, -31001, later.id) &&
          text.find(R"("reason":"in_flight_per_connection")") != text.npos) ||
         (excuses.memory && is_error(text, -31004, later.id));
}

// Ids are not unique, so whose an error is may only be clear when all has been heard.
bool Client::take_late(std::string_view text, const Excuses& excuses) {
  const auto found = std::find_if(awaited_.begin(), awaited_.end(),
                                  [&](std::size_t request) { return is_wanted(request, text); });
  if (found == awaited_.end()) {
    const bool possible = std::any_of(awaited_.begin(), awaited_.end(), [&](std::size_t request) {
      return is_late_answer(request, text, excuses);
    });
    if (possible) unclear_.emplace_back(text);
    return possible;
  }
  const std::size_t request = *found;
  awaited_.erase(found);
  heard_of_ = std::max(heard_of_, request + 1);
  note_late_answer(request, text);
  return true;
}

void Client::note_late_answer(std::size_t request, std::string_view text) {
  const Later& later = script_[request].later;
  told_[request] = true;
  done_[request] = text == script_[request].answer.body;
  if (later.topic.empty() || text.find(R"("result":true)") == text.npos) return;
  if (!later.subscribes) {
    topics_.erase(later.topic);
    return;
  }
  const auto published = publications_.find(later.topic);
  topics_[later.topic] = {.since = published == publications_.end() ? 0 : published->second};
}

std::string Client::take_notification(std::string_view text, const Excuses& excuses) {
  if (text.find(R"("method":"tick","params":)") != text.npos) return take_tick(text);
  if (text.find(R"("method":"published","params":)") != text.npos) {
    return take_publication(text, excuses);
  }
  return complain("a notification that nobody sends", std::string(text));
}

std::string Client::take_tick(std::string_view text) {
  const std::string_view tag = behind(text, R"("tag":")", '"');
  const auto found = std::find_if(script_.begin(), script_.end(), [tag](const Request& one) {
    return one.later.ticks != 0 && one.later.tag == tag;
  });
  const std::size_t request = static_cast<std::size_t>(found - script_.begin());
  const bool begun =
      request < written_requests_ || (request == written_requests_ && written_bytes_ > 0);
  if (found == script_.end() || !begun) return complain("another one's tick", std::string(text));
  if (told_[request]) return complain("a tick behind its answer", std::string(text));
  const std::uint64_t number = number_behind(text, R"(,"n":)");
  if (number != ++ticked_[request]) return complain("a tick out of order", std::string(text));
  if (number > found->later.ticks) return complain("a tick too many", std::string(text));
  return {};
}

std::string Client::take_publication(std::string_view text, const Excuses& excuses) {
  const auto found = topics_.find(behind(text, R"("topic":")", '"'));
  // Where subscriptions may have been refused it is not clear who has one.
  if (found == topics_.end() && may_be_refused(excuses)) return {};
  if (found == topics_.end()) return complain("another one's publication", std::string(text));
  Topic& topic = found->second;
  const std::uint64_t number = number_behind(text, R"(,"n":)");
  const bool next = topic.last == 0 ? number <= topic.since + 1 : number == topic.last + 1;
  if (!next && !(number > topic.last && (excuses.drops || may_be_refused(excuses)))) {
    return complain("a publication out of order", std::string(text));
  }
  topic.last = number;
  return {};
}

bool Client::read_stream(std::size_t body_at, std::string& complaint, const Excuses& excuses) {
  std::string body;
  std::size_t at = body_at;
  for (;;) {
    const std::size_t end = heard_.find("\r\n", at);
    if (end == std::string::npos) return false;
    std::size_t size = 0;
    const auto [stop, error] = std::from_chars(heard_.data() + at, heard_.data() + end, size, 16);
    if (error != std::errc() || stop != heard_.data() + end) {
      complaint = complain("no chunk", heard_.substr(at));
      return true;
    }
    at = end + 2;
    if (heard_.size() < at + size + 2) return false;
    if (heard_.compare(at + size, 2, "\r\n") != 0) complaint = complain("a chunk's end", body);
    body.append(heard_, at, size);
    at += size + 2;
    if (size == 0) break;
  }
  const std::string head = heard_.substr(0, body_at);
  heard_.erase(0, at);
  if (complaint.empty() && ended_) complaint = complain("an answer after the last one", head);
  if (complaint.empty()) complaint = take_stream(body, excuses);
  const bool closes = head.find("\r\nConnection: close\r\n") != std::string::npos;
  if (complaint.empty() && closes && !excuses.stopping) complaint = complain("another end", head);
  if (closes) ended_ = disturbed_ = true;
  return true;
}

// The events of a call, and its answer as the last one. Comments keep it alive.
std::string Client::take_stream(std::string_view body, const Excuses& excuses) {
  constexpr std::string_view begin = "data: ";
  const bool begun = answered_ < written_requests_;
  if (!begun || !script_[answered_].later.stream) return complain("nobody asked for a stream", "");
  bool answered = false;
  while (!body.empty()) {
    const std::size_t end = body.find("\n\n");
    if (end == body.npos) return complain("half an event", std::string(body));
    const std::string_view event = body.substr(0, end);
    body.remove_prefix(end + 2);
    if (event == ":") continue;
    if (!event.starts_with(begin)) return complain("no event", std::string(event));
    const std::string_view text = event.substr(begin.size());
    std::string complaint;
    if (answered) return complain("an event behind the answer", std::string(text));
    if (text.starts_with(R"({"jsonrpc":"2.0","method":)")) {
      complaint = take_notification(text, excuses);
    } else if (is_late_answer(answered_, text, excuses)) {
      note_late_answer(answered_, text);
      answered = true;
    } else {
      complaint = complain("another answer", std::string(text));
    }
    if (!complaint.empty()) return complaint;
  }
  if (!answered) return complain("a stream without its answer", "");
  if (done_[answered_] && ticked_[answered_] != script_[answered_].later.ticks) {
    return complain("ticks are missing", "");
  }
  may_continue_ = false;
  ++answered_;
  return {};
}

// Requires: nobody has cut the connection or ended it.
std::string Client::check_complete_late(const Excuses& excuses) const {
  std::vector<std::size_t> awaited = awaited_;
  for (const std::string& text : unclear_) {
    const auto found = std::find_if(awaited.begin(), awaited.end(), [&](std::size_t request) {
      return is_late_answer(request, text, excuses);
    });
    if (found == awaited.end()) return complain("another one's answer", text);
    awaited.erase(found);
  }
  if (!awaited.empty()) return complain("no answer, though later", "", awaited.front());
  for (std::size_t i = 0; i < written_requests_; ++i) {
    // Calls that nobody waits for may not have been made; they are left when the client has ended.
    const bool silent =
        script_[i].silent && !left_ && !may_be_refused(excuses) && !excuses.calls_time;
    const bool due = two_way() && (done_[i] || silent);
    if (due && ticked_[i] != script_[i].later.ticks) return complain("ticks are missing", "", i);
  }
  for (const auto& [name, topic] : topics_) {
    const auto published = publications_.find(name);
    const std::uint64_t count = published == publications_.end() ? 0 : published->second;
    const std::uint64_t heard = topic.last == 0 ? topic.since : topic.last;
    const bool excused = left_ || excuses.drops || may_be_refused(excuses);
    if (heard != count && !excused) return complain("publications are missing on " + name, "");
  }
  return {};
}

}  // namespace ringrpc::sim
