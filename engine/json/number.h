#pragma once

// Numbers out of a validated text, exact over 64 bits.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/json/cursor.h"

namespace ringrpc::json {

enum class NumberStatus : std::uint8_t { ok, not_number, not_integer, out_of_range };

struct Integer {
  std::uint64_t magnitude = 0;
  bool negative = false;  // With magnitude 0 too, for -0.
};

// Integers that have a fraction, an exponent or more than 18 digits: 2.0, 1e2,
// 18446744073709551615. Requires: number is a number by RFC 8259.
[[gnu::cold, gnu::noinline]] NumberStatus read_integer_slow(std::string_view number,
                                                            Integer& value);

// A number that is too small to be told from zero is zero; one that is too large is out of range.
NumberStatus read_double(const char* text, const std::uint32_t* position, double& value);
NumberStatus read_float(const char* text, const std::uint32_t* position, float& value);

// Returns: whether the integer fits into `size` bytes with that sign.
constexpr bool fits_signed(const Integer& value, std::uint32_t size) {
  const std::uint64_t largest = (std::uint64_t{1} << (size * 8 - 1)) - 1;
  return value.magnitude <= largest + (value.negative ? 1 : 0);
}
constexpr bool fits_unsigned(const Integer& value, std::uint32_t size) {
  return value.magnitude <= ~std::uint64_t{0} >> (64 - size * 8) &&
         !(value.negative && value.magnitude != 0);
}

// Returns: the two's complement bits.
constexpr std::uint64_t bits_of(const Integer& value) {
  return value.negative ? 0 - value.magnitude : value.magnitude;
}

constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Requires: *position is the first byte of a value.
// PERF: the loop beats eight digits at once for the numbers of up to five digits that most ids and
// counts are.
inline NumberStatus read_integer(const char* text, const std::uint32_t* position, Integer& value) {
  constexpr std::ptrdiff_t digits_fast = 18;  // 10^18 fits into 63 bits.
  const char* at = text + *position;
  const bool negative = *at == '-';
  at += negative;
  const char* const first = at;
  std::uint64_t magnitude = 0;
  while (is_digit(*at) && at - first < digits_fast) {
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(*at++ - '0');
  }
  if (at == first) return NumberStatus::not_number;
  if (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E') [[unlikely]] {
    return read_integer_slow(scalar_text(text, position), value);
  }
  value = {magnitude, negative};
  return NumberStatus::ok;
}

}  // namespace ringrpc::json
