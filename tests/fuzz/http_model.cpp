#include "tests/fuzz/http_model.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/http/head.h"
#include "engine/http/media.h"
#include "engine/http/request.h"
#include "engine/serve/endpoint.h"
#include "engine/ws/handshake.h"
#include "tests/unit/http/twins.h"

namespace ringrpc::fuzz {
namespace {

// --- Chunks --------------------------------------------------------------------------------------

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::uint64_t hex_value(char c) {
  if (c <= '9') return static_cast<std::uint64_t>(c - '0');
  return static_cast<std::uint64_t>((c | 0x20) - 'a' + 10);
}

bool is_token_char(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Of a field's value or a quoted text: anything but control characters, the tab aside.
bool is_value_char(char c) {
  const unsigned char byte = static_cast<unsigned char>(c);
  return c == '\t' || (byte >= 0x20 && byte != 0x7F);
}

// Each step leaves the status alone when it went well, and else ends the reading.
class ChunkReader {
 public:
  ChunkReader(std::string_view bytes, std::uint64_t body_max)
      : bytes_(bytes), body_max_(body_max) {}

  Chunked read() {
    while (chunk()) continue;
    out_.consumed = at_;
    return out_;
  }

 private:
  // Returns: whether there is a byte to look at.
  [[nodiscard]] bool more() const { return at_ < bytes_.size(); }
  [[nodiscard]] char peek() const { return bytes_[at_]; }

  bool refuse(int status) {
    ++at_;
    out_.status = Chunked::Status::refused;
    out_.http_status = status;
    return false;
  }
  bool expect(char c) {
    if (!more()) return false;
    if (peek() != c) return refuse(400);
    ++at_;
    return true;
  }

  bool chunk() {
    std::uint64_t size = 0;
    if (!size_line(size)) return false;
    if (size == 0) return trailers();
    if (size > body_max_ || out_.body.size() > body_max_ - size) {
      out_.status = Chunked::Status::too_large;
      return false;
    }
    const std::string_view data = bytes_.substr(at_, size);
    out_.body += data;
    at_ += data.size();
    return data.size() == size && expect('\r') && expect('\n');
  }

  bool size_line(std::uint64_t& size) {
    std::uint32_t digits = 0;
    for (; more() && is_hex(peek()); ++at_) {
      if (++digits > limits::chunk_size_digits_max) return refuse(400);
      size = size * 16 + hex_value(peek());
    }
    if (!more()) return false;
    if (digits == 0) return refuse(400);
    while (more() && peek() == ';') {
      if (!extension()) return false;
    }
    return expect('\r') && expect('\n');
  }

  // Looks at a byte of an extension; all of them together have a limit.
  bool extension_byte(bool good) {
    if (!good || extensions_ == limits::chunk_extension_size_max) return refuse(400);
    ++extensions_;
    ++at_;
    return true;
  }

  bool extension() {
    if (!extension_byte(true)) return false;  // the semicolon
    if (!token()) return false;
    if (!more()) return false;
    if (peek() != '=') return true;
    if (!extension_byte(true)) return false;
    if (!more()) return false;
    return peek() == '"' ? quoted_text() : token();
  }

  bool token() {
    if (!more()) return false;
    if (!extension_byte(is_token_char(peek()))) return false;
    while (more() && is_token_char(peek())) {
      if (!extension_byte(true)) return false;
    }
    return true;
  }

  bool quoted_text() {
    if (!extension_byte(true)) return false;
    while (more() && peek() != '"') {
      const bool escapes = peek() == '\\';
      if (!extension_byte(is_value_char(peek()))) return false;
      if (!escapes) continue;
      if (!more()) return false;
      if (!extension_byte(is_value_char(peek()))) return false;
    }
    return more() && extension_byte(true);
  }

  // Looks at a byte of the trailer section.
  bool trailer_byte(bool good) {
    if (trailers_ == limits::trailer_size_max) return refuse(431);
    ++trailers_;
    if (!good) return refuse(400);
    ++at_;
    return true;
  }

  bool trailers() {
    for (std::uint32_t fields = 0; more() && peek() != '\r'; ++fields) {
      if (trailers_ < limits::trailer_size_max && fields == limits::head_fields_max) {
        return refuse(431);
      }
      if (!trailer_byte(is_token_char(peek()))) return false;
      while (more() && peek() != ':') {
        if (!trailer_byte(is_token_char(peek()))) return false;
      }
      if (!more() || !trailer_byte(true)) return false;
      while (more() && peek() != '\r') {
        if (!trailer_byte(is_value_char(peek()))) return false;
      }
      if (!more() || !trailer_byte(true)) return false;
      if (!more() || !trailer_byte(peek() == '\n')) return false;
    }
    if (!more() || !trailer_byte(true)) return false;
    if (!more() || !trailer_byte(peek() == '\n')) return false;
    out_.status = Chunked::Status::done;
    return false;
  }

  std::string_view bytes_;
  std::uint64_t body_max_;
  std::size_t at_ = 0;
  std::uint32_t extensions_ = 0;
  std::uint32_t trailers_ = 0;
  Chunked out_;
};

// --- Requests ------------------------------------------------------------------------------------

using testing::ExpectedReply;

struct Asked {
  const http::Request& head;
  const serve::Admission& admission;
};

// Fills in what follows from the head: Connection, the body of HEAD.
HttpAnswer make_answer(int status, const std::string& body, bool has_body,
                       std::vector<std::string> fields, const http::Request* head, bool closes) {
  HttpAnswer answer;
  answer.closes = closes;
  answer.reply.status = status;
  answer.reply.fields = std::move(fields);
  if (has_body && head != nullptr && head->method == http::Method::head) {
    answer.reply.announced = body.size();
  } else if (has_body) {
    answer.reply.body = body;
  }
  answer.closing = answer.reply;
  answer.closing.fields.emplace_back("Connection: close");
  const bool keeps = head != nullptr && head->version_minor == 0 && !closes;
  if (keeps) answer.reply.fields.emplace_back("Connection: keep-alive");
  if (closes) answer.reply.fields = answer.closing.fields;
  std::sort(answer.reply.fields.begin(), answer.reply.fields.end());
  std::sort(answer.closing.fields.begin(), answer.closing.fields.end());
  return answer;
}

HttpAnswer broken(int status) { return make_answer(status, {}, false, {}, nullptr, true); }

// What the error of a refusal says beside its code.
std::string data_of(const Asked& asked) {
  static const std::map<int, std::string> reasons = {{400, "websocket_handshake"},
                                                     {404, "path"},
                                                     {405, "method"},
                                                     {406, "accept"},
                                                     {426, "websocket_version"}};
  std::string reason;
  if (asked.admission.status == 415) {
    const std::string_view type = asked.head.view(asked.head.content_type);
    reason = http::media_type(type) == http::MediaType::json ? "content_coding" : "media_type";
  } else if (const auto found = reasons.find(asked.admission.status); found != reasons.end()) {
    reason = found->second;
  }
  return reason.empty() ? "" : R"(,"data":{"reason":")" + reason + "\"}";
}

HttpAnswer refused(const Asked& asked, bool closes) {
  const serve::Admission& admission = asked.admission;
  std::vector<std::string> fields{"Content-Type: application/json"};
  if (!admission.allow.empty()) fields.push_back("Allow: " + std::string(admission.allow));
  if (admission.status == 426) {
    fields.insert(fields.end(),
                  {"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"});
  }
  const std::string body = R"({"jsonrpc":"2.0","error":)" +
                           std::string(rpc::error_object(admission.code)) + data_of(asked) +
                           R"(},"id":null})";
  return make_answer(admission.status, body, true, std::move(fields), &asked.head, closes);
}

HttpAnswer served(const Asked& asked, std::string_view body, const ServerModel& server) {
  const http::Request& head = asked.head;
  if (asked.admission.target == serve::Target::rpc) {
    const bool events = head.accept.present() && http::accepts_event_stream(head);
    ModelLimits rules = server.rpc;
    rules.events = events;
    const Answer said = answer_of(body, rules);
    std::vector<std::string> fields;
    if (said.has_body) fields.emplace_back("Content-Type: application/json");
    HttpAnswer answer = make_answer(said.has_body ? 200 : 204, said.body, said.has_body,
                                    std::move(fields), &head, head.close);
    answer.started = said.started;
    answer.said.cancels = said.cancels;
    if (!said.late.empty()) {
      answer.said = said;
      answer.events = events && !said.is_batch;
      answer.old_http = head.version_minor == 0;
    }
    return answer;
  }
  if (asked.admission.target == serve::Target::options) {
    std::vector<std::string> fields;
    if (!asked.admission.allow.empty()) {
      fields.push_back("Allow: " + std::string(asked.admission.allow));
    }
    return make_answer(204, {}, false, std::move(fields), &head, head.close);
  }
  const bool metrics = asked.admission.target == serve::Target::metrics;
  const char* const text = asked.admission.target == serve::Target::health  ? "ok\n"
                           : asked.admission.target == serve::Target::ready ? "ready\n"
                                                                            : "none\n";
  const char* const type = metrics ? "Content-Type: text/plain; version=0.0.4; charset=utf-8"
                                   : "Content-Type: text/plain; charset=utf-8";
  return make_answer(200, text, true, {type}, &head, head.close);
}

// Judges the head that the bytes begin with as if they came one by one: the first verdict counts.
http::HeadResult judge_head(std::string_view bytes, const serve::HeadLimits& most,
                            http::Request& head) {
  constexpr http::HeadResult fields_too_large{http::HeadStatus::refused, 431};
  const bool tight = most.size_max != limits::head_size_max;
  for (std::size_t size = tight ? 0 : bytes.size(); size <= bytes.size(); ++size) {
    const http::test::Padded part(bytes.substr(0, size), bytes.substr(size));
    const http::HeadResult result = http::test::parse_portable(part, head);
    head.base = bytes.data();
    if (result.status == http::HeadStatus::refused) return result;
    if (result.status == http::HeadStatus::incomplete) {
      if (size == most.size_max) return fields_too_large;
      continue;
    }
    if (head.target.size > most.target_size_max) return {http::HeadStatus::refused, 414};
    return head.field_count > most.fields_max ? fields_too_large : result;
  }
  return {http::HeadStatus::incomplete, 0};
}

// One request after the other.
class Talk {
 public:
  Talk(std::string_view stream, const ServerModel& server) : rest_(stream), server_(server) {}

