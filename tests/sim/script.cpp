#include "tests/sim/script.h"

#include <algorithm>
#include <set>

#include "engine/json/utf8.h"
#include "tests/support/conversation_frames.h"
#include "tests/unit/ws/frames.h"

namespace ringrpc::sim {
namespace {

constexpr std::string_view crlf = "\r\n";

std::uint32_t below(std::mt19937_64& random, std::uint64_t bound) {
  return static_cast<std::uint32_t>(random() % std::max<std::uint64_t>(bound, 1));
}

// Splits a body into chunks of random sizes, with extensions and a trailer now and then.
std::string chunked_body(std::mt19937_64& random, const std::string& body) {
  std::string bytes;
  std::size_t at = 0;
  char digits[20];
  while (at < body.size()) {
    const std::size_t left = body.size() - at;
    const std::size_t size =
        1 + random() % (below(random, 4) == 0 ? left : std::min<std::size_t>(left, 40));
    std::snprintf(digits, sizeof(digits), below(random, 2) == 0 ? "%zx" : "%03zX", size);
    bytes += digits;
    if (below(random, 8) == 0) bytes += ";a=\"b;c\"";
    bytes.append(crlf).append(body, at, size).append(crlf);
    at += size;
  }
  bytes += below(random, 4) == 0 ? "0\r\nX-Sum: 1\r\n\r\n" : "0\r\n\r\n";
  return bytes;
}

struct Maker {
  std::mt19937_64& random;
  const ServerLimits& limits;
  const std::string& name;
  const std::string& peer;
  std::uint32_t serial = 0;
  std::string cancellable = {};           // the id of a call that is to be cancelled
  std::set<std::string> subscribed = {};  // topics

  std::string id() {
    ++serial;
    switch (below(random, 5)) {
      case 0:
        return "\"" + name + "\\u0041" + std::to_string(serial) + "\"";
      case 1:
        return std::to_string(serial) + ".50e1";
      case 2:
        return "7";  // The same for everybody: replies are not found by their ids.
      default:
        return std::to_string(serial);
    }
  }

  // Of a call that is answered later.
  std::string late_id() {
    if (!limits.is_short) return id();
    return "\"" + name + "?" + std::to_string(++serial) + "\"";
  }

  static std::string reply(const std::string& member, const std::string& id) {
    return R"({"jsonrpc":"2.0",)" + member + R"(,"id":)" + id + "}";
  }
  static std::string error(int code, const std::string& message, const std::string& id) {
    return reply(R"("error":{"code":)" + std::to_string(code) + R"(,"message":")" + message + "\"}",
                 id);
  }
  static std::string call(const std::string& method, const std::string& params,
                          const std::string& id) {
    std::string text = R"({"jsonrpc":"2.0","method":")" + method + "\"";
    if (!params.empty()) text += R"(,"params":)" + params;
    if (!id.empty()) text += R"(,"id":)" + id;
    return text + "}";
  }

