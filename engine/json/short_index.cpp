#include "engine/json/short_index.h"

#ifdef __x86_64__

#include <immintrin.h>

#include <bit>

#define RINGRPC_SHORT_TARGET __attribute__((target("avx2,bmi,pclmul")))

namespace ringrpc::json {
namespace {

constexpr std::uint32_t block_size = 64;

// One bit for each byte of a block.
struct Masks {
  std::uint64_t quotes;
  std::uint64_t brackets;  // and colons and commas
  std::uint64_t blanks;
  std::uint64_t odd;  // bytes that make the text somebody else's
};

RINGRPC_SHORT_TARGET inline std::uint64_t bits(__m256i low, __m256i high) {
  const std::uint32_t first = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
  const std::uint32_t second = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
  return first | std::uint64_t{second} << 32;
}

RINGRPC_SHORT_TARGET inline __m256i is(__m256i bytes, char c) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

RINGRPC_SHORT_TARGET inline __m256i is_bracket(__m256i bytes) {
  // '[' and '{', and ']' and '}', differ in one bit each.
  const __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
  const __m256i pair = _mm256_or_si256(is(folded, '{'), is(folded, '}'));
  return _mm256_or_si256(pair, _mm256_or_si256(is(bytes, ':'), is(bytes, ',')));
}

// Control characters, bytes from 0x7F on (negative as signed ones), and backslashes.
RINGRPC_SHORT_TARGET inline __m256i is_odd(__m256i bytes) {
  const __m256i plain = _mm256_and_si256(_mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(0x1F)),
                                         _mm256_cmpgt_epi8(_mm256_set1_epi8(0x7F), bytes));
  return _mm256_or_si256(_mm256_xor_si256(plain, _mm256_set1_epi8(-1)), is(bytes, '\\'));
}

RINGRPC_SHORT_TARGET inline Masks masks_of(const char* block) {
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  return {.quotes = bits(is(low, '"'), is(high, '"')),
          .brackets = bits(is_bracket(low), is_bracket(high)),
          .blanks = bits(is(low, ' '), is(high, ' ')),
          .odd = bits(is_odd(low), is_odd(high))};
}

// Returns: each bit the parity of the bits up to it: inside a string, its opening quote included.
RINGRPC_SHORT_TARGET inline std::uint64_t parity(std::uint64_t quotes) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(quotes)), _mm_set1_epi8(-1), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

// Writes eight positions at a time, the last few too many: the next block overwrites them.
RINGRPC_SHORT_TARGET inline std::uint32_t* write_positions(std::uint64_t starts, std::uint32_t base,
                                                           std::uint32_t* out) {
  std::uint32_t* const end = out + std::popcount(starts);
  while (out < end) {
    for (int i = 0; i < 8; ++i) {
      // With no bit left the count is 64, which is written behind the end and means nothing.
      out[i] = base + static_cast<std::uint32_t>(_tzcnt_u64(starts));
      starts = _blsr_u64(starts);
    }
    out += 8;
  }
  return end;
}

}  // namespace

bool has_short_kernel() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("pclmul");
}

RINGRPC_SHORT_TARGET std::uint32_t build_short(const char* text, std::uint32_t size,
                                               std::uint32_t* positions) {
  std::uint32_t* out = positions;
  std::uint64_t in_string = 0;     // all ones when the last block ended inside a string
  std::uint64_t after_scalar = 0;  // 1 when the last byte was of a number or literal
  for (std::uint32_t base = 0; base < size; base += block_size) {
    Masks masks = masks_of(text + base);
    const std::uint32_t left = size - base;
    const std::uint64_t mine =
        left >= block_size ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    if ((masks.odd & mine) != 0) [[unlikely]]
      return 0;
    const std::uint64_t quotes = masks.quotes & mine;
    const std::uint64_t inside = parity(quotes) ^ in_string;
    in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(inside) >> 63);
    // A token begins at a bracket, at a quote, and where a number or literal does; nothing begins
    // inside a string or at its closing quote.
    const std::uint64_t scalars = ~(masks.brackets | masks.blanks);
    const std::uint64_t words = scalars & ~quotes;
    const std::uint64_t begins = scalars & ~(words << 1 | after_scalar);
    after_scalar = words >> 63;
    const std::uint64_t starts = (masks.brackets | begins) & ~(inside ^ quotes) & mine;
    out = write_positions(starts, base, out);
  }
  // An odd number of quotes leaves the last string open; the bytes behind the text are not quotes.
  if (in_string != 0) [[unlikely]]
    return 0;
  return static_cast<std::uint32_t>(out - positions);
}

}  // namespace ringrpc::json

#else

namespace ringrpc::json {

bool has_short_kernel() { return false; }
std::uint32_t build_short(const char*, std::uint32_t, std::uint32_t*) { return 0; }

}  // namespace ringrpc::json

#endif