  Conversation run() {
    const std::size_t size = rest_.size();
    while (request()) continue;
    out_.frames_at = size - rest_.size();
    return std::move(out_);
  }

 private:
  bool add(HttpAnswer answer, bool counts) {
    answer.counts = counts;
    out_.answers.push_back(std::move(answer));
    return !out_.answers.back().closes;
  }

  // Returns: whether another request may follow.
  bool request() {
    if (rest_.empty()) return false;
    http::Request head;
    const http::HeadResult result = judge_head(rest_, server_.head, head);
    if (result.status == http::HeadStatus::incomplete) return false;
    if (result.status == http::HeadStatus::refused) return add(broken(result.http_status), false);
    static const http::HostPolicy hosts;
    static const serve::Mount mount{.path = "/rpc"};
    const serve::Admission admission =
        serve::admit(head, hosts, {&mount, 1}, server_.message_size_max);
    const Asked asked{head, admission};
    rest_.remove_prefix(head.head_size);
    if (admission.target == serve::Target::none) return refuse(asked);
    if (admission.target == serve::Target::websocket) return upgrade(asked);
    if (head.chunked) return chunked(asked);
    out_.may_continue = head.expect_continue && head.content_length != 0;
    if (rest_.size() < head.content_length) return false;
    const std::string_view body = rest_.substr(0, head.content_length);
    rest_.remove_prefix(body.size());
    return serve(asked, body);
  }

