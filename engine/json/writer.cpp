#include <ringrpc/json_writer.h>
#include <ringrpc/limits.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "engine/base/assert.h"
#include "engine/json/check.h"
#include "engine/json/escape.h"
#include "engine/json/utf8.h"

namespace ringrpc {
namespace {

constexpr std::size_t block = 16;

// Sixteen bytes of a string.
struct Block {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

template <typename Word>
std::uint64_t load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Returns: the first `size` bytes at `at`, and zeros. Reads no byte behind them: a user's string
// may end at the end of a page. Requires: 0 < size < 16.
Block load_tail(const char* at, std::size_t size) {
  const char* const end = at + size;
  if (size >= 8) {
    const std::uint64_t high = load<std::uint64_t>(end - 8);
    return {load<std::uint64_t>(at), size == 8 ? 0 : high >> (8 * (16 - size))};
  }
  if (size >= 4) {
    return {load<std::uint32_t>(at) | load<std::uint32_t>(end - 4) << (8 * (size - 4)), 0};
  }
  std::uint64_t low = load<unsigned char>(at);
  if (size >= 2) low |= load<unsigned char>(at + 1) << 8;
  if (size == 3) low |= load<unsigned char>(at + 2) << 16;
  return {low, 0};
}

// Returns: one bit for each byte that does not simply stand for itself: `"`, `\`, control
// characters, and everything that is not ASCII.
#ifdef __SSE2__
std::uint32_t special_bytes(const Block& of) {
  const __m128i bytes =
      _mm_set_epi64x(static_cast<long long>(of.high), static_cast<long long>(of.low));
  const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  // Signed: bytes from 0x80 on are below 0x20 too.
  const __m128i outside = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
  const __m128i any = _mm_or_si128(_mm_or_si128(quotes, backslashes), outside);
  return static_cast<std::uint32_t>(_mm_movemask_epi8(any));
}
#else
std::uint32_t special_bytes(const Block& of) {
  char bytes[block];
  std::memcpy(bytes, &of, block);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < block; ++i) {
    const bool special =
        bytes[i] == '"' || bytes[i] == '\\' || static_cast<signed char>(bytes[i]) < 0x20;
    bits |= static_cast<std::uint32_t>(special) << i;
  }
  return bits;
}
#endif

}  // namespace

bool JsonWriter::make_room(std::size_t need) {
  if (overflowed_) return false;
  if (grow_ != nullptr && grow_(owner_, *this, need)) {
    RINGRPC_ASSERT(static_cast<std::size_t>(end_ - cursor_) >= need, need);
    return true;
  }
  overflowed_ = true;
  end_ = cursor_;
  return false;
}

void JsonWriter::relocate(char* new_begin, char* new_end) {
  const std::size_t written = size();
  RINGRPC_ASSERT(static_cast<std::size_t>(new_end - new_begin) >= written, written);
  begin_ = new_begin;
  cursor_ = new_begin + written;
  end_ = new_end;
  limit_ = new_end;
}

void JsonWriter::rewind(std::size_t new_size) {
  RINGRPC_ASSERT(new_size <= size(), new_size, size());
  cursor_ = begin_ + new_size;
  end_ = limit_;
  overflowed_ = false;
  invalid_ = false;
  begin_value();
}

void JsonWriter::begin_value() {
  objects_ = 0;
  depth_ = 0;
  state_ = State::value;
}

void JsonWriter::separate() {
  if (state_ == State::value) [[likely]]
    return;
  if (state_ == State::element) {
    *cursor_++ = ',';
  } else {
    invalid_ = true;  // A value where a name is due, or behind the end.
  }
}

void JsonWriter::raw(std::string_view json) {
#ifdef RINGRPC_DEBUG_CHECKS
  if (!json::is_one_value(json)) return fail();
#endif
  literal(json);
}

void JsonWriter::literal(std::string_view text) {
  if (text.empty()) return fail();
  if (!fits(text.size() + 1)) return;
  separate();
  std::memcpy(cursor_, text.data(), text.size());
  cursor_ += text.size();
  finish_value();
}

void JsonWriter::open(char bracket, bool is_object) {
  if (!fits(2)) return;
  separate();
  if (depth_ == limits::depth_max) [[unlikely]] {
    invalid_ = true;
    return;
  }
  *cursor_++ = bracket;
  objects_ = objects_ << 1 | static_cast<std::uint64_t>(is_object);
  ++depth_;
  state_ = is_object ? State::name : State::value;
}

void JsonWriter::close(char bracket, bool is_object) {
  if (!fits(1)) return;
  const bool in_object = (objects_ & 1) != 0;
  const bool dangling = is_object && state_ == State::value;  // A name without a value.
  if (depth_ == 0 || in_object != is_object || dangling) [[unlikely]] {
    invalid_ = true;
    return;
  }
  *cursor_++ = bracket;
  objects_ >>= 1;
  --depth_;
  finish_value();
}

void JsonWriter::member(std::string_view name) {
  if (!fits(1)) return;
  if (state_ == State::next) {
    *cursor_++ = ',';
  } else if (state_ != State::name) {
    invalid_ = true;
  }
  if (!quoted(name) || !fits(1)) return;
  *cursor_++ = ':';
  state_ = State::value;
}

void JsonWriter::member_fragment(const char* fragment, std::size_t size) {
  constexpr std::size_t copied = 16;
  if (!fits(size < copied ? copied : size)) return;
  if (state_ == State::name) {
    ++fragment;  // No comma.
    --size;
  } else if (state_ != State::next) {
    invalid_ = true;
  }
  if (size <= copied) [[likely]] {
    std::memcpy(cursor_, fragment, copied);
  } else {
    std::memcpy(cursor_, fragment, size);
  }
  cursor_ += size;
  state_ = State::value;
}

template <class Number>
void JsonWriter::digits(Number value) {
  constexpr std::size_t size_max = 32;  // Of doubles 24, of 64-bit integers 20; and a comma.
  if (!fits(size_max)) return;
  separate();
  const auto [end, error] = std::to_chars(cursor_, end_, value);
  RINGRPC_ASSERT(error == std::errc());
  cursor_ = end;
  finish_value();
}

void JsonWriter::integer(std::int64_t value) {
  if (value < 0) return digits(value);
  unsigned_integer(static_cast<std::uint64_t>(value));
}

void JsonWriter::unsigned_integer(std::uint64_t value) {
  // PERF: one digit needs no division and no count of digits (bench/ladder: 50 instructions less).
  if (value > 9) return digits(value);
  if (!fits(2)) return;
  separate();
  *cursor_++ = static_cast<char>('0' + value);
  finish_value();
}

void JsonWriter::number(double value) {
  if (!std::isfinite(value)) [[unlikely]] {
    invalid_ = true;
    return null();
  }
  digits(value);
}

void JsonWriter::short_number(float value) {
  if (!std::isfinite(value)) [[unlikely]] {
    invalid_ = true;
    return null();
  }
  digits(value);
}

void JsonWriter::string(std::string_view value) {
  if (!fits(1)) return;
  separate();
  if (quoted(value)) finish_value();
}

// Whole blocks are copied before they are looked at, and what cannot stay is written over.
bool JsonWriter::quoted(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  // Room for both quotes, a text without escapes, and the last block's copy.
  if (!fits(text.size() + 2 + block)) return false;
  *cursor_++ = '"';
  while (at < end) {
    const auto left = static_cast<std::size_t>(end - at);
    const Block bytes = left >= block ? Block{load<std::uint64_t>(at), load<std::uint64_t>(at + 8)}
                                      : load_tail(at, left);
    std::memcpy(cursor_, &bytes, block);
    // A bit behind the last byte stops the count there.
    const std::uint32_t behind = left >= block ? 1u << block : 1u << left;
    const auto plain = static_cast<std::size_t>(std::countr_zero(special_bytes(bytes) | behind));
    cursor_ += plain;
    at += plain;
    if (plain < block && at < end && !quote_special(at, end)) return false;
  }
  *cursor_++ = '"';
  return true;
}

// Writes bytes that do not stand for themselves, up to the next that does, and keeps room for the
// rest of the text.
bool JsonWriter::quote_special(const char*& at, const char* end) {
  while (at < end) {
    const auto c = static_cast<unsigned char>(*at);
    const json::Escape* const escape = c < 0x80 ? &json::escapes[c] : nullptr;
    if (escape != nullptr && escape->size == 0) return true;
    const std::size_t taken = escape != nullptr ? 1 : json::sequence_size(at, end);
    if (taken == 0) [[unlikely]] {
      invalid_ = true;
      *cursor_++ = '?';  // The reply is thrown away.
      ++at;
      continue;
    }
    if (!fits(sizeof(json::Escape) + static_cast<std::size_t>(end - at) + 1 + block)) return false;
    if (escape != nullptr) {
      std::memcpy(cursor_, escape->text, sizeof(json::Escape));
      cursor_ += escape->size;
    } else {
      for (std::size_t i = 0; i < taken; ++i) *cursor_++ = at[i];
    }
    at += taken;
  }
  return true;
}

}  // namespace ringrpc
