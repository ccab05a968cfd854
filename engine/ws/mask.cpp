#include "engine/ws/mask.h"

#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ringrpc::ws {
namespace {

constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080;

// Fewer than 8 bytes. Returns: the bits of all of them together.
inline std::uint64_t mask_tail(char* data, std::size_t size, std::uint32_t key) {
  std::uint64_t seen = 0;
  if (size >= 4) {
    std::uint32_t word;
    std::memcpy(&word, data, 4);
    word ^= key;
    std::memcpy(data, &word, 4);
    seen = word;
    data += 4;
    size -= 4;
  }
  char bytes[4];
  std::memcpy(bytes, &key, 4);
  for (std::size_t i = 0; i < size; ++i) {
    data[i] = static_cast<char>(data[i] ^ bytes[i]);
    seen |= static_cast<std::uint8_t>(data[i]);
  }
  return seen;
}

inline std::uint64_t mask_words(char* data, std::size_t size, std::uint32_t key) {
  const std::uint64_t keys = std::uint64_t{key} << 32 | key;
  std::uint64_t seen = 0;
  for (; size >= 8; data += 8, size -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    word ^= keys;
    std::memcpy(data, &word, 8);
    seen |= word;
  }
  return seen | mask_tail(data, size, key);
}

bool mask_portable(char* data, std::size_t size, std::uint32_t key) {
  return (mask_words(data, size, key) & high_bits) == 0;
}

bool always() { return true; }

#if defined(__x86_64__)

[[gnu::target("avx2")]] bool mask_avx2(char* data, std::size_t size, std::uint32_t key) {
  const __m256i keys = _mm256_set1_epi32(static_cast<int>(key));
  __m256i seen = _mm256_setzero_si256();
  for (; size >= 32; data += 32, size -= 32) {
    const __m256i bytes =
        _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)), keys);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(data), bytes);
    seen = _mm256_or_si256(seen, bytes);
  }
  const std::uint64_t rest = mask_words(data, size, key);
  return _mm256_movemask_epi8(seen) == 0 && (rest & high_bits) == 0;
}

[[gnu::target("avx512f,avx512bw")]] bool mask_avx512(char* data, std::size_t size,
                                                     std::uint32_t key) {
  const __m512i keys = _mm512_set1_epi32(static_cast<int>(key));
  __m512i seen = _mm512_setzero_si512();
  for (; size >= 64; data += 64, size -= 64) {
    const __m512i bytes = _mm512_xor_si512(_mm512_loadu_si512(data), keys);
    _mm512_storeu_si512(data, bytes);
    seen = _mm512_or_si512(seen, bytes);
  }
  if (size != 0) {
    // What is not selected is neither read nor written.
    const __mmask64 mine = ~std::uint64_t{0} >> (64 - size);
    const __m512i bytes = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mine, data), keys);
    _mm512_mask_storeu_epi8(data, mine, bytes);
    seen = _mm512_or_si512(seen, _mm512_maskz_mov_epi8(mine, bytes));
  }
  return _mm512_movepi8_mask(seen) == 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2"); }
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

constexpr MaskKernel kernels[] = {{"avx512", &has_avx512, &mask_avx512},
                                  {"avx2", &has_avx2, &mask_avx2},
                                  {"portable", &always, &mask_portable}};

#else

constexpr MaskKernel kernels[] = {{"portable", &always, &mask_portable}};

#endif

bool choose_and_mask(char* data, std::size_t size, std::uint32_t key);

// Relaxed: whoever finds the first value chooses the same again.
constinit std::atomic<Masker> chosen{&choose_and_mask};

[[gnu::cold, gnu::noinline]] bool choose_and_mask(char* data, std::size_t size, std::uint32_t key) {
  Masker best = &mask_portable;
  for (const MaskKernel& kernel : kernels) {
    if (!kernel.supported()) continue;
    best = kernel.mask;
    break;
  }
  chosen.store(best, std::memory_order_relaxed);
  return best(data, size, key);
}

}  // namespace

std::span<const MaskKernel> mask_kernels() { return kernels; }

bool mask(char* data, std::size_t size, std::uint32_t key) {
  return chosen.load(std::memory_order_relaxed)(data, size, key);
}

}  // namespace ringrpc::ws
