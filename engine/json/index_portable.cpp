// The index without simdjson: one byte at a time, for machines where simdjson has no vector code,
// and as the partner of stage 1 in the differential tests.

#include "engine/base/assert.h"
#include "engine/json/index.h"

namespace ringrpc::json {

namespace {

// Returns: bytes of the UTF-8 sequence at `at`, or 0 if it is none (Unicode 15, table 3-7).
std::uint32_t utf8_sequence(const unsigned char* at, const unsigned char* end) {
  const unsigned char lead = at[0];
  std::uint32_t size = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;   // shorter spellings exist
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
  } else {
    return 0;
  }
  if (end - at < static_cast<std::ptrdiff_t>(size)) return 0;
  if (at[1] < low || at[1] > high) return 0;
  for (std::uint32_t i = 2; i < size; ++i) {
    if (at[i] < 0x80 || at[i] > 0xBF) return 0;
  }
  return size;
}

bool is_punctuation(unsigned char c) {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',';
}

bool is_blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Returns: one past the closing quote of the string whose first byte is at `at`, or nullptr.
// A backslash hides the byte behind it; whether the escape is a known one is checked later.
const unsigned char* skip_string(const unsigned char* at, const unsigned char* end) {
  while (at < end) {
    if (*at == '"') return at + 1;
    if (*at < 0x20) return nullptr;
    if (*at == '\\' && ++at == end) return nullptr;
    const std::uint32_t size = *at < 0x20 ? 0 : utf8_sequence(at, end);
    if (size == 0) return nullptr;
    at += size;
  }
  return nullptr;
}

}  // namespace

bool Index::build_portable(const char* text, std::uint32_t size) {
  RINGRPC_ASSERT(size <= text_size_max_, size, text_size_max_);
  text_ = text;
  size_ = size;
  count_ = 0;
  const unsigned char* const begin = reinterpret_cast<const unsigned char*>(text);
  const unsigned char* const end = begin + size;
  std::uint32_t count = 0;
  bool in_scalar = false;
  for (const unsigned char* at = begin; at < end;) {
    const std::uint32_t position = static_cast<std::uint32_t>(at - begin);
    if (is_blank(*at)) {
      in_scalar = false;
      ++at;
    } else if (is_punctuation(*at)) {
      positions_[count++] = position;
      in_scalar = false;
      ++at;
    } else if (*at == '"') {
      positions_[count++] = position;
      in_scalar = false;
      at = skip_string(at + 1, end);
      if (at == nullptr) return false;
    } else {
      if (!in_scalar) positions_[count++] = position;
      in_scalar = true;
      const std::uint32_t step = utf8_sequence(at, end);
      if (step == 0) return false;
      at += step;
    }
  }
  if (count == 0) return false;
  positions_[count] = size;
  positions_[count + 1] = size;
  count_ = count;
  first_backslash_ = 0;
  while (first_backslash_ < size && text[first_backslash_] != '\\') ++first_backslash_;
  return true;
}

}  // namespace ringrpc::json
