#pragma once

// How fields.h looks into a struct. C++20 has no reflection, but it can count the initialisers that
// an aggregate takes, bind its members, and print a pointer to a member as a template argument.
// Nothing here is for users, and nothing here runs: it all happens in the compiler.

#include <ringrpc/fields_bind.h>
#include <ringrpc/limits.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace ringrpc::fields::detail {

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"  // An object without a definition:
#pragma clang diagnostic ignored "-Wundefined-internal"      // only addresses in it are taken.
#pragma clang diagnostic ignored "-Wmissing-braces"
#pragma clang diagnostic ignored "-Wmissing-field-initializers"
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

// --- Counting -----------------------------------------------------------------------------------

// Converts to every member type, but not to the struct itself. Never called; defined, and not
// constexpr, because clang may instantiate what would call it for types of one file only.
template <class Self>
struct Any {
  template <class T>
    requires(!std::same_as<T, Self>)
  operator T() const noexcept;
};
template <class Self>
struct AnyReference {
  template <class T>
    requires(!std::same_as<T, Self>)
  operator T&() const noexcept;
};
template <class Self>
struct AnyBase {
  template <class T>
    requires(!std::same_as<T, Self> && std::is_base_of_v<T, Self>)
  operator T() const noexcept;
};

template <class Self>
template <class T>
  requires(!std::same_as<T, Self>)
Any<Self>::operator T() const noexcept {
  __builtin_unreachable();
}

template <std::size_t>
struct Number {};

template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(void(Number<I>()), Any<T>())...}; };
}
// Before two initialisers in braces of their own, and after them.
template <class T, std::size_t... I, std::size_t... J>
constexpr bool takes_pair(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires {
    T{(void(Number<I>()), Any<T>())..., {Any<T>(), Any<T>()}, (void(Number<J>()), Any<T>())...};
  };
}
template <class T>
constexpr bool has_base() {
  return requires { T{AnyBase<T>()}; };
}
template <class T, std::size_t... I>
constexpr bool takes_reference(std::index_sequence<I...>) {
  return requires { T{(void(Number<I>()), Any<T>())..., AnyReference<T>()}; };
}

// Returns: how many initialisers T takes, at most one more than the limit.
template <class T, std::size_t N = 0>
constexpr std::size_t count_members() {
  if constexpr (N > limits::struct_members_max) {
    return N;
  } else if constexpr (takes<T>(std::make_index_sequence<N + 1>())) {
    return count_members<T, N + 1>();
  } else {
    return N;
  }
}

// A C array takes one initialiser for each of its elements. In braces of their own, two of them
// leave room for fewer behind them than for a member that takes one.
template <class T, std::size_t N, std::size_t... I>
constexpr bool has_array(std::index_sequence<I...>) {
  return ((takes_pair<T>(std::make_index_sequence<I>(), std::index_sequence<>()) &&
           !takes_pair<T>(std::make_index_sequence<I>(), std::make_index_sequence<N - I - 1>())) ||
          ...);
}

// --- Members ------------------------------------------------------------------------------------

// A T that is never defined: constant expressions may take addresses in it, and compare them.
template <class T>
union Nowhere {
  char bytes[sizeof(T)];
  T value;
  Nowhere();
  ~Nowhere();
};
template <class T>
extern Nowhere<T> nowhere;

template <class Pointer>
struct Place {
  Pointer pointer;
};

// A tuple small enough to compile quickly.
template <std::size_t I, class T>
struct Slot {
  T value;
};
template <class Sequence, class... T>
struct Slots;
template <std::size_t... I, class... T>
struct Slots<std::index_sequence<I...>, T...> : Slot<I, T>... {
  static constexpr std::size_t size = sizeof...(T);
};
template <class... T>
constexpr auto make_slots(const T&... values) {
  return Slots<std::index_sequence_for<T...>, T...>{{values}...};
}
template <std::size_t I, class T>
constexpr const T& get(const Slot<I, T>& slot) {
  return slot.value;
}

template <class T, std::size_t N>
constexpr auto member_places() {
  if constexpr (N == 0) {
    return make_slots();
  } else {
    return bind_members<N>(nowhere<T>.value, []<class... M>(M&... members) {
      return make_slots(Place<M*>{&members}...);
    });
  }
}

// Returns: the place of a member of T, or of a base of T, that was named by hand.
template <class T, class C, class M>
constexpr M* place_of(M C::* member) {
  return &(nowhere<T>.value.*member);
}

// Returns: the place of an element of a tuple; its get() is found by the tuple's type.
template <class T, std::size_t I>
constexpr auto element_place() {
  return &get<I>(nowhere<T>.value);
}

// Returns: the offset of a member of nowhere<T>, found by comparing it with each byte's address.
template <class T, class M>
constexpr std::uint32_t offset_of(const M* member) {
  const void* address = member;
  std::uint32_t offset = 0;
  while (static_cast<const void*>(&nowhere<T>.bytes[offset]) != address) {
    offset += alignof(M) < alignof(T) ? 1u : static_cast<std::uint32_t>(alignof(T));
  }
  return offset;
}

#if defined(__clang__)
#pragma clang diagnostic pop
#else
#pragma GCC diagnostic pop
#endif

}  // namespace ringrpc::fields::detail
