#pragma once

// Calls f(member...) with the members of an aggregate, through structured bindings. One line for
// each number of members: C++20 has no other way. Included by fields_detail.h only.

#include <cstddef>

namespace ringrpc::fields::detail {

// Answered in place of f's value when a member is a bit-field, to which no reference can refer.
struct HasBitField {};

// The first 8, 16, ... names.
#define RINGRPC_NAMES_8 a0, a1, a2, a3, a4, a5, a6, a7
#define RINGRPC_NAMES_16 RINGRPC_NAMES_8, b0, b1, b2, b3, b4, b5, b6, b7
#define RINGRPC_NAMES_24 RINGRPC_NAMES_16, c0, c1, c2, c3, c4, c5, c6, c7
#define RINGRPC_NAMES_32 RINGRPC_NAMES_24, d0, d1, d2, d3, d4, d5, d6, d7
#define RINGRPC_NAMES_40 RINGRPC_NAMES_32, e0, e1, e2, e3, e4, e5, e6, e7
#define RINGRPC_NAMES_48 RINGRPC_NAMES_40, f0, f1, f2, f3, f4, f5, f6, f7
#define RINGRPC_NAMES_56 RINGRPC_NAMES_48, g0, g1, g2, g3, g4, g5, g6, g7
#define RINGRPC_NAMES_64 RINGRPC_NAMES_56, h0, h1, h2, h3, h4, h5, h6, h7

// Whether references can refer to all of them; clang before 16 cannot ask, and says so itself.
#if defined(__clang_major__) && __clang_major__ < 16
#define RINGRPC_BINDABLE(...) true
#else
#define RINGRPC_BINDABLE(...) requires { f(__VA_ARGS__); }
#endif

#define RINGRPC_BIND(number, ...)                  \
  if constexpr (N == number) {                     \
    auto& [__VA_ARGS__] = object;                  \
    if constexpr (RINGRPC_BINDABLE(__VA_ARGS__)) { \
      return f(__VA_ARGS__);                       \
    } else {                                       \
      return HasBitField{};                        \
    }                                              \
  } else

// Requires: T is an aggregate of N members, 33 <= N <= 64, without bases.
template <std::size_t N, class T, class F>
constexpr auto bind_many_members(T& object, F f) {
  // clang-format off
  RINGRPC_BIND(33, RINGRPC_NAMES_32, e0)
  RINGRPC_BIND(34, RINGRPC_NAMES_32, e0, e1)
  RINGRPC_BIND(35, RINGRPC_NAMES_32, e0, e1, e2)
  RINGRPC_BIND(36, RINGRPC_NAMES_32, e0, e1, e2, e3)
  RINGRPC_BIND(37, RINGRPC_NAMES_32, e0, e1, e2, e3, e4)
  RINGRPC_BIND(38, RINGRPC_NAMES_32, e0, e1, e2, e3, e4, e5)
  RINGRPC_BIND(39, RINGRPC_NAMES_32, e0, e1, e2, e3, e4, e5, e6)
  RINGRPC_BIND(40, RINGRPC_NAMES_40)
  RINGRPC_BIND(41, RINGRPC_NAMES_40, f0)
  RINGRPC_BIND(42, RINGRPC_NAMES_40, f0, f1)
  RINGRPC_BIND(43, RINGRPC_NAMES_40, f0, f1, f2)
  RINGRPC_BIND(44, RINGRPC_NAMES_40, f0, f1, f2, f3)
  RINGRPC_BIND(45, RINGRPC_NAMES_40, f0, f1, f2, f3, f4)
  RINGRPC_BIND(46, RINGRPC_NAMES_40, f0, f1, f2, f3, f4, f5)
  RINGRPC_BIND(47, RINGRPC_NAMES_40, f0, f1, f2, f3, f4, f5, f6)
  RINGRPC_BIND(48, RINGRPC_NAMES_48)
  RINGRPC_BIND(49, RINGRPC_NAMES_48, g0)
  RINGRPC_BIND(50, RINGRPC_NAMES_48, g0, g1)
  RINGRPC_BIND(51, RINGRPC_NAMES_48, g0, g1, g2)
  RINGRPC_BIND(52, RINGRPC_NAMES_48, g0, g1, g2, g3)
  RINGRPC_BIND(53, RINGRPC_NAMES_48, g0, g1, g2, g3, g4)
  RINGRPC_BIND(54, RINGRPC_NAMES_48, g0, g1, g2, g3, g4, g5)
  RINGRPC_BIND(55, RINGRPC_NAMES_48, g0, g1, g2, g3, g4, g5, g6)
  RINGRPC_BIND(56, RINGRPC_NAMES_56)
  RINGRPC_BIND(57, RINGRPC_NAMES_56, h0)
  RINGRPC_BIND(58, RINGRPC_NAMES_56, h0, h1)
  RINGRPC_BIND(59, RINGRPC_NAMES_56, h0, h1, h2)
  RINGRPC_BIND(60, RINGRPC_NAMES_56, h0, h1, h2, h3)
  RINGRPC_BIND(61, RINGRPC_NAMES_56, h0, h1, h2, h3, h4)
  RINGRPC_BIND(62, RINGRPC_NAMES_56, h0, h1, h2, h3, h4, h5)
  RINGRPC_BIND(63, RINGRPC_NAMES_56, h0, h1, h2, h3, h4, h5, h6)
  RINGRPC_BIND(64, RINGRPC_NAMES_64)
  { static_assert(N == 0, "between 1 and 64 members"); }
  // clang-format on
}

// Requires: T is an aggregate of N members, 1 <= N <= 64, without bases.
template <std::size_t N, class T, class F>
constexpr auto bind_members(T& object, F f) {
  // clang-format off
  RINGRPC_BIND(1, a0)
  RINGRPC_BIND(2, a0, a1)
  RINGRPC_BIND(3, a0, a1, a2)
  RINGRPC_BIND(4, a0, a1, a2, a3)
  RINGRPC_BIND(5, a0, a1, a2, a3, a4)
  RINGRPC_BIND(6, a0, a1, a2, a3, a4, a5)
  RINGRPC_BIND(7, a0, a1, a2, a3, a4, a5, a6)
  RINGRPC_BIND(8, RINGRPC_NAMES_8)
  RINGRPC_BIND(9, RINGRPC_NAMES_8, b0)
  RINGRPC_BIND(10, RINGRPC_NAMES_8, b0, b1)
  RINGRPC_BIND(11, RINGRPC_NAMES_8, b0, b1, b2)
  RINGRPC_BIND(12, RINGRPC_NAMES_8, b0, b1, b2, b3)
  RINGRPC_BIND(13, RINGRPC_NAMES_8, b0, b1, b2, b3, b4)
  RINGRPC_BIND(14, RINGRPC_NAMES_8, b0, b1, b2, b3, b4, b5)
  RINGRPC_BIND(15, RINGRPC_NAMES_8, b0, b1, b2, b3, b4, b5, b6)
  RINGRPC_BIND(16, RINGRPC_NAMES_16)
  RINGRPC_BIND(17, RINGRPC_NAMES_16, c0)
  RINGRPC_BIND(18, RINGRPC_NAMES_16, c0, c1)
  RINGRPC_BIND(19, RINGRPC_NAMES_16, c0, c1, c2)
  RINGRPC_BIND(20, RINGRPC_NAMES_16, c0, c1, c2, c3)
  RINGRPC_BIND(21, RINGRPC_NAMES_16, c0, c1, c2, c3, c4)
  RINGRPC_BIND(22, RINGRPC_NAMES_16, c0, c1, c2, c3, c4, c5)
  RINGRPC_BIND(23, RINGRPC_NAMES_16, c0, c1, c2, c3, c4, c5, c6)
  RINGRPC_BIND(24, RINGRPC_NAMES_24)
  RINGRPC_BIND(25, RINGRPC_NAMES_24, d0)
  RINGRPC_BIND(26, RINGRPC_NAMES_24, d0, d1)
  RINGRPC_BIND(27, RINGRPC_NAMES_24, d0, d1, d2)
  RINGRPC_BIND(28, RINGRPC_NAMES_24, d0, d1, d2, d3)
  RINGRPC_BIND(29, RINGRPC_NAMES_24, d0, d1, d2, d3, d4)
  RINGRPC_BIND(30, RINGRPC_NAMES_24, d0, d1, d2, d3, d4, d5)
  RINGRPC_BIND(31, RINGRPC_NAMES_24, d0, d1, d2, d3, d4, d5, d6)
  RINGRPC_BIND(32, RINGRPC_NAMES_32)
  { return bind_many_members<N>(object, f); }
  // clang-format on
}

#undef RINGRPC_BIND
#undef RINGRPC_BINDABLE
#undef RINGRPC_NAMES_8
#undef RINGRPC_NAMES_16
#undef RINGRPC_NAMES_24
#undef RINGRPC_NAMES_32
#undef RINGRPC_NAMES_40
#undef RINGRPC_NAMES_48
#undef RINGRPC_NAMES_56
#undef RINGRPC_NAMES_64

}  // namespace ringrpc::fields::detail
