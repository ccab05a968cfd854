// The vector parser: one 32-byte load finds both the end of a name and, mostly, the end of its
// line. It takes only lines that are plain, whole and good; everything else goes through
// head_lines.cpp, which alone refuses.

#include "engine/http/head.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>

#include "engine/base/assert.h"
#include "engine/http/chars.h"

#define RINGRPC_AVX2 gnu::target("avx2,bmi,bmi2")

namespace ringrpc::http {

namespace {

constexpr std::ptrdiff_t width = 32;
static_assert(width <= std::ptrdiff_t{limits::padding}, "a load may start at the last byte");

// token_rows[low nibble] has bit h set when the byte with that low nibble and high nibble h is a
// token byte; high nibbles from 8 have none.
constexpr std::array<std::uint8_t, 32> token_rows = [] {
  std::array<std::uint8_t, 32> rows{};
  for (unsigned c = 0; c < 128; ++c) {
    if ((chars::table[c] & chars::token) == 0) continue;
    rows[c & 15] = static_cast<std::uint8_t>(rows[c & 15] | (1u << (c >> 4)));
    rows[(c & 15) + 16] = rows[c & 15];
  }
  return rows;
}();
constexpr std::array<std::uint8_t, 32> high_bits = [] {
  std::array<std::uint8_t, 32> bits{};
  for (unsigned h = 0; h < 8; ++h) bits[h] = bits[h + 16] = static_cast<std::uint8_t>(1u << h);
  return bits;
}();

[[RINGRPC_AVX2]] inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

[[RINGRPC_AVX2]] inline std::uint32_t mask_of(__m256i bytes) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

// Bytes that are no token bytes. A byte from 0x80 on selects 0 in the first shuffle.
[[RINGRPC_AVX2]] inline std::uint32_t other_than_token(__m256i bytes) {
  const __m256i rows = _mm256_shuffle_epi8(load(token_rows.data()), bytes);
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
  const __m256i column = _mm256_shuffle_epi8(load(high_bits.data()), high);
  return mask_of(_mm256_cmpeq_epi8(_mm256_and_si256(rows, column), _mm256_setzero_si256()));
}

// Bytes that are no value bytes: controls but HTAB, and DEL.
[[RINGRPC_AVX2]] inline std::uint32_t other_than_value(__m256i bytes) {
  const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
  const __m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
  const __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
  return mask_of(_mm256_or_si256(_mm256_andnot_si256(tab, low), del));
}

// Bytes that are no target bytes; as signed bytes those from 0x80 on are below the space.
[[RINGRPC_AVX2]] inline std::uint32_t other_than_target(__m256i bytes) {
  const __m256i visible = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x20));
  const __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
  return ~mask_of(_mm256_andnot_si256(del, visible));
}

template <typename Word>
inline Word read_word(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// `POST /... HTTP/1.1` and `GET /... HTTP/1.1`.
[[RINGRPC_AVX2]] inline Verdict request_line(const char*& cursor, const char* end, Request& out) {
  constexpr std::string_view version = "HTTP/1.1\r\n";
  const std::uint64_t word = read_word<std::uint64_t>(cursor);
  const char* target = cursor;
  if ((word & 0xff'ffff'ffff) == literal("POST ")) {
    out.method = Method::post;
    target += 5;
  } else if ((word & 0xffff'ffff) == literal("GET ")) {
    out.method = Method::get;
    target += 4;
  }
  if (*target != '/' || target == cursor) return read_request_line(cursor, end, out);

  const char* stop = target;
  const char* query = nullptr;
  while (true) {
    const __m256i bytes = load(stop);
    const std::uint32_t stops = other_than_target(bytes);
    const std::uint32_t marks = mask_of(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('?')));
    const std::uint32_t before = marks & (_blsmsk_u32(stops));
    if (query == nullptr && before != 0) query = stop + _tzcnt_u32(before);
    if (stops != 0) {
      stop += _tzcnt_u32(stops);
      break;
    }
    stop += width;
    if (stop >= end) return read_request_line(cursor, end, out);
  }
  const char* const line_end = stop + 1 + version.size();
  if (line_end > end || stop - target > std::ptrdiff_t{limits::target_size_max} || *stop != ' ' ||
      read_word<std::uint64_t>(stop + 1) != literal("HTTP/1.1") ||
      read_word<std::uint16_t>(stop + 9) != literal("\r\n")) {
    return read_request_line(cursor, end, out);
  }
  out.version_minor = 1;
  out.target = span_of(out, {target, static_cast<std::size_t>(stop - target)});
  out.path = out.target;
  if (query != nullptr) out.path.size = static_cast<std::uint16_t>(query - target);
  cursor = line_end;
  return Verdict::accepted;
}

[[RINGRPC_AVX2]] inline Verdict field_line(const char*& cursor, const char* end, Request& out) {
  const char* const name = cursor;
  const __m256i bytes = load(name);
  const std::uint32_t name_size = _tzcnt_u32(other_than_token(bytes));  // 32 when there is none
  std::uint32_t stops = other_than_value(bytes);
  // What stops a value stops a name too, so no stop lies before the colon.
  if (name_size - 1 >= width - 1 || name[name_size] != ':' ||
      out.field_count == limits::head_fields_max) {
    return read_field_line(cursor, end, out);
  }
  const char* stop = name;
  while (stops == 0) {
    stop += width;
    if (stop >= end) return read_field_line(cursor, end, out);
    stops = other_than_value(load(stop));
  }
  stop += _tzcnt_u32(stops);
  if (end - stop < 2 || read_word<std::uint16_t>(stop) != literal("\r\n")) {
    return read_field_line(cursor, end, out);
  }
  const char* value = name + name_size + 1;
  const char* value_end = stop;
  while (is_blank(*value)) ++value;
  while (value_end > value && is_blank(value_end[-1])) --value_end;
  cursor = stop + 2;
  return apply_field(classify(name, name_size), {name, name_size},
                     {value, static_cast<std::size_t>(value_end - value)}, out);
}

}  // namespace

[[RINGRPC_AVX2]] HeadResult parse_head_avx2(const char* begin, const char* end, Request& out) {
  RINGRPC_ASSERT(begin <= end);
  end = bounded_end(begin, end);
  start_head(begin, out);
  const char* p = begin;
  Verdict verdict = request_line(p, end, out);
  while (verdict == Verdict::accepted) {
    if (p == end) return result_of(Verdict::incomplete, begin, end);
    if (*p == '\r') return result_of(finish_head(p, end, out), begin, end);
    verdict = field_line(p, end, out);
  }
  return result_of(verdict, begin, end);
}

}  // namespace ringrpc::http

#endif