  // One call or notification with its reply (empty for a notification), noting what it starts.
  std::string element(std::string& text, Answer& answer, bool wanted) {
    const std::string id_token = wanted ? id() : std::string();
    const std::uint32_t kind = below(random, 7);
    std::string said;
    if (kind <= 1) {
      const std::int64_t a = static_cast<std::int64_t>(below(random, 1u << 20)) - 500;
      const std::int64_t b = below(random, 1u << 30);
      text = call("sum",
                  kind == 0 ? "[" + std::to_string(a) + "," + std::to_string(b) + "]"
                            : R"({"b":)" + std::to_string(b) + R"(,"a":)" + std::to_string(a) + "}",
                  id_token);
      ++answer.started["sum"];
      said = reply(R"("result":)" + std::to_string(a + b), id_token);
    } else if (kind == 2) {
      const std::string value = R"({"who":")" + name + R"(","n":[1,2.5e3,null,{"k":"\u00e9\\"}]})";
      text = call("echo", value, id_token);
      ++answer.started["echo"];
      said = reply(R"("result":)" + value, id_token);
    } else if (kind == 3) {
      text = call("who", {}, id_token);
      ++answer.started["who"];
      said = reply(R"("result":")" + peer + "\"", id_token);
    } else if (kind == 4) {
      text = call("fail", {}, id_token);
      ++answer.started["fail"];
      said = error(1001, "failed", id_token);
    } else if (kind == 5) {
      text = call("none." + name, "{}", id_token);
      said = error(-32601, "Method not found", id_token);
    } else {
      text = call("crash", {}, id_token);
      ++answer.started["crash"];
      said = error(-32603, "Internal error", id_token);
    }
    return wanted ? said : std::string();
  }

  Request post(const std::string& body, Answer answer, const std::string& more = {}) {
    Request request;
    request.answer = std::move(answer);
    std::string head =
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    head += more;
    if (below(random, 5) == 0) head += "X-Filler: " + std::string(below(random, 300), 'f') + "\r\n";
    head += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    request.head_size = head.size();
    request.bytes = head + body;
    return request;
  }

  Request single() {
    Answer answer;
    std::string text;
    answer.body = element(text, answer, true);
    return post(text, answer);
  }

  Request notification() {
    Answer answer;
    std::string text;
    element(text, answer, false);
    answer.status = 204;
    return post(text, answer);
  }

  // The error that stands for calls of a batch behind the one that fills its reply.
  static std::string too_large(const std::string& token) {
    return reply(R"("error":{"code":-31004,"message":"Reply too large",)"
                 R"("data":{"reason":"reply_size_max"}})",
                 token);
  }

  // An element of a batch: its text, and what is said of it. `full` is how the reply is before and
  // after.
  std::string batch_element(std::string& text, Answer& answer, bool& full) {
    if (below(random, 8) == 0) {
      text = below(random, 2) == 0 ? "1" : R"({"jsonrpc":"2.0","method":7,"id":3})";
      return error(-32600, "Invalid Request", text.size() == 1 ? "null" : "3");
    }
    if (!full && below(random, 12) == 0) {
      full = true;
      const std::string token = id();
      text = call("blob", "[" + std::to_string(limits.reply_size_max + 1) + "]", token);
      ++answer.started["blob"];
      return too_large(token);
    }
    const bool wanted = below(random, 4) != 0;
    Answer ignored;
    const std::string said = element(text, full ? ignored : answer, wanted);
    if (!full || !wanted) return said;
    const std::size_t id_at = said.rfind(R"(,"id":)") + 6;
    return too_large(said.substr(id_at, said.size() - 1 - id_at));
  }

  Request batch() {
    Answer answer;
    std::string text = "[";
    const std::uint32_t most = below(random, 3) == 0 ? limits.batch_length_max + 1 : 6u;
    const std::uint32_t length = 1 + below(random, most);
    std::uint32_t count = 0;
    bool full = false;
    for (; count < length && text.size() < limits.message_size_max / 2; ++count) {
      std::string one;
      const std::string said = batch_element(one, answer, full);
      if (count != 0) text += ",";
      text += one;
      if (said.empty()) continue;
      answer.body += answer.body.empty() ? "[" : ",";
      answer.body += said;
    }
    text += "]";
    if (count > limits.batch_length_max) {
      answer.body = R"({"jsonrpc":"2.0","error":{"code":-31005,"message":"Batch too large",)"
                    R"("data":{"reason":"batch_length_max"}},"id":null})";
      answer.started.clear();
    } else if (answer.body.empty()) {
      answer.status = 204;
    } else {
      answer.body += "]";
    }
    return post(text, answer);
  }

  Request not_json() {
    static const char* const texts[] = {
        "{",  "[1,2",         "nul", R"({"jsonrpc":"2.0","id":1,)", "{\"a\":\"\xff\"}", "\"",
        "01", R"({"a":tru})", ""};
    Answer answer;
    answer.body = error(-32700, "Parse error", "null");
    return post(texts[below(random, std::size(texts))], answer);
  }

  std::string large_call(Answer& answer, std::uint32_t size) {
    const std::string token = id();
    std::string value = "[\"" + name + "\"";
    while (value.size() < size) value += R"(,{"key":"va\u006cue","n":12345})";
    value += "]";
    ++answer.started["size"];
    answer.body = reply(R"("result":)" + std::to_string(value.size()), token);
    return call("size", value, token);
  }

  std::uint32_t large_size() { return below(random, limits.message_size_max - 256); }

  Request large_body() {
    Answer answer;
    if (below(random, 12) == 0) {
      Request request = post(std::string(limits.message_size_max + 1, ' '), answer);
      request.answer.status = 413;
      request.answer.body = R"({"jsonrpc":"2.0","error":{"code":-31008,"message":"Request too )"
                            R"(large","data":{"reason":"message_size_max"}},"id":null})";
      request.answer.close = limits.message_size_max + 1 > 65536;
      return request;
    }
    const std::string text = large_call(answer, large_size());
    return post(text, answer);
  }

  Request large_reply() {
    const std::string token = id();
    // Near the limit a writer may ask for more room than it needs, so the model stays away from it.
    const bool fits = below(random, 4) != 0;
    const std::uint32_t size =
        fits ? below(random, limits.reply_size_max / 8) : limits.reply_size_max + 1;
    Answer answer;
    ++answer.started["blob"];
    answer.body =
        fits ? reply(R"("result":")" + std::string(size, 'x') + "\"", token) : too_large(token);
    return post(call("blob", "[" + std::to_string(size) + "]", token), answer);
  }

  Request chunked() {
    Request request;
    std::string text;
    if (below(random, 2) == 0) {
      request.answer.body = element(text, request.answer, true);
    } else {
      text = large_call(request.answer, large_size());
    }
    std::string head =
        "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:80\r\nTransfer-Encoding: chunked\r\n"
        "Content-Type: application/json\r\n\r\n";
    request.head_size = head.size();
    request.bytes = head + chunked_body(random, text);
    return request;
  }

  Request refused() {
    const std::string body(below(random, 6) == 0 ? 65537 : below(random, 3000), 'G');
    Request request;
    const bool media = below(random, 2) == 0;
    std::string head =
        media ? "POST /rpc HTTP/1.1\r\nContent-Type: text/plain\r\n" : "POST /nobody HTTP/1.1\r\n";
    head += "Host: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    request.head_size = head.size();
    request.bytes = head + body;
    request.answer.status = media ? 415 : 404;
    request.answer.body =
        reply(R"("error":{"code":-32600,"message":"Invalid Request","data":{"reason":")" +
                  std::string(media ? "media_type" : "path") + R"("}})",
              "null");
    request.answer.close = body.size() > 65536;
    return request;
  }

  Request plain() {
    Request request;
    if (below(random, 2) == 0) {
      request.bytes = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
      request.answer.body = "ok\n";
    } else {
      request.bytes = "OPTIONS /rpc HTTP/1.1\r\nHost: [::1]:9\r\n\r\n";
      request.answer.status = 204;
    }
    request.head_size = request.bytes.size();
    return request;
  }

  Request expects() {
    Answer answer;
    std::string text;
    answer.body = element(text, answer, true);
    Request request = post(text, answer, "Expect: 100-continue\r\n");
    request.expects_continue = true;
    return request;
  }

  // Answered by whichever table is there when it comes.
  Request sometimes() {
    const std::string token = id();
    Answer answer;
    answer.body = reply(R"("result":"here")", token);
    answer.or_body = error(-32601, "Method not found", token);
    return post(call("sometimes", {}, token), answer);
  }

  // A call that is answered later, with its reply.
  std::string late_element(std::string& text, Answer& answer, const std::string& token) {
    const std::string tag = name + "#" + std::to_string(++serial);
    const std::string begin = R"({"tag":")" + tag + R"(",)";
    const std::uint32_t kind = below(random, 3);
    std::string said = reply(R"("result":")" + tag + "\"", token);
    if (kind == 0) {
      text = call("later", begin + R"("ms":)" + std::to_string(below(random, 20)) + "}", token);
      ++answer.started["later"];
    } else if (kind == 1) {
      text = call("waits",
                  begin + R"("times":)" + std::to_string(below(random, 4)) + R"(,"ms":)" +
                      std::to_string(below(random, 5)) + "}",
                  token);
      ++answer.started["waits"];
    } else {
      const std::uint32_t how = below(random, 8);
      text = call("elsewhere", begin + R"("how":)" + std::to_string(how) + "}", token);
      ++answer.started["elsewhere"];
      if (how == 1) said = error(1001, "failed", token);
      if (how > 1) said = error(-32603, "Internal error", token);
    }
    return said;
  }

  Request later() {
    Answer answer;
    std::string text;
    const bool wanted = below(random, 8) != 0;
    const std::string token = wanted ? late_id() : std::string();
    const std::string said = late_element(text, answer, token);
    if (wanted) answer.body = said;
    if (!wanted) answer.status = 204;
    Request request = post(text, answer);
    request.later = {.is = wanted, .id = token};
    return request;
  }

  Request stream() {
    const std::string tag = name + "#" + std::to_string(++serial);
    const bool wanted = below(random, 8) != 0;
    const bool large = below(random, 4) == 0;
    const std::string token = wanted ? late_id() : std::string();
    const std::uint32_t count = below(random, 6);
    const std::string method = below(random, 2) == 0 ? "ticks" : "counts";
    const std::uint32_t size = below(random, large ? limits.event_size_max : 100);
    const std::string text =
        call(method,
             R"({"tag":")" + tag + R"(","count":)" + std::to_string(count) + R"(,"ms":)" +
                 std::to_string(below(random, 2) * below(random, 5)) + R"(,"size":)" +
                 std::to_string(size) + "}",
             token);
    Answer answer;
    ++answer.started[method];
    const std::string result = R"({"tag":")" + tag + R"(","n":)" + std::to_string(count) + "}";
    if (wanted) answer.body = reply(R"("result":)" + result, token);
    if (!wanted) answer.status = 204;
    const bool accepts = below(random, 4) != 0;
    Request request =
        post(text, answer, accepts ? "Accept: application/json, text/event-stream\r\n" : "");
    request.later = {
        .is = wanted, .id = token, .tag = tag, .ticks = count, .stream = accepts && wanted};
    return request;
  }

  Request cancel() {
    if (cancellable.empty()) {
      Answer answer;
      std::string text;
      cancellable = "\"" + name + "!" + std::to_string(++serial) + "\"";
      answer.body = late_element(text, answer, cancellable);
      Request request = post(text, answer);
      request.later = {.is = true, .id = cancellable};
      request.later.also.push_back(
          reply(R"("error":{"code":-31006,"message":"Cancelled","data":{"reason":"cancelled"}})",
                cancellable));
      return request;
    }
    Answer answer;
    answer.status = 204;
    ++answer.started["rpc.cancel"];
    const std::string text = call("rpc.cancel", R"({"id":)" + cancellable + "}", {});
    cancellable.clear();
    return post(text, answer);
  }

  Request late_batch() {
    Answer answer;
    Later later{.is = true};
    std::string text = "[";
    const std::uint32_t count = 1 + below(random, 3);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::string one;
      const bool is_late = i == 0 || below(random, 2) == 0;
      const std::string said = is_late ? late_element(one, answer, late_id())
                                       : element(one, answer, below(random, 4) != 0);
      text += (i == 0 ? "" : ",") + one;
      if (!said.empty()) later.parts.push_back(said);
    }
    Request request = post(text + "]", answer);
    request.later = later;
    return request;
  }

  Request feed() {
    const std::string topic = "t" + std::to_string(below(random, 3));
    const bool subscribes = below(random, 3) != 0;
    const bool changes = subscribes ? subscribed.insert(topic).second : subscribed.erase(topic) > 0;
    const std::string method = subscribes ? "subscribe" : "unsubscribe";
    const std::string token = late_id();
    Answer answer;
    ++answer.started[method];
    answer.body = reply(std::string(R"("result":)") + (changes ? "true" : "false"), token);
    Request request = post(call(method, R"({"topic":")" + topic + "\"}", token), answer);
    request.later = {.is = true, .id = token, .topic = topic, .subscribes = subscribes};
    return request;
  }

  Request bad_head() {
    static const char* const heads[] = {
        "BAD\x01 /rpc HTTP/1.1\r\n\r\n", "POST /rpc HTTP/1.1\r\nHost : x\r\n\r\n",
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\n", "\x16\x03\x01\x02"};
    Request request;
    request.bytes = heads[below(random, std::size(heads))];
    request.head_size = request.bytes.size();
    request.bytes += std::string(below(random, 500), 'z');
    request.answer.status = 400;
    request.answer.close = true;
    return request;
  }

  Request closing() {
    Request request = single();
    request.answer.close = true;
    if (below(random, 2) == 0) {
      const std::string more = "Connection: close\r\n";
      request.bytes.insert(request.bytes.find(crlf) + 2, more);
      request.head_size += more.size();
    } else {
      request.bytes.replace(request.bytes.find("1.1"), 3, "1.0");
    }
    return request;
  }

  Request make(Weights::Kind kind) {
    switch (kind) {
      case Weights::single:
        return single();
      case Weights::notification:
        return notification();
      case Weights::batch:
        return batch();
      case Weights::not_json:
        return not_json();
      case Weights::large_body:
        return large_body();
      case Weights::large_reply:
        return large_reply();
      case Weights::chunked:
        return chunked();
      case Weights::refused:
        return refused();
      case Weights::plain:
        return plain();
      case Weights::expects:
        return expects();
      case Weights::sometimes:
        return sometimes();
      case Weights::later:
        return later();
      case Weights::stream:
        return stream();
      case Weights::cancel:
        return cancel();
      case Weights::late_batch:
        return late_batch();
      case Weights::feed:
        return feed();
      case Weights::bad_head:
        return bad_head();
      default:
        return closing();
    }
  }
};

}  // namespace

