// The vector parser: one 32-byte load finds both the end of a name and, mostly, the end of its
// line. It takes only lines that are plain, whole and good; everything else goes through
// head_lines.cpp, which alone refuses.

#include "engine/http/head.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <bit>

#include "engine/base/assert.h"
#include "engine/http/chars.h"

#define RINGRPC_AVX2 gnu::target("avx2,bmi,bmi2")

namespace ringrpc::http {

namespace {

constexpr std::ptrdiff_t width = 32;
static_assert(width <= std::ptrdiff_t{limits::padding}, "a load may start at the last byte");

// rows[low nibble] has bit h set when the byte with that low nibble and high nibble h is in the
// class; no byte from 0x80 on may be in it.
constexpr std::array<std::uint8_t, 32> rows_of(std::uint8_t classes) {
  std::array<std::uint8_t, 32> rows{};
  for (unsigned c = 0; c < 128; ++c) {
    if ((chars::table[c] & classes) == 0) continue;
    rows[c & 15] = static_cast<std::uint8_t>(rows[c & 15] | (1u << (c >> 4)));
    rows[(c & 15) + 16] = rows[c & 15];
  }
  return rows;
}
alignas(32) constexpr std::array<std::uint8_t, 32> token_rows = rows_of(chars::token);
alignas(32) constexpr std::array<std::uint8_t, 32> host_rows = rows_of(chars::host);
alignas(32) constexpr std::array<std::uint8_t, 32> high_bits = [] {
  std::array<std::uint8_t, 32> bits{};
  for (unsigned h = 0; h < 8; ++h) bits[h] = bits[h + 16] = static_cast<std::uint8_t>(1u << h);
  return bits;
}();

struct Line {
  const char* name;
  const char* value;
  std::uint32_t name_size;
  std::uint32_t value_size;
  const char* end;  // behind its CR LF
};

// PERF: put together as one word, since the compiler narrows each member by itself.
inline Field field_of(const Line& line, const Request& out) {
  const auto name_offset = static_cast<std::uint64_t>(line.name - out.base);
  const auto value_offset = static_cast<std::uint64_t>(line.value - out.base);
  return std::bit_cast<Field>(name_offset | std::uint64_t{line.name_size} << 16 |
                              value_offset << 32 | std::uint64_t{line.value_size} << 48);
}

[[RINGRPC_AVX2]] inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

[[RINGRPC_AVX2]] inline std::uint32_t mask_of(__m256i bytes) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

// Bytes that are not in the class of the rows. A byte from 0x80 on selects 0 in the first shuffle.
[[RINGRPC_AVX2]] inline std::uint32_t outside(__m256i bytes,
                                              const std::array<std::uint8_t, 32>& class_rows) {
  const __m256i rows = _mm256_shuffle_epi8(load(class_rows.data()), bytes);
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

// Bytes that are no target bytes; as signed bytes those from 0x80 on are below the space. Of the
// visible ones only '#' is none: a fragment is for the client alone.
[[RINGRPC_AVX2]] inline std::uint32_t other_than_target(__m256i bytes) {
  const __m256i visible = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x20));
  const __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
  const __m256i fragment = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('#'));
  return ~mask_of(_mm256_andnot_si256(_mm256_or_si256(del, fragment), visible));
}

