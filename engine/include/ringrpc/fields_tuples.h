#pragma once

// Types without names for their parts: arrays of a fixed length, tuples, pairs and variants.
// For fields.h only.

#include <ringrpc/fields_detail.h>
#include <ringrpc/fields_draft.h>
#include <ringrpc/fields_info.h>
#include <ringrpc/fields_kinds.h>
#include <ringrpc/fields_names.h>
#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace ringrpc::fields::detail {

// --- Variants -----------------------------------------------------------------------------------

template <class T, std::size_t... I>
void* emplace_at(T& value, std::uint32_t place, std::index_sequence<I...>) {
  void* element = nullptr;
  ((place == I ? void(element = &value.template emplace<I>()) : void()), ...);
  return element;
}

template <class T>
void* select_alternative(void* self, std::uint32_t place) {
  void* element = nullptr;
  guarded([&] {
    element = emplace_at(*static_cast<T*>(self), place,
                         std::make_index_sequence<Alternatives<T>::count>());
  });
  return element;
}

template <class T>
Range read_variant(const void* self) {
  const T& value = *static_cast<const T*>(self);
  const void* element = nullptr;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((value.index() == I ? void(element = get_if<I>(&value)) : void()), ...);
  }(std::make_index_sequence<Alternatives<T>::count>());
  return Range{element, value.index()};
}

template <template <class...> class V, class... A>
constexpr auto make_alternatives(const V<A...>*) {
  Array<Field, sizeof...(A)> made;
  std::size_t place = 0;
  ((made.items[place++].type = &Reflected<A>::info), ...);
  return made;
}
template <class T>
inline constexpr auto alternatives_of = make_alternatives(static_cast<const T*>(nullptr));

template <class T>
constexpr void describe_variant(TypeInfo& info) {
  constexpr bool differ = json_types_differ(static_cast<const T*>(nullptr));
  static_assert(differ,
                "ringrpc: two alternatives of a variant look alike in JSON; it may hold one each "
                "of null, bool, number, string, array and object");
  if constexpr (differ) {
    info.kind = Kind::variant;
    info.field_count = static_cast<std::uint8_t>(Alternatives<T>::count);
    info.fields = alternatives_of<T>.items;
    info.select = &select_alternative<T>;
    info.read = &read_variant<T>;
  }
}

// --- Arrays and tuples --------------------------------------------------------------------------

template <class T>
constexpr void describe_array(TypeInfo& info) {
  info.kind = Kind::array;
  info.count = static_cast<std::uint32_t>(std::tuple_size<T>::value);
  info.element = &Reflected<typename T::value_type>::info;
  info.read = &read_range<T>;
}

template <class T, std::size_t I>
constexpr Entry make_element() {
  constexpr bool reference = std::is_reference_v<std::tuple_element_t<I, T>>;
  static_assert(!reference, "ringrpc: a member is a reference; make it a value");
  if constexpr (reference) {
    return {};
  } else {
    return make_entry<T>("", element_place<T, I>());
  }
}

template <class T>
constexpr auto draft_elements() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return Draft<sizeof...(I)>{{make_element<T, I>()...}};
  }(std::make_index_sequence<std::tuple_size<T>::value>());
}

template <class T>
struct TupleTable {
  static constexpr auto draft = draft_elements<T>();
  static constexpr std::size_t count = std::tuple_size<T>::value;

  static constexpr auto make() {
    Array<Field, count> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.items[i].type = draft.entries[i].type;
      made.items[i].offset = draft.entries[i].offset;
      made.items[i].bit = std::uint64_t{1} << i;
    }
    return made;
  }
  static constexpr auto fields = make();
};

template <class T>
constexpr void describe_tuple(TypeInfo& info) {
  constexpr bool fits = std::tuple_size<T>::value <= limits::struct_members_max;
  static_assert(fits, "ringrpc: a tuple has more than 64 elements; make it a std::vector");
  if constexpr (fits) {
    info.kind = Kind::tuple;
    info.field_count = static_cast<std::uint8_t>(std::tuple_size<T>::value);
    info.fields = TupleTable<T>::fields.items;
    info.required = required_bits(TupleTable<T>::draft);
  }
}

}  // namespace ringrpc::fields::detail