  bool refuse(const Asked& asked) {
    const http::Request& head = asked.head;
    // A handshake that is none is a doubt about what follows.
    const bool ends = asked.admission.status == 400 || head.chunked ||
                      (head.content_length != 0 && head.expect_continue) ||
                      head.content_length > server_.drain_size_max;
    if (!add(refused(asked, head.close || ends), false)) return false;
    rest_.remove_prefix(std::min<std::size_t>(rest_.size(), head.content_length));
    return true;
  }

  bool upgrade(const Asked& asked) {
    char accept[ws::accept_size];
    ws::write_accept(asked.head.find("sec-websocket-key"), accept);
    add(make_answer(101, {}, false,
                    {"Upgrade: websocket", "Connection: Upgrade",
                     "Sec-WebSocket-Accept: " + std::string(accept, ws::accept_size)},
                    nullptr, false),
        true);
    out_.upgraded = true;
    return false;
  }

  bool chunked(const Asked& asked) {
    out_.may_continue = asked.head.expect_continue;
    const Chunked body = read_chunked(rest_, server_.message_size_max);
    switch (body.status) {
      case Chunked::Status::need_more:
        return false;
      case Chunked::Status::refused:
        return add_after_continue(broken(body.http_status), false);
      case Chunked::Status::too_large: {
        const serve::Admission too_large{.target = serve::Target::none,
                                         .status = 413,
                                         .code = rpc::ErrorCode::request_too_large};
        return add_after_continue(refused({asked.head, too_large}, true), false);
      }
      case Chunked::Status::done:
        break;
    }
    rest_.remove_prefix(body.consumed);
    return serve(asked, body.body);
  }

  bool serve(const Asked& asked, std::string_view body) {
    return add_after_continue(served(asked, body, server_), true);
  }

  bool add_after_continue(HttpAnswer answer, bool counts) {
    answer.may_continue = std::exchange(out_.may_continue, false);
    return add(std::move(answer), counts);
  }

  std::string_view rest_;
  const ServerModel& server_;
  Conversation out_;
};

}  // namespace

Chunked read_chunked(std::string_view bytes, std::uint64_t body_max) {
  return ChunkReader(bytes, body_max).read();
}

Conversation converse(std::string_view stream, const ServerModel& server) {
  return Talk(stream, server).run();
}

}  // namespace ringrpc::fuzz
