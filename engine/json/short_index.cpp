#include "engine/json/short_index.h"

#ifdef __x86_64__

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>

#define RINGRPC_SHORT_TARGET __attribute__((target("avx2,bmi,pclmul")))
#define RINGRPC_SHORT_512_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi,pclmul")))

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

// Where tokens begin in a block, and what the next block has to know.
struct Scan {
  std::uint64_t in_string = 0;     // all ones when the last block ended inside a string
  std::uint64_t after_scalar = 0;  // 1 when the last byte was of a number or literal

  // Requires: no bit of the masks' quotes lies outside of `mine`, the bytes that are the text's.
  // A token begins at a bracket, at a quote, and where a number or literal does; nothing begins
  // inside a string or at its closing quote.
  RINGRPC_SHORT_TARGET std::uint64_t starts(const Masks& masks, std::uint64_t mine) {
    const std::uint64_t inside = parity(masks.quotes) ^ in_string;
    in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(inside) >> 63);
    const std::uint64_t scalars = ~(masks.brackets | masks.blanks);
    const std::uint64_t words = scalars & ~masks.quotes;
    const std::uint64_t begins = scalars & ~(words << 1 | after_scalar);
    after_scalar = words >> 63;
    return (masks.brackets | begins) & ~(inside ^ masks.quotes) & mine;
  }
};

// Returns: a bit for each byte of a block that is the text's.
inline std::uint64_t bytes_of(std::uint32_t left) {
  return left >= block_size ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
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

RINGRPC_SHORT_TARGET std::uint32_t index_avx2(const char* text, std::uint32_t size,
                                              std::uint32_t* positions) {
  std::uint32_t* out = positions;
  Scan scan;
  for (std::uint32_t base = 0; base < size; base += block_size) {
    Masks masks = masks_of(text + base);
    const std::uint64_t mine = bytes_of(size - base);
    if ((masks.odd & mine) != 0) [[unlikely]]
      return 0;
    masks.quotes &= mine;
    out = write_positions(scan.starts(masks, mine), base, out);
  }
  // An odd number of quotes leaves the last string open; the bytes behind the text are not quotes.
  if (scan.in_string != 0) [[unlikely]]
    return 0;
  return static_cast<std::uint32_t>(out - positions);
}

// The numbers of the bytes of a block.
alignas(64) constexpr std::array<std::uint8_t, 64> numbers = [] {
  std::array<std::uint8_t, 64> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(i);
  return table;
}();

RINGRPC_SHORT_512_TARGET inline std::uint64_t is(__m512i bytes, char c) {
  return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

RINGRPC_SHORT_512_TARGET inline Masks masks_of_512(const char* block) {
  const __m512i bytes = _mm512_loadu_si512(block);
  const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
  // Printable bytes, moved to zero, are at most 0x5E; others are above it or wrap round.
  const __m512i printable = _mm512_sub_epi8(bytes, _mm512_set1_epi8(0x20));
  const std::uint64_t odd = _mm512_cmpgt_epu8_mask(printable, _mm512_set1_epi8(0x5E));
  return {.quotes = is(bytes, '"'),
          .brackets = is(folded, '{') | is(folded, '}') | is(bytes, ':') | is(bytes, ','),
          .blanks = is(bytes, ' '),
          .odd = odd | is(bytes, '\\')};
}

// Masks of everything. The intrinsics without a mask begin with an undefined register, which g++ 12
// takes for a mistake of ours.
constexpr __mmask16 all_16 = 0xFFFF;
constexpr __mmask8 all_4 = 0xF;

// Packs the numbers of the bytes that start a token, and writes 32 of them whether there are so
// many or not: the next block overwrites what is too many.
RINGRPC_SHORT_512_TARGET inline std::uint32_t* write_positions_512(std::uint64_t starts,
                                                                   std::uint32_t base,
                                                                   std::uint32_t* out) {
  const int count = std::popcount(starts);
  const __m512i packed = _mm512_maskz_compress_epi8(starts, _mm512_load_si512(numbers.data()));
  const __m512i offset = _mm512_set1_epi32(static_cast<int>(base));
  const auto write = [out, offset](__m128i sixteen, std::uint32_t place) RINGRPC_SHORT_512_TARGET {
    const __m512i wide = _mm512_maskz_cvtepu8_epi32(all_16, sixteen);
    _mm512_storeu_si512(out + place, _mm512_add_epi32(wide, offset));
  };
  write(_mm512_maskz_extracti32x4_epi32(all_4, packed, 0), 0);
  write(_mm512_maskz_extracti32x4_epi32(all_4, packed, 1), 16);
  if (count > 32) [[unlikely]] {
    write(_mm512_maskz_extracti32x4_epi32(all_4, packed, 2), 32);
    write(_mm512_maskz_extracti32x4_epi32(all_4, packed, 3), 48);
  }
  return out + count;
}

RINGRPC_SHORT_512_TARGET std::uint32_t index_avx512(const char* text, std::uint32_t size,
                                                    std::uint32_t* positions) {
  std::uint32_t* out = positions;
  Scan scan;
  for (std::uint32_t base = 0; base < size; base += block_size) {
    Masks masks = masks_of_512(text + base);
    const std::uint64_t mine = bytes_of(size - base);
    if ((masks.odd & mine) != 0) [[unlikely]]
      return 0;
    masks.quotes &= mine;
    out = write_positions_512(scan.starts(masks, mine), base, out);
  }
  if (scan.in_string != 0) [[unlikely]]
    return 0;
  return static_cast<std::uint32_t>(out - positions);
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("pclmul");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2");
}

constexpr ShortKernel kernels[] = {{"avx512", &has_avx512, &index_avx512},
                                   {"avx2", &has_avx2, &index_avx2}};

}  // namespace

std::span<const ShortKernel> short_kernels() { return kernels; }

}  // namespace ringrpc::json

#else

namespace ringrpc::json {

std::span<const ShortKernel> short_kernels() { return {}; }

}  // namespace ringrpc::json

#endif

namespace ringrpc::json {

ShortIndexer short_indexer() {
  for (const ShortKernel& kernel : short_kernels()) {
    if (kernel.supported()) return kernel.index;
  }
  return nullptr;
}

}  // namespace ringrpc::json
