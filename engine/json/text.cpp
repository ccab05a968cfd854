#include "engine/json/text.h"

#include <array>
#include <bit>
#include <cstring>

#include "engine/base/assert.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ringrpc::json {

namespace {

constexpr std::uint8_t not_hex = 0xFF;

constexpr std::array<std::uint8_t, 256> hex_values = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::uint8_t& value : table) value = not_hex;
  for (std::uint8_t i = 0; i < 10; ++i) table[static_cast<std::size_t>('0') + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    table[static_cast<std::size_t>('a') + i] = static_cast<std::uint8_t>(10 + i);
    table[static_cast<std::size_t>('A') + i] = static_cast<std::uint8_t>(10 + i);
  }
  return table;
}();

// The byte that a one-letter escape stands for, 0 if there is no such escape.
constexpr std::array<char, 256> escape_values = [] {
  std::array<char, 256> table{};
  table['"'] = '"';
  table['\\'] = '\\';
  table['/'] = '/';
  table['b'] = '\b';
  table['f'] = '\f';
  table['n'] = '\n';
  table['r'] = '\r';
  table['t'] = '\t';
  return table;
}();

constexpr std::uint32_t no_unit = 0xFFFF'FFFF;

std::uint32_t hex_value(char c) { return hex_values[static_cast<unsigned char>(c)]; }

// Returns: the value of the four hex digits at `at`, or no_unit. Reads them all, into the padding
// if it must: a quote or bracket of the text stands before the padding, and it is no digit.
std::uint32_t hex4(const char* at) {
  const std::uint32_t a = hex_value(at[0]);
  const std::uint32_t b = hex_value(at[1]);
  const std::uint32_t c = hex_value(at[2]);
  const std::uint32_t d = hex_value(at[3]);
  if ((a | b | c | d) > 15) return no_unit;
  return a << 12 | b << 8 | c << 4 | d;
}

bool is_high_surrogate(std::uint32_t unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
bool is_low_surrogate(std::uint32_t unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

std::size_t write_utf8(std::uint32_t point, char* out) {
  if (point < 0x80) {
    out[0] = static_cast<char>(point);
    return 1;
  }
  if (point < 0x800) {
    out[0] = static_cast<char>(0xC0 | point >> 6);
    out[1] = static_cast<char>(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = static_cast<char>(0xE0 | point >> 12);
    out[1] = static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | point >> 18);
  out[1] = static_cast<char>(0x80 | (point >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (point >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (point & 0x3F));
  return 4;
}

}  // namespace

const char* find_backslash(const char* at, const char* end) {
#ifdef __SSE2__
  const __m128i backslashes = _mm_set1_epi8('\\');
  for (; at < end; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const auto found =
        static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, backslashes)));
    if (found != 0) {
      at += std::countr_zero(found);
      return at < end ? at : end;
    }
  }
  return end;
#else
  const void* const found =
      at < end ? std::memchr(at, '\\', static_cast<std::size_t>(end - at)) : nullptr;
  return found == nullptr ? end : static_cast<const char*>(found);
#endif
}

bool check_escapes(const char* at, const char* end) {
  while (at < end) {
    RINGRPC_DEBUG_ASSERT(*at == '\\');
    if (at[1] != 'u') {
      if (escape_values[static_cast<unsigned char>(at[1])] == 0) return false;
      at += 2;
    } else {
      const std::uint32_t unit = hex4(at + 2);
      if (unit == no_unit || is_low_surrogate(unit)) return false;
      at += 6;
      if (is_high_surrogate(unit)) {
        if (at[0] != '\\' || at[1] != 'u' || !is_low_surrogate(hex4(at + 2))) return false;
        at += 6;
      }
    }
    // Escapes come in groups: newlines before tabs, pairs of surrogates, words in other alphabets.
    if (at < end && *at != '\\') at = find_backslash(at, end);
  }
  return true;
}

std::size_t unescape(std::string_view raw, char* out, std::size_t capacity) {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  std::size_t size = 0;
  while (at < end) {
    char piece[4];
    std::size_t piece_size = 1;
    if (*at != '\\') {
      piece[0] = *at++;
    } else if (at[1] != 'u') {
      piece[0] = escape_values[static_cast<unsigned char>(at[1])];
      at += 2;
    } else {
      std::uint32_t point = hex4(at + 2);
      at += 6;
      if (is_high_surrogate(point)) {
        point = 0x10000 + ((point - 0xD800) << 10) + (hex4(at + 2) - 0xDC00);
        at += 6;
      }
      piece_size = write_utf8(point, piece);
    }
    if (size + piece_size > capacity) return SIZE_MAX;
    std::memcpy(out + size, piece, piece_size);
    size += piece_size;
  }
  RINGRPC_ASSERT(at == end);
  return size;
}

}  // namespace ringrpc::json
