#include "engine/rpc/envelope_twin.h"

#include <ringrpc/limits.h>

#include <algorithm>

#include "engine/base/assert.h"
#include "engine/json/byte_walk.h"

namespace ringrpc::rpc {

namespace {

constexpr ReadResult parse_error{ReadStatus::parse_error, 0};

// How often a member was given, and what the last one was.
struct Given {
  std::uint32_t times = 0;
  json::ByteWalk::Value value;

  [[nodiscard]] char first() const { return value.token[0]; }
  // Requires: the token is a string. Returns: what stands between its quotes.
  [[nodiscard]] std::string_view raw() const {
    return value.token.substr(1, value.token.size() - 2);
  }
};

void set_invalid(Envelope& out, std::uint32_t first, std::uint32_t end) {
  out = {};
  out.kind = EnvelopeKind::invalid;
  out.first = first;
  out.end = end;
}

class TwinReader {
 public:
  TwinReader(std::string_view text, const TwinRoom& room) : walk_(text), room_(room) {}

  ReadResult read();

 private:
  ReadResult read_batch();
  bool take_message(Envelope& out);
  void conclude(const Given& version, const Given& id, const Given& method, const Given& params,
                bool answer, Envelope& out);
  bool set_method(const Given& method, Envelope& out);

  json::ByteWalk walk_;
  const TwinRoom& room_;
  std::size_t methods_size_ = 0;
};

bool TwinReader::take_message(Envelope& out) {
  Given version;
  Given id;
  Given method;
  Given params;
  Given others;
  bool answer = false;
  out.first = walk_.entries();
  if (!walk_.take('{')) return false;
  if (!walk_.take('}')) {
    do {
      std::string_view raw;
      if (!walk_.take_text(raw) || !walk_.take(':')) return false;
      char room[8];
      json::Unescaped name(room, sizeof(room));
      name.take(raw);
      Given* member = &others;
      if (!name.overflow()) {
        if (name.text() == "jsonrpc") member = &version;
        if (name.text() == "id") member = &id;
        if (name.text() == "method") member = &method;
        if (name.text() == "params") member = &params;
        if (name.text() == "result" || name.text() == "error") answer = true;
      }
      if (!walk_.take_value(member->value)) return false;
      ++member->times;
    } while (walk_.take(','));
    if (!walk_.take('}')) return false;
  }
  out.end = walk_.entries();
  conclude(version, id, method, params, answer, out);
  return true;
}

bool is_version(const Given& version) {
  if (version.times != 1 || version.first() != '"') return false;
  char room[3];
  json::Unescaped number(room, sizeof(room));
  number.take(version.raw());
  return !number.overflow() && number.text() == "2.0";
}

// Returns: false if the id makes the message invalid.
bool set_id(const Given& id, Envelope& out) {
  out.id = {};
  out.id_kind = IdKind::absent;
  if (id.times == 0) return true;
  const char first = id.first();
  IdKind kind = IdKind::invalid;
  if (first == '"') kind = IdKind::string;
  if (first == '-' || (first >= '0' && first <= '9')) kind = IdKind::number;
  if (first == 'n') kind = IdKind::null;
  if (id.times > 1) kind = IdKind::invalid;
  if (kind != IdKind::invalid && id.value.token.size() > limits::id_size_max) {
    kind = IdKind::too_long;
  }
  out.id_kind = kind;
  if (kind == IdKind::invalid || kind == IdKind::too_long) return false;
  out.id = id.value.token;
  return true;
}

// Returns: false if the method makes the message invalid.
bool TwinReader::set_method(const Given& method, Envelope& out) {
  out.method = {};
  out.method_too_long = false;
  if (method.times != 1 || method.first() != '"' || method.raw().empty()) return false;
  const std::string_view raw = method.raw();
  if (raw.find('\\') == std::string_view::npos) {
    out.method_too_long = raw.size() > limits::method_size_max;
    if (!out.method_too_long) out.method = raw;
    return true;
  }
  const std::size_t start =
      std::min(methods_size_, room_.methods_capacity - limits::method_size_max);
  json::Unescaped name(room_.methods + start, limits::method_size_max);
  name.take(raw);
  out.method_too_long = name.overflow();
  if (name.overflow()) return true;
  out.method = name.text();
  methods_size_ = start + name.text().size();
  return true;
}

void TwinReader::conclude(const Given& version, const Given& id, const Given& method,
                          const Given& params, bool answer, Envelope& out) {
  bool valid = is_version(version) && params.times <= 1;
  if (!set_id(id, out)) valid = false;
  if (!set_method(method, out)) valid = false;
  out.params = ParamsKind::absent;
  out.params_first = 0;
  out.params_end = 0;
  if (!valid) {
    out.kind = answer && method.times == 0 ? EnvelopeKind::response : EnvelopeKind::invalid;
    out.method = {};
    out.method_too_long = false;
    return;
  }
  out.kind = id.times == 0 ? EnvelopeKind::notification : EnvelopeKind::call;
  if (params.times == 0) return;
  out.params_first = params.value.first;
  out.params_end = params.value.end;
  out.params = ParamsKind::other;
  if (params.first() == '{') out.params = ParamsKind::object;
  if (params.first() == '[') out.params = ParamsKind::array;
}

ReadResult TwinReader::read_batch() {
  if (!walk_.take('[')) return parse_error;
  std::uint32_t count = 0;
  if (!walk_.take(']')) {
    do {
      Envelope& out = room_.envelopes[std::min(count, room_.batch_length_max)];
      if (walk_.peek() == '{') {
        if (!take_message(out)) return parse_error;
      } else {
        json::ByteWalk::Value element;
        if (!walk_.take_value(element)) return parse_error;
        set_invalid(out, element.first, element.end);
      }
      ++count;
    } while (walk_.take(','));
    if (!walk_.take(']')) return parse_error;
  }
  if (count > room_.batch_length_max) return {ReadStatus::batch_too_large, 0};
  if (count > 0) return {ReadStatus::batch, count};
  set_invalid(room_.envelopes[0], 0, walk_.entries());
  return {ReadStatus::single, 1};
}

ReadResult TwinReader::read() {
  ReadResult result{ReadStatus::single, 1};
  const char first = walk_.peek();
  if (first == '[') {
    result = read_batch();
  } else if (first == '{') {
    if (!take_message(room_.envelopes[0])) return parse_error;
  } else {
    json::ByteWalk::Value scalar;
    if (!walk_.take_value(scalar)) return parse_error;
    set_invalid(room_.envelopes[0], scalar.first, scalar.end);
  }
  walk_.peek();
  return walk_.at_end() ? result : parse_error;
}

}  // namespace

ReadResult read_bytes(std::string_view text, const TwinRoom& room) {
  RINGRPC_ASSERT(room.methods_capacity >= limits::method_size_max);
  RINGRPC_ASSERT(room.batch_length_max > 0);
  return TwinReader(text, room).read();
}

}  // namespace ringrpc::rpc
