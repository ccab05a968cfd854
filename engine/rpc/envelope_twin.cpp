#include "engine/rpc/envelope_twin.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::rpc {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char closer_of(char open) { return open == '{' ? '}' : ']'; }

// Returns: the value of a hex digit, or -1.
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns: the unit that `\uXXXX` at the front of the text spells, or -1.
int escaped_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return -1;
  int unit = 0;
  for (std::size_t i = 2; i < 6; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

// Collects an unescaped string up to a capacity.
class Unescaped {
 public:
  Unescaped(char* out, std::size_t capacity) : out_(out), capacity_(capacity) {}

  // Requires: `raw` lies between two quotes and its escapes are valid.
  void take(std::string_view raw) {
    while (!raw.empty() && !overflow_) {
      if (raw[0] != '\\') {
        put(raw[0]);
        raw.remove_prefix(1);
      } else if (raw[1] != 'u') {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        put(meanings[letters.find(raw[1])]);
        raw.remove_prefix(2);
      } else {
        int point = escaped_unit(raw);
        raw.remove_prefix(6);
        if (point >= 0xD800 && point <= 0xDBFF) {
          point = 0x10000 + (point - 0xD800) * 0x400 + (escaped_unit(raw) - 0xDC00);
          raw.remove_prefix(6);
        }
        put_point(point);
      }
    }
  }

  [[nodiscard]] bool overflow() const { return overflow_; }
  [[nodiscard]] std::string_view text() const { return {out_, size_}; }

 private:
  void put(int byte) {
    if (size_ == capacity_) {
      overflow_ = true;
    } else {
      out_[size_++] = static_cast<char>(byte);
    }
  }

  void put_point(int point) {
    if (point < 0x80) return put(point);
    if (point < 0x800) {
      put(0xC0 + point / 64);
    } else if (point < 0x10000) {
      put(0xE0 + point / 4096);
      put(0x80 + point / 64 % 64);
    } else {
      put(0xF0 + point / 262144);
      put(0x80 + point / 4096 % 64);
      put(0x80 + point / 64 % 64);
    }
    put(0x80 + point % 64);
  }

  char* out_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool overflow_ = false;
};

// How often a member was given, and what the last one was.
struct Given {
  std::uint32_t times = 0;
  std::string_view token;
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

}  // namespace

// The text from the front to the end, counting the entries that the index has for what it passes.
class ByteWalk {
 public:
  ByteWalk(std::string_view text, const TwinRoom& room) : rest_(text), room_(room) {}

  ReadResult read();

 private:
  static constexpr ReadResult parse_error{ReadStatus::parse_error, 0};

  bool at_end() const { return rest_.empty(); }
  void skip_blanks();
  // One of `{ } [ ] : ,` behind white space.
  bool take(char punctuation);
  // What follows has no white space before it.
  bool take_string();
  bool take_escape();
  bool take_number();
  bool take_digits();
  bool take_word(std::string_view word);
  bool take_scalar();

  // White space, then a whole value. Fills in the token and the entries.
  bool take_value(Given& given);
  bool take_containers();
  bool take_name();
  bool take_message(Envelope& out);
  ReadResult read_batch();

  void conclude(const Given& version, const Given& id, const Given& method, const Given& params,
                bool answer, Envelope& out);
  bool set_id(const Given& id, Envelope& out) const;
  bool set_method(const Given& method, Envelope& out);

  std::string_view rest_;
  const TwinRoom& room_;
  std::uint32_t entries_ = 0;
  std::size_t methods_size_ = 0;
};

void ByteWalk::skip_blanks() {
  while (!at_end() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\n' || rest_[0] == '\r'))
    rest_.remove_prefix(1);
}

bool ByteWalk::take(char punctuation) {
  skip_blanks();
  if (at_end() || rest_[0] != punctuation) return false;
  rest_.remove_prefix(1);
  ++entries_;
  return true;
}

bool ByteWalk::take_string() {
  if (at_end() || rest_[0] != '"') return false;
  rest_.remove_prefix(1);
  ++entries_;
  while (!at_end()) {
    const unsigned char c = static_cast<unsigned char>(rest_[0]);
    if (c < 0x20) return false;
    if (c == '\\') {
      if (!take_escape()) return false;
      continue;
    }
    rest_.remove_prefix(1);
    if (c == '"') return true;
  }
  return false;
}

bool ByteWalk::take_escape() {
  if (rest_.size() < 2) return false;
  if (rest_[1] != 'u') {
    if (std::string_view("\"\\/bfnrt").find(rest_[1]) == std::string_view::npos) return false;
    rest_.remove_prefix(2);
    return true;
  }
  const int unit = escaped_unit(rest_);
  if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return false;
  rest_.remove_prefix(6);
  if (unit < 0xD800 || unit > 0xDBFF) return true;
  const int second = escaped_unit(rest_);
  if (second < 0xDC00 || second > 0xDFFF) return false;
  rest_.remove_prefix(6);
  return true;
}

bool ByteWalk::take_digits() {
  if (at_end() || !is_digit(rest_[0])) return false;
  while (!at_end() && is_digit(rest_[0])) rest_.remove_prefix(1);
  return true;
}

bool ByteWalk::take_number() {
  if (rest_[0] == '-') rest_.remove_prefix(1);
  if (!at_end() && rest_[0] == '0') {
    rest_.remove_prefix(1);
  } else if (!take_digits()) {
    return false;
  }
  if (!at_end() && rest_[0] == '.') {
    rest_.remove_prefix(1);
    if (!take_digits()) return false;
  }
  if (!at_end() && (rest_[0] == 'e' || rest_[0] == 'E')) {
    rest_.remove_prefix(1);
    if (!at_end() && (rest_[0] == '+' || rest_[0] == '-')) rest_.remove_prefix(1);
    if (!take_digits()) return false;
  }
  return true;
}

bool ByteWalk::take_word(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

bool ByteWalk::take_scalar() {
  if (at_end()) return false;
  if (rest_[0] == '"') return take_string();
  ++entries_;
  if (rest_[0] == '-' || is_digit(rest_[0])) return take_number();
  return take_word("true") || take_word("false") || take_word("null");
}

bool ByteWalk::take_name() {
  skip_blanks();
  return take_string() && take(':');
}

bool ByteWalk::take_containers() {
  char open[limits::depth_max];
  std::uint32_t depth = 0;
  do {
    // A value begins, or the container just opened is empty.
    skip_blanks();
    if (!at_end() && (rest_[0] == '{' || rest_[0] == '[')) {
      if (depth == limits::depth_max) return false;
      const char bracket = rest_[0];
      open[depth++] = bracket;
      take(bracket);
      skip_blanks();
      if (at_end()) return false;
      if (rest_[0] != closer_of(bracket)) {
        if (bracket == '{' && !take_name()) return false;
        continue;
      }
    } else if (!take_scalar()) {
      return false;
    }
    // A value has ended: close what closes here, then the next member or element.
    while (depth > 0 && take(closer_of(open[depth - 1]))) --depth;
    if (depth > 0) {
      if (!take(',')) return false;
      if (open[depth - 1] == '{' && !take_name()) return false;
    }
  } while (depth > 0);
  return true;
}

bool ByteWalk::take_value(Given& given) {
  skip_blanks();
  const char* const begin = rest_.data();
  given.first = entries_;
  if (!take_containers()) return false;
  given.end = entries_;
  given.token = {begin, static_cast<std::size_t>(rest_.data() - begin)};
  ++given.times;
  return true;
}

bool ByteWalk::take_message(Envelope& out) {
  Given version;
  Given id;
  Given method;
  Given params;
  Given others;
  bool answer = false;
  out.first = entries_;
  if (!take('{')) return false;
  if (!take('}')) {
    do {
      skip_blanks();
      const char* const quote = rest_.data();
      if (!take_string()) return false;
      char room[8];
      Unescaped name(room, sizeof(room));
      name.take({quote + 1, static_cast<std::size_t>(rest_.data() - quote) - 2});
      if (!take(':')) return false;
      Given* member = &others;
      if (!name.overflow()) {
        if (name.text() == "jsonrpc") member = &version;
        if (name.text() == "id") member = &id;
        if (name.text() == "method") member = &method;
        if (name.text() == "params") member = &params;
        if (name.text() == "result" || name.text() == "error") answer = true;
      }
      if (!take_value(*member)) return false;
    } while (take(','));
    if (!take('}')) return false;
  }
  out.end = entries_;
  conclude(version, id, method, params, answer, out);
  return true;
}

void ByteWalk::conclude(const Given& version, const Given& id, const Given& method,
                        const Given& params, bool answer, Envelope& out) {
  bool valid = set_id(id, out);
  if (!set_method(method, out)) valid = false;
  char room[4];
  Unescaped number(room, sizeof(room));
  if (version.times == 1 && version.token[0] == '"') {
    number.take(version.token.substr(1, version.token.size() - 2));
  }
  if (number.overflow() || number.text() != "2.0" || params.times > 1) valid = false;
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
  out.params_first = params.first;
  out.params_end = params.end;
  out.params = ParamsKind::other;
  if (params.token[0] == '{') out.params = ParamsKind::object;
  if (params.token[0] == '[') out.params = ParamsKind::array;
}

// Returns: false if the id makes the message invalid.
bool ByteWalk::set_id(const Given& id, Envelope& out) const {
  out.id = {};
  out.id_kind = IdKind::absent;
  if (id.times == 0) return true;
  const char first = id.token[0];
  IdKind kind = IdKind::invalid;
  if (first == '"') kind = IdKind::string;
  if (first == '-' || is_digit(first)) kind = IdKind::number;
  if (first == 'n') kind = IdKind::null;
  if (id.times > 1) kind = IdKind::invalid;
  if (kind != IdKind::invalid && id.token.size() > limits::id_size_max) kind = IdKind::too_long;
  out.id_kind = kind;
  if (kind == IdKind::invalid || kind == IdKind::too_long) return false;
  out.id = id.token;
  return true;
}

// Returns: false if the method makes the message invalid.
bool ByteWalk::set_method(const Given& method, Envelope& out) {
  out.method = {};
  out.method_too_long = false;
  if (method.times != 1 || method.token[0] != '"' || method.token == "\"\"") return false;
  const std::string_view raw = method.token.substr(1, method.token.size() - 2);
  if (raw.find('\\') == std::string_view::npos) {
    out.method_too_long = raw.size() > limits::method_size_max;
    if (!out.method_too_long) out.method = raw;
    return true;
  }
  const std::size_t start =
      std::min(methods_size_, room_.methods_capacity - limits::method_size_max);
  Unescaped name(room_.methods + start, limits::method_size_max);
  name.take(raw);
  out.method_too_long = name.overflow();
  if (!name.overflow()) {
    out.method = name.text();
    methods_size_ = start + name.text().size();
  }
  return true;
}

ReadResult ByteWalk::read_batch() {
  Envelope& first = room_.envelopes[0];
  if (!take('[')) return parse_error;
  std::uint32_t count = 0;
  if (!take(']')) {
    do {
      Envelope& out = room_.envelopes[std::min(count, room_.batch_length_max)];
      skip_blanks();
      if (!at_end() && rest_[0] == '{') {
        if (!take_message(out)) return parse_error;
      } else {
        Given element;
        if (!take_value(element)) return parse_error;
        out = {};
        out.kind = EnvelopeKind::invalid;
        out.first = element.first;
        out.end = element.end;
      }
      ++count;
    } while (take(','));
    if (!take(']')) return parse_error;
  }
  if (count > room_.batch_length_max) return {ReadStatus::batch_too_large, 0};
  if (count > 0) return {ReadStatus::batch, count};
  first = {};
  first.kind = EnvelopeKind::invalid;
  first.end = entries_;
  return {ReadStatus::single, 1};
}

ReadResult ByteWalk::read() {
  skip_blanks();
  if (at_end()) return parse_error;
  ReadResult result{ReadStatus::single, 1};
  if (rest_[0] == '[') {
    result = read_batch();
  } else if (rest_[0] == '{') {
    if (!take_message(room_.envelopes[0])) return parse_error;
  } else {
    if (!take_scalar()) return parse_error;
    room_.envelopes[0] = {};
    room_.envelopes[0].kind = EnvelopeKind::invalid;
    room_.envelopes[0].end = entries_;
  }
  skip_blanks();
  return at_end() ? result : parse_error;
}

ReadResult read_bytes(std::string_view text, const TwinRoom& room) {
  RINGRPC_ASSERT(room.methods_capacity >= limits::method_size_max);
  RINGRPC_ASSERT(room.batch_length_max > 0);
  return ByteWalk(text, room).read();
}

}  // namespace ringrpc::rpc
