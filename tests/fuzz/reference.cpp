#include "tests/fuzz/reference.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ringrpc::fuzz {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t point) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    add(point);
  } else if (point < 0x800) {
    add(0xC0 | point >> 6);
    add(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    add(0xE0 | point >> 12);
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  } else {
    add(0xF0 | point >> 18);
    add(0x80 | (point >> 12 & 0x3F));
    add(0x80 | (point >> 6 & 0x3F));
    add(0x80 | (point & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, int depth) : text_(text), depth_(depth) {}

  // `free` levels of brackets do not count: 1 for an object's own, 2 for an array and the objects
  // that are its elements.
  std::optional<Value> whole(bool is_message) {
    Value value;
    blanks();
    if (!(is_message ? message(value) : any(value, 0))) return std::nullopt;
    blanks();
    if (at_ != text_.size()) return std::nullopt;
    return value;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  void blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }

  // Brackets open around what is inside a message: none.
  bool message(Value& out) {
    if (peek() == '{') return object(out, 0);
    if (peek() == '[') return array(out, 0, true);
    return any(out, 0);
  }

  // `open` brackets are open around the value.
  bool any(Value& out, int open) {
    const std::size_t begin = at_;
    bool good = false;
    if (peek() == '{' || peek() == '[') {
      if (open == depth_) return false;
      good = peek() == '{' ? object(out, open + 1) : array(out, open + 1, false);
    } else if (peek() == '"') {
      out.kind = Value::Kind::string;
      std::string_view ignored;
      good = string(out.text, ignored);
    } else if (peek() == '-' || is_digit(peek())) {
      out.kind = Value::Kind::number;
      good = number();
    } else if (word("null")) {
      out.kind = Value::Kind::null;
      good = true;
    } else if (word("true") || word("false")) {
      out.kind = Value::Kind::boolean;
      good = true;
    }
    out.raw = text_.substr(begin, at_ - begin);
    return good;
  }

  bool word(std::string_view letters) {
    if (text_.substr(at_, letters.size()) != letters) return false;
    at_ += letters.size();
    return true;
  }

  // `inside` brackets are open, its own included.
  bool object(Value& out, int inside) {
    const std::size_t begin = at_;
    out.kind = Value::Kind::object;
    if (!take('{')) return false;
    blanks();
    if (!take('}')) {
      do {
        blanks();
        out.names.emplace_back();
        out.raw_names.emplace_back();
        if (!string(out.names.back(), out.raw_names.back())) return false;
        blanks();
        if (!take(':')) return false;
        blanks();
        if (!any(out.items.emplace_back(), inside)) return false;
        blanks();
      } while (take(','));
      if (!take('}')) return false;
    }
    out.raw = text_.substr(begin, at_ - begin);
    return true;
  }

  bool array(Value& out, int inside, bool is_batch) {
    const std::size_t begin = at_;
    out.kind = Value::Kind::array;
    if (!take('[')) return false;
    blanks();
    if (!take(']')) {
      do {
        blanks();
        Value& item = out.items.emplace_back();
        const bool is_message = is_batch && peek() == '{';
        if (!(is_message ? object(item, 0) : any(item, inside))) return false;
        blanks();
      } while (take(','));
      if (!take(']')) return false;
    }
    out.raw = text_.substr(begin, at_ - begin);
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return at_ != begin;
  }

  bool hex(std::uint32_t& unit) {
    unit = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t digit =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(std::tolower(static_cast<unsigned char>(peek()))));
      if (digit == std::string_view::npos || at_ == text_.size()) return false;
      unit = unit * 16 + static_cast<std::uint32_t>(digit);
      ++at_;
    }
    return true;
  }

  bool string(std::string& out, std::string_view& raw) {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    for (;;) {
      if (at_ == text_.size()) return false;
      const char c = text_[at_++];
      if (c == '"') break;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!escape(out)) {
        return false;
      }
    }
    raw = text_.substr(begin, at_ - 1 - begin);
    return true;
  }

  bool escape(std::string& out) {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t letter = at_ < text_.size() ? letters.find(peek()) : letters.npos;
    if (letter != letters.npos) {
      ++at_;
      out += meanings[letter];
      return true;
    }
    std::uint32_t unit = 0;
    if (!take('u') || !hex(unit)) return false;
    if (unit >= 0xDC00 && unit <= 0xDFFF) return false;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
      std::uint32_t low = 0;
      if (!take('\\') || !take('u') || !hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(out, unit);
    return true;
  }

  std::string_view text_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::uint32_t first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC0 || first > 0xF7) return false;
    std::uint32_t point = first & (0x3Fu >> more);
    for (int k = 0; k < more; ++k) {
      if (i == text.size()) return false;
      const std::uint32_t next = static_cast<unsigned char>(text[i++]);
      if (next < 0x80 || next > 0xBF) return false;
      point = point << 6 | (next & 0x3F);
    }
    constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
      return false;
    }
  }
  return true;
}

std::optional<Value> parse_value(std::string_view text, int depth) {
  if (!is_utf8(text)) return std::nullopt;
  return Parser(text, depth).whole(false);
}

std::optional<Value> parse_message(std::string_view text, int depth) {
  if (!is_utf8(text)) return std::nullopt;
  return Parser(text, depth).whole(true);
}

Integer integer_of(std::string_view token) {
  Integer integer;
  integer.negative = token.starts_with('-');
  if (integer.negative) token.remove_prefix(1);
  const std::size_t e = std::min(token.find('e'), token.find('E'));
  std::string digits;
  long long exponent = 0;
  if (e != std::string_view::npos) {
    const std::string text(token.substr(e + 1));
    exponent = std::strtoll(text.c_str(), nullptr, 10);  // saturates
    exponent = std::clamp(exponent, -1'000'000'000LL, 1'000'000'000LL);
  }
  bool behind_point = false;
  for (const char c : token.substr(0, e)) {
    if (c == '.') {
      behind_point = true;
      continue;
    }
    digits += c;
    if (behind_point) --exponent;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  while (digits.ends_with('0')) {
    digits.pop_back();
    ++exponent;
  }
  integer.is_whole = digits.empty() || exponent >= 0;
  if (!integer.is_whole) return integer;
  if (digits.empty()) {
    integer.fits = true;
    return integer;
  }
  if (static_cast<long long>(digits.size()) + exponent > 20) return integer;
  digits.append(static_cast<std::size_t>(exponent), '0');
  unsigned __int128 magnitude = 0;
  for (const char c : digits) magnitude = magnitude * 10 + static_cast<unsigned>(c - '0');
  integer.fits = magnitude <= ~std::uint64_t{0};
  integer.magnitude = static_cast<std::uint64_t>(magnitude);
  return integer;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view special = "\"\\\b\f\n\r\t";
    constexpr std::string_view letters = "\"\\bfnrt";
    const std::size_t at = special.find(c);
    if (at != special.npos) {
      out += '\\';
      out += letters[at];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace ringrpc::fuzz
