#include "tools/common/json_text.h"

#include <algorithm>
#include <cstdint>

namespace tools {

namespace {

constexpr std::size_t no_value = 0;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns: the number of digits that text begins with.
std::size_t digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) -
                                  text.begin());
}

std::size_t number_size(std::string_view text) {
  std::size_t size = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits(text.substr(size));
  if (whole == 0 || (whole > 1 && text[size] == '0')) return no_value;
  size += whole;
  if (size < text.size() && text[size] == '.') {
    const std::size_t fraction = digits(text.substr(size + 1));
    if (fraction == 0) return no_value;
    size += 1 + fraction;
  }
  if (size < text.size() && (text[size] == 'e' || text[size] == 'E')) {
    ++size;
    if (size < text.size() && (text[size] == '-' || text[size] == '+')) ++size;
    const std::size_t exponent = digits(text.substr(size));
    if (exponent == 0) return no_value;
    size += exponent;
  }
  return size;
}

// Returns: false when text does not begin with four hexadecimal digits.
bool read_hex4(std::string_view text, std::uint32_t& value) {
  if (text.size() < 4) return false;
  value = 0;
  for (const char c : text.substr(0, 4)) {
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
    } else {
      return false;
    }
    value = value * 16 + digit;
  }
  return true;
}

// Of an escape, backslash included; a pair of surrogates is one.
std::size_t escape_size(std::string_view text) {
  if (text.size() < 2) return no_value;
  if (std::string_view("\"\\/bfnrt").find(text[1]) != std::string_view::npos) return 2;
  std::uint32_t high = 0;
  if (text[1] != 'u' || !read_hex4(text.substr(2), high)) return no_value;
  if (high < 0xD800 || high > 0xDFFF) return 6;
  std::uint32_t low = 0;
  const bool pair = high < 0xDC00 && text.substr(6).starts_with("\\u") &&
                    read_hex4(text.substr(8), low) && low >= 0xDC00 && low <= 0xDFFF;
  return pair ? 12 : no_value;
}

// Of one character of two to four bytes (RFC 3629, section 4).
std::size_t utf8_size(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [byte](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned lead = byte(0);
  const unsigned next = byte(1);
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : no_value;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool short_form = lead == 0xE0 && next < 0xA0;
    const bool surrogate = lead == 0xED && next > 0x9F;
    return tail(1) && tail(2) && !short_form && !surrogate ? 3 : no_value;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool short_form = lead == 0xF0 && next < 0x90;
    const bool beyond = lead == 0xF4 && next > 0x8F;
    return tail(1) && tail(2) && tail(3) && !short_form && !beyond ? 4 : no_value;
  }
  return no_value;
}

std::size_t string_size(std::string_view text) {
  std::size_t i = 1;
  while (i < text.size()) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"') return i + 1;
    std::size_t size = 1;
    if (c == '\\') {
      size = escape_size(text.substr(i));
    } else if (c >= 0x80) {
      size = utf8_size(text.substr(i));
    } else if (c < 0x20) {
      size = no_value;
    }
    if (size == no_value) return no_value;
    i += size;
  }
  return no_value;
}

std::size_t scalar_size(std::string_view text) {
  if (text.starts_with('"')) return string_size(text);
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text.starts_with(word)) return word.size();
  }
  return number_size(text);
}

// Walks one value without recursion: what is open is kept in a string of brackets.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::size_t run() {
    do {
      if (!value()) return no_value;
      while (!open_.empty() && !wants_value_) {
        if (!after_value()) return no_value;
      }
    } while (!open_.empty());
    return position_;
  }

 private:
  [[nodiscard]] char here() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  void blanks() {
    while (is_blank(here())) ++position_;
  }

  bool key() {
    blanks();
    if (here() != '"') return false;
    const std::size_t size = string_size(text_.substr(position_));
    if (size == no_value) return false;
    position_ += size;
    blanks();
    if (here() != ':') return false;
    ++position_;
    blanks();
    return true;
  }

  // A whole scalar or an empty container leaves wants_value_ false; an open one leaves it true.
  bool value() {
    wants_value_ = false;
    const char c = here();
    if (c != '{' && c != '[') {
      const std::size_t size = scalar_size(text_.substr(position_));
      position_ += size;
      return size != no_value;
    }
    ++position_;
    blanks();
    if (here() == (c == '{' ? '}' : ']')) {
      ++position_;
      return true;
    }
    if (open_.size() == json_depth_max) return false;
    open_ += c;
    wants_value_ = true;
    return c == '[' || key();
  }

  bool after_value() {
    blanks();
    const char c = here();
    ++position_;
    if (c == ',') {
      wants_value_ = true;
      blanks();
      return open_.back() == '[' || key();
    }
    if (c != (open_.back() == '{' ? '}' : ']')) return false;
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::string open_;
  bool wants_value_ = false;
};

}  // namespace

std::string_view skip_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::size_t json_value_size(std::string_view text) { return Walk(text).run(); }

bool is_json(std::string_view text) {
  text = skip_blanks(text);
  const std::size_t size = json_value_size(text);
  return size != no_value && skip_blanks(text.substr(size)).empty();
}

std::string compact(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string && is_blank(c)) continue;
    out += c;
    if (c == '"') in_string = !in_string;
    if (c == '\\' && in_string) out += text[++i];
  }
  return out;
}

std::string quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

bool split_object(std::string_view text, std::vector<Member>& members) {
  members.clear();
  text = skip_blanks(text);
  if (!text.starts_with('{') || !is_json(text)) return false;
  text = skip_blanks(text.substr(1));
  while (text.front() != '}') {
    if (text.front() == ',') text = skip_blanks(text.substr(1));
    const std::size_t name_size = string_size(text);
    const std::string_view name = text.substr(1, name_size - 2);
    text = skip_blanks(skip_blanks(text.substr(name_size)).substr(1));
    const std::size_t size = json_value_size(text);
    members.push_back({name, text.substr(0, size)});
    text = skip_blanks(text.substr(size));
  }
  return true;
}

bool split_array(std::string_view text, std::vector<std::string_view>& elements) {
  elements.clear();
  text = skip_blanks(text);
  if (!text.starts_with('[') || !is_json(text)) return false;
  text = skip_blanks(text.substr(1));
  while (text.front() != ']') {
    if (text.front() == ',') text = skip_blanks(text.substr(1));
    const std::size_t size = json_value_size(text);
    elements.push_back(text.substr(0, size));
    text = skip_blanks(text.substr(size));
  }
  return true;
}

std::string_view find_member(const std::vector<Member>& members, std::string_view name) {
  for (const Member& member : members) {
    if (member.name == name) return member.value;
  }
  return {};
}

}  // namespace tools
