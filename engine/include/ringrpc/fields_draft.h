#pragma once

// From structs to tables of their fields. Every refusal is a sentence here or in fields_types.h,
// and has a file in tests/compile_fail/.

#include <ringrpc/fields_detail.h>
#include <ringrpc/fields_info.h>
#include <ringrpc/fields_names.h>
#include <ringrpc/limits.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc::fields::detail {

// The table of T; its definition is in fields_types.h. Declared first because types may be
// recursive.
template <class T>
struct Reflected {
  static const TypeInfo info;
};

// --- Structs ------------------------------------------------------------------------------------

// One field by hand, and where its name is kept.
template <std::size_t N, class C, class M>
struct Listed {
  char name[N];
  M C::* member;

  consteval Listed(const char (&text)[N], M C::* place) : name(), member(place) {
    for (std::size_t i = 0; i < N; ++i) name[i] = text[i];
  }
};

// Converts to a pointer to exactly T: finds a list that is meant for T and not for its base.
template <class T>
struct Exactly {
  template <class U>
    requires std::same_as<U, T>
  constexpr operator const U*() const {
    return nullptr;
  }
};

template <class T>
concept ByHand = requires(Exactly<T> type) { ringrpc_fields(type); };

struct Entry {
  std::string_view name = {};
  std::uint32_t offset = 0;
  const TypeInfo* type = nullptr;
  bool required = false;
};

template <std::size_t N>
struct Draft {
  static constexpr std::size_t count = N;
  Entry entries[N == 0 ? 1 : N] = {};
};

template <std::size_t N>
constexpr std::uint64_t required_bits(const Draft<N>& draft) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (draft.entries[i].required) bits |= std::uint64_t{1} << i;
  }
  return bits;
}

// OptionalLike without a look at what else the type can do.
template <class T>
concept HasValue = requires(const T& value) {
  value.has_value();
  *value;
};

template <class T, class M>
constexpr Entry make_entry(std::string_view name, M* member) {
  static_assert(!std::is_array_v<M>,
                "ringrpc: a member is a C array; make it a std::vector, or name the other members "
                "with RINGRPC_FIELDS");
  static_assert(!std::is_pointer_v<M>,
                "ringrpc: a member is a pointer; make it a std::optional or a value");
  static_assert(!std::is_const_v<M>, "ringrpc: a member is const, and could not be decoded into");
  if constexpr (std::is_array_v<M> || std::is_pointer_v<M> || std::is_const_v<M>) {
    return {};
  } else {
    return {name, offset_of<T>(member), &Reflected<M>::info, !HasValue<M>};
  }
}

template <class T, std::size_t N>
constexpr auto draft_members() {
  constexpr auto places = member_places<T, N>();
  if constexpr (std::same_as<std::remove_const_t<decltype(places)>, HasBitField>) {
    static_assert(!std::same_as<std::remove_const_t<decltype(places)>, HasBitField>,
                  "ringrpc: a member is a bit-field; make it a whole integer");
    return Draft<0>();
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Draft<N>{
          {make_entry<T>(last_name(printed<get<I>(places)>().text()), get<I>(places).pointer)...}};
    }(std::make_index_sequence<N>());
  }
}

template <class T>
constexpr auto draft_aggregate() {
  if constexpr (!std::is_default_constructible_v<T>) {
    static_assert(std::is_default_constructible_v<T>,
                  "ringrpc: a struct cannot be made empty: a member is a reference, or has no "
                  "default constructor");
    return Draft<0>();
  } else if constexpr (has_base<T>()) {
    static_assert(!has_base<T>(),
                  "ringrpc: a struct has a base; name its fields with RINGRPC_FIELDS");
    return Draft<0>();
  } else {
    constexpr std::size_t count = count_members<T>();
    constexpr bool arrays = has_array<T, count>(std::make_index_sequence<count>());
    constexpr bool references = takes_reference<T>(std::make_index_sequence<count>());
    static_assert(!arrays,
                  "ringrpc: a member is a C array; make it a std::vector, or name the other "
                  "members with RINGRPC_FIELDS");
    static_assert(!references, "ringrpc: a member is a reference; make it a value");
    static_assert(
        arrays || count <= limits::struct_members_max,
        "ringrpc: a struct has more than 64 members; group some in a struct of their own");
    if constexpr (arrays || references || count > limits::struct_members_max) {
      return Draft<0>();
    } else {
      return draft_members<T, count>();
    }
  }
}

template <class T>
inline constexpr auto listed_fields = ringrpc_fields(Exactly<T>());

template <class T, std::size_t... I>
constexpr auto draft_listed(std::index_sequence<I...>) {
  constexpr auto& list = listed_fields<T>;
  return Draft<sizeof...(I)>{
      {make_entry<T>(std::string_view(get<I>(list).name, sizeof(get<I>(list).name) - 1),
                     place_of<T>(get<I>(list).member))...}};
}

template <class T>
constexpr auto make_draft() {
  if constexpr (ByHand<T>) {
    return draft_listed<T>(
        std::make_index_sequence<decltype(ringrpc_fields(Exactly<T>()))::size>());
  } else {
    return draft_aggregate<T>();
  }
}
template <class T>
inline constexpr auto draft_of = make_draft<T>();

}  // namespace ringrpc::fields::detail
