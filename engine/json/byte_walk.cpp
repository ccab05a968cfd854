#include "engine/json/byte_walk.h"

#include <ringrpc/limits.h>

#include "engine/json/walk.h"

namespace ringrpc::json {

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

}  // namespace

char ByteWalk::peek() {
  skip_blanks();
  return at_end() ? '\0' : rest_[0];
}

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
      if (depth == limits::depth_max) return note_too_deep() != nullptr;
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

bool ByteWalk::take_value(Value& value) {
  skip_blanks();
  const char* const begin = rest_.data();
  value.first = entries_;
  if (!take_containers()) return false;
  value.end = entries_;
  value.token = {begin, static_cast<std::size_t>(rest_.data() - begin)};
  return true;
}

bool ByteWalk::take_text(std::string_view& raw) {
  skip_blanks();
  const char* const quote = rest_.data();
  if (!take_string()) return false;
  raw = {quote + 1, static_cast<std::size_t>(rest_.data() - quote) - 2};
  return true;
}

void Unescaped::take(std::string_view raw) {
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

void Unescaped::put(int byte) {
  if (size_ == capacity_) {
    overflow_ = true;
  } else {
    out_[size_++] = static_cast<char>(byte);
  }
}

void Unescaped::put_point(int point) {
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

}  // namespace ringrpc::json
