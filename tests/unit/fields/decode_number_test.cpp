// Goal: numbers are exact, or refused.
// Method: each integer type at both ends, n-1, n and n+1, in every spelling; doubles by value.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "tests/unit/fields/document.h"

namespace {

using ringrpc::fields_test::Decoded;

template <class T>
std::string decoded(const std::string& number) {
  const Decoded<std::vector<T>> list("[" + number + "]");
  return list.ok ? std::to_string(list.value[0]) : list.error.reason;
}

// Spellings of the same integer.
std::vector<std::string> spellings(const std::string& digits) {
  std::string shifted = digits;  // 123 -> 1.23e2
  const std::size_t first = shifted[0] == '-' ? 1 : 0;
  const std::size_t behind = digits.size() - first - 1;
  if (behind > 0) shifted.insert(first + 1, ".");
  return {digits,
          digits + ".0",
          digits + "e0",
          digits + "E+0",
          digits + "0e-1",
          digits + ".000e-0",
          shifted + "e" + std::to_string(behind),
          digits + "00000000000000000000e-20",
          digits + ".00000000000000000000000000000e00000"};
}

// The decimal digits of value + difference, over 128 bits.
std::string digits_of(__int128 value) {
  const bool negative = value < 0;
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10) *
                                                              (value % 10 < 0 ? -1 : 1)));
    value /= 10;
  } while (value != 0);
  return negative ? "-" + digits : digits;
}

template <class T>
void check_ends() {
  using Limits = std::numeric_limits<T>;
  for (const __int128 end : {__int128{Limits::min()}, __int128{Limits::max()}}) {
    for (int difference = -1; difference <= 1; ++difference) {
      const __int128 value = end + difference;
      const bool fits = value >= Limits::min() && value <= Limits::max();
      for (const std::string& text : spellings(digits_of(value))) {
        EXPECT_EQ(decoded<T>(text), fits ? digits_of(value) : "is out of range") << text;
      }
    }
  }
}

TEST(DecodeNumber, HoldsEveryIntegerTypeToItsEnds) {
  check_ends<std::int8_t>();
  check_ends<std::uint8_t>();
  check_ends<std::int16_t>();
  check_ends<std::uint16_t>();
  check_ends<std::int32_t>();
  check_ends<std::uint32_t>();
  check_ends<std::int64_t>();
  check_ends<std::uint64_t>();
  check_ends<long long>();
  check_ends<char>();
}

TEST(DecodeNumber, KeepsIntegersExactBeyondDoubles) {
  EXPECT_EQ(decoded<std::int64_t>("9007199254740993"), "9007199254740993");
  EXPECT_EQ(decoded<std::int64_t>("9007199254740993.0"), "9007199254740993");
  EXPECT_EQ(decoded<std::int64_t>("-9007199254740993"), "-9007199254740993");
  EXPECT_EQ(decoded<std::int64_t>("900719925474099.3e1"), "9007199254740993");
}

TEST(DecodeNumber, TakesIntegralNumbersForIntegers) {
  EXPECT_EQ(decoded<int>("2.0"), "2");
  EXPECT_EQ(decoded<int>("1e2"), "100");
  EXPECT_EQ(decoded<int>("-0"), "0");
  EXPECT_EQ(decoded<unsigned>("-0"), "0");
  EXPECT_EQ(decoded<unsigned>("-0.0e5"), "0");
  EXPECT_EQ(decoded<int>("0e999999999999999999999"), "0");
  EXPECT_EQ(decoded<int>("1200e-2"), "12");
  EXPECT_EQ(decoded<std::uint64_t>("1e19"), "10000000000000000000");
  EXPECT_EQ(decoded<std::uint64_t>("2e19"), "is out of range");
  EXPECT_EQ(decoded<int>("1" + std::string(1000, '0') + "e-1000"), "1");
  EXPECT_EQ(decoded<int>("0." + std::string(1000, '0') + "7e1001"), "7");
}

TEST(DecodeNumber, RefusesFractionsAndOtherKinds) {
  for (const char* text : {"0.5", "1.5", "12e-1", "1e-1", "-0.1", "1e-999999999999999999999",
                           "1.00000000000000000000000000001"}) {
    EXPECT_EQ(decoded<int>(text), "must be an integer") << text;
  }
  for (const char* text : {"true", "null", "\"1\"", "[]", "{}"}) {
    EXPECT_EQ(decoded<int>(text), "must be an integer") << text;
    EXPECT_EQ(decoded<double>(text), "must be a number") << text;
  }
  EXPECT_EQ(decoded<int>("1e400"), "is out of range");
  EXPECT_EQ(decoded<int>("1e99999999999999999999999"), "is out of range");
  EXPECT_EQ(decoded<unsigned>("-1"), "is out of range");
}

double real(const std::string& number) {
  const Decoded<std::vector<double>> list("[" + number + "]");
  EXPECT_TRUE(list.ok) << number << list.error.reason;
  return list.ok ? list.value[0] : std::nan("");
}

TEST(DecodeNumber, ReadsDoubles) {
  EXPECT_EQ(real("2"), 2.0);
  EXPECT_EQ(real("0.1"), 0.1);
  EXPECT_EQ(real("-1.5E+3"), -1500.0);
  EXPECT_EQ(real("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(real("4.9e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(real("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_TRUE(std::signbit(real("-0.0")));
}

TEST(DecodeNumber, TakesWhatIsTooSmallForZeroAndRefusesWhatIsTooLarge) {
  EXPECT_EQ(real("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(real("-1e-400")));
  EXPECT_EQ(real("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(decoded<double>("1e400"), "is out of range");
  EXPECT_EQ(decoded<double>("-1e400"), "is out of range");
  EXPECT_EQ(decoded<double>("1e999999999999999999999"), "is out of range");
  EXPECT_EQ(decoded<double>("1" + std::string(400, '0')), "is out of range");
  EXPECT_EQ(decoded<float>("1e39"), "is out of range");
  EXPECT_EQ(decoded<float>("1e-60"), "0.000000");
  EXPECT_EQ(decoded<float>("0.5"), "0.500000");
}

TEST(DecodeNumber, ReadsBackWhatItWrote) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 4'000; ++i) {
    const std::uint64_t bits = random() >> (random() % 64);
    EXPECT_EQ(decoded<std::uint64_t>(std::to_string(bits)), std::to_string(bits));
    const auto signed_bits = static_cast<std::int64_t>(random());
    EXPECT_EQ(ringrpc::fields_test::encoded(signed_bits), std::to_string(signed_bits));
    EXPECT_EQ(decoded<std::int64_t>(std::to_string(signed_bits)), std::to_string(signed_bits));
    double value = 0;
    const std::uint64_t any = random();
    std::memcpy(&value, &any, sizeof value);
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(real(ringrpc::fields_test::encoded(value)), value);
  }
}

}  // namespace