Weights Weights::swarm(std::mt19937_64& random) {
  Weights weights;
  for (std::uint32_t& weight : weights.weight) {
    if (below(random, 2) == 0) weight = 1 + below(random, 10);
  }
  weights.weight[bad_head] /= 5;
  weights.weight[closing] /= 5;
  if (below(random, 4) != 0) weights.weight[single] += 5;
  return weights;
}

Weights Weights::of_lines() const {
  Weights weights = *this;
  for (const Kind kind : {chunked, refused, plain, expects, bad_head, closing}) {
    weights.weight[kind] = 0;
  }
  return weights;
}

Weights Weights::of_http() const {
  Weights weights = *this;
  weights.weight[feed] = 0;
  return weights;
}

std::vector<Request> as_lines(std::mt19937_64& random, const std::vector<Request>& http) {
  std::vector<Request> lines;
  for (Request line : http) {
    line.bytes.erase(0, line.head_size);
    if (line.bytes.empty()) continue;  // An empty line is no message.
    line.silent = line.answer.status == 204;
    line.answer.close = false;
    // What is skipped stands in front, so that the line is whole with its last byte.
    if (below(random, 8) == 0) line.bytes.insert(0, below(random, 2) == 0 ? "\n" : " \t\r\n");
    line.head_size = line.bytes.size();
    line.bytes += below(random, 4) == 0 ? "\r\n" : "\n";
    lines.push_back(std::move(line));
  }
  while (!lines.empty() && lines.back().silent) lines.pop_back();
  return lines;
}

