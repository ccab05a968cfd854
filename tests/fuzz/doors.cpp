#include "tests/fuzz/doors.h"

#include <ringrpc/limits.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "engine/base/assert.h"
#include "tests/fuzz/reference.h"
#include "tests/fuzz/rpc_model.h"

namespace ringrpc::fuzz {
namespace {

using Kind = Value::Kind;

// No reply is deeper: what echo gives back, in the result of a batch's entry.
constexpr int reply_depth_max = limits::depth_max + 4;
constexpr std::uint32_t batch_length_max = 20;
constexpr std::uint32_t reply_size_max = 16u << 10;

struct Sum {
  std::int64_t a;
  std::int64_t b;
};
enum class Color { red, green };
struct Inner {
  std::int32_t number;
  std::optional<std::string> text;
};
struct Many {
  bool flag;
  double real;
  std::optional<Color> color;
  std::vector<std::int64_t> list;
  std::vector<Inner> inners;
  std::map<std::string, Json> named;
  std::string_view view;
  std::optional<Json> raw;
  std::uint8_t small;
};
struct Size {
  std::uint16_t bytes;
};

Options small_options() {
  Options options;
  options.message_size_max = Doors::message_size_max;
  options.reply_size_max = reply_size_max;
  options.batch_length_max = batch_length_max;
  options.workers = 1;
  return options;
}

// A text at the end of memory of its own, with padding that misleads.
struct Padded {
  explicit Padded(std::string_view text) : bytes(new char[text.size() + limits::padding]) {
    if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
    std::memset(bytes.get() + text.size(), '"', limits::padding);
  }
  std::unique_ptr<char[]> bytes;
};

std::string without_date(const std::string& response) {
  const std::size_t begin = response.find("\r\nDate: ");
  if (begin == response.npos) return response;
  return response.substr(0, begin) + response.substr(response.find("\r\n", begin + 2));
}

// Requires: an entry of a reply. Returns: its error's code, 0 for a result.
std::int64_t check_entry(const Value& entry, std::string_view id) {
  RINGRPC_ASSERT(entry.is(Kind::object) && entry.names.size() == 3, entry.raw);
  RINGRPC_ASSERT(entry.names[0] == "jsonrpc" && entry.items[0].raw == "\"2.0\"", entry.raw);
  RINGRPC_ASSERT(entry.names[2] == "id" && entry.items[2].raw == id, entry.raw, id);
  if (entry.names[1] == "result") return 0;
  RINGRPC_ASSERT(entry.names[1] == "error", entry.raw);
  const Value& error = entry.items[1];
  RINGRPC_ASSERT(error.is(Kind::object) && error.names.size() >= 2, error.raw);
  RINGRPC_ASSERT(error.names[0] == "code" && error.names[1] == "message", error.raw);
  RINGRPC_ASSERT(error.names.size() == 2 || error.names[2] == "data", error.raw);
  RINGRPC_ASSERT(error.items[1].is(Kind::string), error.raw);
  const Integer code = integer_of(error.items[0].raw);
  RINGRPC_ASSERT(code.is_whole && code.fits, error.raw);
  const std::int64_t value = static_cast<std::int64_t>(code.magnitude);
  return code.negative ? -value : value;
}

void check_code(std::int64_t code, const Message& message) {
  // The engine's own, and those of the handlers below.
  static const std::set<std::int64_t> codes = {0,      -32600, -32601, -32602,
                                               -32603, -31004, 1001,   1002};
  RINGRPC_ASSERT(codes.contains(code), code);
  const bool invalid =
      message.kind == Message::Kind::invalid || message.kind == Message::Kind::response;
  RINGRPC_ASSERT((code == -32600) == invalid || code == -31004, code, message.kind);
}

}  // namespace

Doors::Doors() : server_(small_options()) {
  server_.method("echo", [](Call& call, Reply& reply) {
    if (call.params().exists()) reply.result().raw(call.params().raw());
  });
  const auto sum = [](const Sum& in) -> Result<std::int64_t> {
    std::int64_t total = 0;
    if (!__builtin_add_overflow(in.a, in.b, &total)) return total;
    return Error{.code = 1002, .message = "Overflow"};
  };
  server_.method("sum", sum).method("strict", sum, {.strict = true});
  server_.method("many", [](const Many& in) { return in; });
  server_.method("blob", [](const Size& in) { return std::string(in.bytes, 'x'); });
  server_.method("nothing", []() {});
  server_.method("crash", []() -> bool { throw std::runtime_error("crash"); });
  server_.method("fail", [](Call& call) -> Result<bool> {
    return Error{.code = 1001, .message = "Failed", .data = std::string(call.params().raw())};
  });
}

std::string Doors::call(std::string_view text) {
  std::string reply;
  server_.call(text, reply);
  const Padded padded(text);
  std::string other;
  server_.call_padded({padded.bytes.get(), text.size()}, other);
  RINGRPC_ASSERT(reply == other, reply, other);
  return reply;
}

std::string Doors::call_http(std::string_view request) {
  std::string response;
  server_.call_http(request, response);
  const Padded padded(request);
  std::string other;
  server_.call_http_padded({padded.bytes.get(), request.size()}, other);
  response = without_date(response);
  RINGRPC_ASSERT(response == without_date(other), response, other);
  return response;
}

void check_reply(std::string_view text, std::string_view reply) {
  const std::optional<Value> sent = parse_message(text, limits::depth_max);
  const std::optional<Value> came = parse_value(reply, reply_depth_max);
  RINGRPC_ASSERT(reply.empty() || (came && came->raw == reply), reply);
  if (!sent) {
    RINGRPC_ASSERT(came && check_entry(*came, "null") == -32700, reply);
    return;
  }
  const bool is_batch = sent->is(Kind::array) && !sent->items.empty();
  if (is_batch && sent->items.size() > batch_length_max) {
    RINGRPC_ASSERT(came && check_entry(*came, "null") == -31005, reply);
    return;
  }
  RINGRPC_ASSERT(!came || came->is(Kind::array) == is_batch, reply);
  std::size_t next = 0;
  const auto check_one = [&](const Value& value) {
    const Message message = judge(value);
    if (message.kind == Message::Kind::notification) return;
    RINGRPC_ASSERT(came && (!is_batch || next < came->items.size()), reply);
    const Value& entry = is_batch ? came->items[next] : *came;
    // An answer that was sent to us is nobody's request, whatever its id.
    const bool echoes = message.kind != Message::Kind::response && !message.id.empty();
    check_code(check_entry(entry, echoes ? message.id : "null"), message);
    ++next;
  };
  if (is_batch) {
    for (const Value& value : sent->items) check_one(value);
  } else {
    check_one(*sent);
  }
  const std::size_t entries = !came ? 0 : is_batch ? came->items.size() : 1;
  RINGRPC_ASSERT(next == entries, next, entries, reply);
}

Response check_response(std::string_view bytes, bool head_only) {
  static const std::set<int> statuses = {200, 204, 400, 403, 404, 405, 406, 413,
                                         414, 415, 417, 426, 431, 501, 503, 505};
  static const std::set<std::string_view> names = {
      "Content-Type", "Content-Length", "Connection", "X-Content-Type-Options",
      "Allow",        "Retry-After",    "Upgrade",    "Sec-WebSocket-Version"};
  Response response;
  const std::size_t end = bytes.find("\r\n\r\n");
  RINGRPC_ASSERT(bytes.starts_with("HTTP/1.1 ") && end != bytes.npos, bytes);
  response.status = std::atoi(std::string(bytes.substr(9, 3)).c_str());
  RINGRPC_ASSERT(statuses.contains(response.status) && bytes[12] == ' ', bytes);
  std::string_view fields = bytes.substr(0, end + 2);
  fields.remove_prefix(fields.find("\r\n") + 2);
  std::optional<std::size_t> length;
  while (!fields.empty()) {
    const std::string_view line = fields.substr(0, fields.find("\r\n"));
    fields.remove_prefix(line.size() + 2);
    const std::size_t colon = line.find(": ");
    RINGRPC_ASSERT(colon != line.npos && names.contains(line.substr(0, colon)), line);
    std::string value(line.substr(colon + 2));
    value.erase(0, value.find_first_not_of(' '));
    if (line.starts_with("Content-Type")) response.content_type = value;
    if (line.starts_with("Connection")) response.close = value == "close";
    if (line.starts_with("Content-Length")) length = std::strtoul(value.c_str(), nullptr, 10);
  }
  response.body = bytes.substr(end + 4);
  RINGRPC_ASSERT(length.has_value() == (response.status != 204), bytes);
  RINGRPC_ASSERT(response.body.size() == (head_only ? 0 : length.value_or(0)), bytes);
  return response;
}

}  // namespace ringrpc::fuzz
