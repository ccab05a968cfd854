#pragma once

// Assertions for our own bugs: on in every build, print the values, abort.
//
// A failed assertion means that the engine is wrong, never that a peer or the machine is: those
// are error codes (rpc/errors.h) and Status (base/status.h).

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ringrpc::base {

// One value printed by a failed assertion, widened to what can be printed.
struct AssertValue {
  enum class Kind : std::uint8_t { none, integer, unsigned_integer, text };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  std::string_view text;

  AssertValue() = default;
  template <typename T>
  AssertValue(const T& value) {  // NOLINT(google-explicit-constructor): built from any argument.
    if constexpr (std::is_enum_v<T>) {
      kind = Kind::integer;
      integer = static_cast<std::int64_t>(value);
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      kind = Kind::integer;
      integer = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind = Kind::unsigned_integer;
      unsigned_integer = value;
    } else {
      kind = Kind::text;
      text = std::string_view(value);
    }
  }
};

// Prints the expression, the place and the values on stderr, then aborts.
[[noreturn, gnu::cold, gnu::noinline]] void assert_failed(const char* expression, const char* file,
                                                          int line, AssertValue first = {},
                                                          AssertValue second = {},
                                                          AssertValue third = {});

}  // namespace ringrpc::base

#define RINGRPC_ASSERT(expression, ...)                                                           \
  do {                                                                                            \
    if (!(expression)) [[unlikely]] {                                                             \
      ::ringrpc::base::assert_failed(#expression, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                             \
  } while (false)

// Only for checks above O(1): compiled in with RINGRPC_DEBUG_CHECKS, which the sanitizer presets
// set.
#ifdef RINGRPC_DEBUG_CHECKS
#define RINGRPC_DEBUG_ASSERT(expression, ...) RINGRPC_ASSERT(expression __VA_OPT__(, ) __VA_ARGS__)
#else
#define RINGRPC_DEBUG_ASSERT(expression, ...) \
  do {                                        \
    (void)sizeof(!(expression));              \
  } while (false)
#endif

// Documents that the condition may hold or not, and both are fine.
#define RINGRPC_MAYBE(condition) \
  do {                           \
    (void)sizeof(!(condition));  \
  } while (false)