std::vector<Request> as_messages(std::mt19937_64& random, const std::vector<Request>& http) {
  const auto frame = [&random](std::uint8_t first, std::string_view payload) {
    std::string key;
    for (int i = 0; i < 4; ++i) key += static_cast<char>(random());
    return ws::test::frame(first, payload, key);
  };
  const auto control = [&](std::uint8_t first) {
    return frame(first, std::string(below(random, 126), 'c'));
  };
  Request handshake;
  handshake.bytes = testing::handshake_bytes("/rpc");
  handshake.answer.status = 101;
  std::vector<Request> messages = {handshake};
  for (Request message : http) {
    const std::string body = message.bytes.substr(message.head_size);
    std::string_view text = body;
    message.head_size = 0;
    message.bytes.clear();
    // In front, so that the message is whole with its last byte.
    if (below(random, 6) == 0) message.bytes += control(ws::test::first_ping);
    if (below(random, 12) == 0) message.bytes += control(ws::test::first_pong);
    bool open = false;
    while (below(random, 4) == 0) {
      const std::size_t size = below(random, text.size() + 1);
      message.bytes += frame(open ? 0x00 : 0x01, text.substr(0, size));
      text.remove_prefix(size);
      open = true;
      if (below(random, 4) == 0) message.bytes += control(ws::test::first_ping);
    }
    message.bytes += frame(open ? 0x80 : 0x81, text);
    message.silent = message.answer.status == 204;
    message.answer.close = message.answer.status == 413 || !json::is_utf8(body);
    if (message.answer.close) {
      message.answer.body = message.answer.status == 413 ? "close 1009" : "close 1007";
      message.answer.or_body.clear();
      messages.push_back(std::move(message));
      return messages;
    }
    messages.push_back(std::move(message));
  }
  while (messages.back().silent) messages.pop_back();
  return messages;
}

std::vector<Request> make_script(std::mt19937_64& random, const Weights& weights,
                                 const ServerLimits& limits, const std::string& name,
                                 const std::string& peer, std::uint32_t length) {
  Maker maker{random, limits, name, peer};
  std::vector<Request> script;
  std::uint32_t sum = 0;
  for (const std::uint32_t weight : weights.weight) sum += weight;
  for (std::uint32_t i = 0; i < length; ++i) {
    std::uint32_t kind = Weights::single;
    if (sum != 0) {
      std::uint32_t draw = below(random, sum);
      for (kind = 0; draw >= weights.weight[kind]; ++kind) draw -= weights.weight[kind];
    }
    script.push_back(maker.make(static_cast<Weights::Kind>(kind)));
    if (script.back().answer.close) break;
  }
  return script;
}

}  // namespace ringrpc::sim