template <typename Word>
inline Word read_word(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// `POST /... HTTP/1.1` and `GET /... HTTP/1.1`.
// Returns: the first field line, or nullptr for all others.
[[RINGRPC_AVX2]] inline const char* plain_request_line(const char* begin, const char* end,
                                                       Request& out) {
  constexpr std::string_view version = "HTTP/1.1\r\n";
  const std::uint64_t word = read_word<std::uint64_t>(begin);
  const char* target = begin;
  if ((word & 0xff'ffff'ffff) == literal("POST ")) {
    out.method = Method::post;
    target += 5;
  } else if ((word & 0xffff'ffff) == literal("GET ")) {
    out.method = Method::get;
    target += 4;
  } else {
    return nullptr;
  }
  if (*target != '/') return nullptr;

  const char* stop = target;
  const char* query = nullptr;
  while (true) {
    const __m256i bytes = load(stop);
    const std::uint32_t stops = other_than_target(bytes);
    const std::uint32_t marks = mask_of(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('?')));
    const std::uint32_t before = marks & _blsmsk_u32(stops);
    if (before != 0 && query == nullptr) query = stop + _tzcnt_u32(before);
    if (stops != 0) {
      stop += _tzcnt_u32(stops);
      break;
    }
    stop += width;
    if (stop >= end) return nullptr;
  }
  const char* const line_end = stop + 1 + version.size();
  const std::ptrdiff_t size = stop - target;
  if (line_end > end || size > std::ptrdiff_t{limits::target_size_max} || *stop != ' ' ||
      read_word<std::uint64_t>(stop + 1) != literal("HTTP/1.1") ||
      read_word<std::uint16_t>(stop + 9) != literal("\r\n")) {
    return nullptr;
  }
  out.version_minor = 1;
  out.target = span_of(out, {target, static_cast<std::size_t>(size)});
  out.path = out.target;
  if (query != nullptr) out.path.size = static_cast<std::uint16_t>(query - target);
  return line_end;
}

// Finds the parts of a whole line of value bytes with a name of at most 32.
// Returns: false for all others.
[[RINGRPC_AVX2]] inline bool plain_field_line(const char* name, const char* end, Line& line) {
  const __m256i bytes = load(name);
  const std::uint32_t name_size = _tzcnt_u32(outside(bytes, token_rows));  // 32: none is seen
  std::uint32_t stops = other_than_value(bytes);
  // What stops a value stops a name too, so no stop lies before the colon.
  if (name_size == 0 || name[name_size] != ':') return false;
  const char* stop = name;
  while (stops == 0) [[unlikely]] {
    stop += width;
    if (stop >= end) return false;
    stops = other_than_value(load(stop));
  }
  stop += _tzcnt_u32(stops);
  if (stop + 2 > end || read_word<std::uint16_t>(stop) != literal("\r\n")) return false;
  // A blank is the only value byte up to the space; before the value there is at least the colon.
  const char* value = name + name_size + 1;
  const char* value_end = stop;
  if (*value == ' ') ++value;
  while (is_blank(*value)) [[unlikely]]
    ++value;
  while (is_blank(value_end[-1]) && value_end > value) [[unlikely]]
    --value_end;
  line = {name, value, name_size, static_cast<std::uint32_t>(value_end - value), stop + 2};
  return true;
}

// Whether the value is a name or an IPv4 address with a port of at most four digits.
[[RINGRPC_AVX2]] inline bool is_plain_host(const char* value, std::uint32_t size) {
  const std::uint32_t host_size = _tzcnt_u32(outside(load(value), host_rows));
  if (host_size - 1 >= width - 1) return false;
  if (host_size >= size) return host_size == size;
  const std::uint32_t port_size = size - host_size - 1;
  if (value[host_size] != ':' || port_size - 1 >= 4) return false;
  // Four bytes that end with the port; those before it are replaced by digits.
  std::uint32_t digits = read_word<std::uint32_t>(value + size - 4);
  const std::uint32_t keep = ~std::uint32_t{0} << (8 * (4 - port_size));
  digits = (digits & keep) | (0x30303030 & ~keep);
  return (((digits + 0x46464646) | (digits - 0x30303030)) & 0x80808080) == 0;
}

// A length of at most eight digits.
inline bool read_short_length(const char* digits, std::uint32_t size, std::uint64_t& length) {
  if (size - 1 >= 8 || (digits[0] == '0' && size > 1)) return false;
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t digit = static_cast<std::uint32_t>(digits[i]) - '0';
    if (digit > 9) return false;
    value = value * 10 + digit;
  }
  length = value;
  return true;
}

// Does what a frequent field means, when it is plain and may come here.
// Returns: false, and has recorded nothing, for all others.
[[RINGRPC_AVX2]] inline bool apply_frequent(FieldKind kind, const Line& line, Field field,
                                            Request& out) {
  if (conflicts(kind, out)) return false;
  switch (kind) {
    case FieldKind::other:
      break;
    case FieldKind::host:
      if (!is_plain_host(line.value, line.value_size)) return false;
      record_host(field.value, out);
      break;
    case FieldKind::content_length:
      if (!read_short_length(line.value, line.value_size, out.content_length)) return false;
      record_content_length(field.value, out);
      break;
    case FieldKind::content_type:
      record_content_type(field.value, out);
      break;
    default:
      return false;
  }
  record_field(field, out);
  return true;
}

// Applies frequent lines from p on.
// Returns: the first line that is not, or the end of the head. When line.end is set, that line is
//          plain, but not frequent.
// PERF: a loop of its own without calls, so that the vector constants stay in registers.
[[RINGRPC_AVX2, gnu::always_inline]] inline const char* frequent_lines(const char* p,
                                                                       const char* end, Line& line,
                                                                       Request& out) {
  while (true) {
    line.end = nullptr;
    if (*p == '\r' || out.field_count == limits::head_fields_max ||
        !plain_field_line(p, end, line)) {
      return p;
    }
    const FieldKind kind = classify(line.name, line.name_size);
    if (!apply_frequent(kind, line, field_of(line, out), out)) return p;
    p = line.end;
  }
}

}  // namespace

[[RINGRPC_AVX2]] HeadResult parse_head_avx2(const char* begin, const char* end, Request& out) {
  RINGRPC_ASSERT(begin <= end);
  end = bounded_end(begin, end);
  start_head(begin, out);
  const char* p = plain_request_line(begin, end, out);
  Verdict verdict = Verdict::accepted;
  if (p == nullptr) [[unlikely]] {
    const char* cursor = begin;
    verdict = read_request_line(cursor, end, out);
    p = cursor;
  }
  while (verdict == Verdict::accepted) {
    Line line;
    p = frequent_lines(p, end, line, out);
    if (p == end) return result_of(Verdict::incomplete, begin, end);
    if (*p == '\r') return result_of(finish_head(p, end, out), begin, end);
    if (line.end != nullptr) {
      verdict = apply_field(classify(line.name, line.name_size), field_of(line, out), out);
      p = line.end;
    } else {
      const char* cursor = p;
      verdict = read_field_line(cursor, end, out);
      p = cursor;
    }
  }
  return result_of(verdict, begin, end);
}

}  // namespace ringrpc::http

#endif
