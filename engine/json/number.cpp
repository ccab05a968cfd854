#include "engine/json/number.h"

#include <charconv>
#include <system_error>

#include "engine/base/assert.h"

namespace ringrpc::json {
namespace {

// A number taken apart: +-0.DIGITS * 10^exponent, without zeros at either end of DIGITS.
struct Decimal {
  bool negative = false;
  std::string_view before;    // the digits before the point
  std::string_view behind;    // the digits behind it
  std::int64_t exponent = 0;  // as written; held far outside of what matters
};

// Beyond any text's number of digits, so that a sum with one keeps its sign.
constexpr std::int64_t exponent_bound = std::int64_t{1} << 40;

Decimal take_apart(std::string_view number) {
  Decimal decimal;
  const char* at = number.data();
  const char* const end = at + number.size();
  decimal.negative = *at == '-';
  at += decimal.negative;
  const char* begin = at;
  while (at < end && is_digit(*at)) ++at;
  decimal.before = {begin, static_cast<std::size_t>(at - begin)};
  if (at < end && *at == '.') {
    begin = ++at;
    while (at < end && is_digit(*at)) ++at;
    decimal.behind = {begin, static_cast<std::size_t>(at - begin)};
  }
  if (at < end) {
    RINGRPC_ASSERT(*at == 'e' || *at == 'E', *at);
    ++at;
    const bool negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    for (; at < end; ++at) {
      decimal.exponent = decimal.exponent * 10 + (*at - '0');
      if (decimal.exponent > exponent_bound) decimal.exponent = exponent_bound;
    }
    if (negative) decimal.exponent = -decimal.exponent;
  }
  return decimal;
}

// The digits of both parts as one sequence.
class Digits {
 public:
  explicit Digits(const Decimal& decimal) : before_(decimal.before), behind_(decimal.behind) {}
  [[nodiscard]] std::size_t size() const { return before_.size() + behind_.size(); }
  [[nodiscard]] char at(std::size_t i) const {
    return i < before_.size() ? before_[i] : behind_[i - before_.size()];
  }

 private:
  std::string_view before_;
  std::string_view behind_;
};

// Returns: whether a number that from_chars could not hold is too large, rather than too small.
bool is_too_large(std::string_view number) {
  const Decimal decimal = take_apart(number);
  const Digits digits(decimal);
  std::size_t first = 0;
  while (first < digits.size() && digits.at(first) == '0') ++first;
  if (first == digits.size()) return false;
  const std::int64_t magnitude = static_cast<std::int64_t>(decimal.before.size()) -
                                 static_cast<std::int64_t>(first) + decimal.exponent;
  return magnitude > 0;
}

template <typename Number>
NumberStatus read_floating(const char* text, const std::uint32_t* position, Number& value) {
  const std::string_view number = scalar_text(text, position);
  if (number[0] != '-' && !is_digit(number[0])) return NumberStatus::not_number;
  Number parsed = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed);
  if (error == std::errc::result_out_of_range) [[unlikely]] {
    if (is_too_large(number)) return NumberStatus::out_of_range;
    value = number[0] == '-' ? -Number{0} : Number{0};
    return NumberStatus::ok;
  }
  RINGRPC_ASSERT(error == std::errc(), number);
  RINGRPC_ASSERT(end == number.data() + number.size(), number);
  value = parsed;
  return NumberStatus::ok;
}

}  // namespace

NumberStatus read_integer(const char* text, const std::uint32_t* position, Integer& value) {
  if (read_plain_integer(text + *position, value)) return NumberStatus::ok;
  const std::string_view number = scalar_text(text, position);
  if (number[0] != '-' && !is_digit(number[0])) return NumberStatus::not_number;
  const Decimal decimal = take_apart(number);
  const Digits digits(decimal);
  std::size_t first = 0;
  std::size_t last = digits.size();
  while (first < last && digits.at(first) == '0') ++first;
  while (first < last && digits.at(last - 1) == '0') --last;
  if (first == last) {
    value = {0, decimal.negative};
    return NumberStatus::ok;
  }
  // The power of ten of the last digit that is not zero.
  const std::int64_t scale = decimal.exponent + static_cast<std::int64_t>(decimal.before.size()) -
                             static_cast<std::int64_t>(last);
  if (scale < 0) return NumberStatus::not_integer;
  constexpr std::int64_t digits_max = 20;  // 2^64 has as many.
  if (static_cast<std::int64_t>(last - first) + scale > digits_max) {
    return NumberStatus::out_of_range;
  }
  std::uint64_t magnitude = 0;
  bool overflow = false;
  for (std::size_t i = first; i < last; ++i) {
    overflow |= __builtin_mul_overflow(magnitude, std::uint64_t{10}, &magnitude);
    overflow |= __builtin_add_overflow(magnitude, static_cast<std::uint64_t>(digits.at(i) - '0'),
                                       &magnitude);
  }
  for (std::int64_t i = 0; i < scale; ++i) {
    overflow |= __builtin_mul_overflow(magnitude, std::uint64_t{10}, &magnitude);
  }
  if (overflow) return NumberStatus::out_of_range;
  value = {magnitude, decimal.negative};
  return NumberStatus::ok;
}

NumberStatus read_double(const char* text, const std::uint32_t* position, double& value) {
  return read_floating(text, position, value);
}

NumberStatus read_float(const char* text, const std::uint32_t* position, float& value) {
  return read_floating(text, position, value);
}

}  // namespace ringrpc::json
