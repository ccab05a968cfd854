#pragma once

// From any type to its TypeInfo. For fields.h only.

#include <ringrpc/fields_containers.h>
#include <ringrpc/fields_info.h>
#include <ringrpc/fields_kinds.h>
#include <ringrpc/fields_names.h>
#include <ringrpc/fields_tables.h>
#include <ringrpc/fields_tuples.h>

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ringrpc::fields::detail {

template <class T>
constexpr void describe_number(TypeInfo& info) {
  static_assert(sizeof(T) <= 8,
                "ringrpc: a number has at most 64 bits; make a long double a double");
  if constexpr (std::is_floating_point_v<T>) {
    info.kind = Kind::floating;
  } else if constexpr (sizeof(T) <= 8) {
    constexpr auto all = ~std::uint64_t{0} >> (64 - 8 * sizeof(T));
    info.kind = std::is_signed_v<T> ? Kind::signed_integer : Kind::unsigned_integer;
    info.magnitude_max[0] = std::is_signed_v<T> ? all >> 1 : all;
    info.magnitude_max[1] = std::is_signed_v<T> ? (all >> 1) + 1 : 0;
  }
}

template <class T>
constexpr void describe_enum(TypeInfo& info) {
  constexpr bool scoped = !std::is_convertible_v<T, std::underlying_type_t<T>>;
  static_assert(scoped, "ringrpc: an enum is unscoped; make it an enum class");
  if constexpr (scoped) {
    static_assert(enum_draft<T>.count > 0,
                  "ringrpc: an enum has no enumerators with values in [-128, 127]");
    info.kind = Kind::enumeration;
    info.names = enum_names<T>.items;
    info.name_count = static_cast<std::uint16_t>(enum_draft<T>.count);
  }
}

template <class T>
constexpr void describe_optional(TypeInfo& info) {
  using Element = typename T::value_type;
  static_assert(!OptionalLike<Element>,
                "ringrpc: an optional of an optional has no place in JSON: both are null");
  info.kind = Kind::optional;
  info.element = &Reflected<Element>::info;
  info.clear = &clear_optional<T>;
  info.append = &engage_optional<T>;
  info.read = &read_optional<T>;
}

template <class T>
constexpr void describe_vector(TypeInfo& info) {
  using Element = typename T::value_type;
  constexpr bool bits = std::same_as<Element, bool> && !requires(T& list) { list.data(); };
  static_assert(!bits,
                "ringrpc: the elements of std::vector<bool> have no addresses; "
                "make it a std::vector of an enum, or of integers");
  if constexpr (!bits) {
    info.kind = Kind::vector;
    info.element = &Reflected<Element>::info;
    info.clear = &clear_container<T>;
    info.append = &append_to_vector<T>;
    info.read = &read_range<T>;
  }
}

template <class T>
constexpr void describe_span(TypeInfo& info) {
  using Element = typename T::element_type;
  constexpr bool readable = std::is_const_v<Element> && SpanElement<std::remove_const_t<Element>>;
  static_assert(readable,
                "ringrpc: a span is of const numbers, bools, enums or string_views; "
                "make it a std::vector");
  if constexpr (readable) {
    info.kind = Kind::span;
    info.element = &Reflected<std::remove_const_t<Element>>::info;
    info.view = &view_span<T>;
    info.read = &read_range<T>;
  }
}

template <class T>
constexpr void describe_map(TypeInfo& info) {
  constexpr bool names = StringLike<typename T::key_type>;
  static_assert(names, "ringrpc: the keys of a map are std::string, since they are names in JSON");
  if constexpr (names) {
    info.kind = Kind::map;
    info.element = &Reflected<typename T::mapped_type>::info;
    info.clear = &clear_container<T>;
    info.insert = &insert_into_map<T>;
    info.each = &each_of_map<T>;
  }
}

template <class T>
constexpr void describe_struct(TypeInfo& info) {
  info.kind = Kind::structure;
  info.name = std::string_view(type_letters<T>.data, sizeof(type_letters<T>.data) - 1);
  info.field_count = static_cast<std::uint8_t>(field_count<T>);
  info.fields = fields_of<T>.items;
  info.required = required_bits(draft_of<T>);
}

template <class T>
constexpr TypeInfo describe() {
  TypeInfo info;
  info.size = static_cast<std::uint32_t>(sizeof(T));
  info.json_types = json_types<T>();
  if constexpr (NullLike<T>) {
    info.kind = Kind::null;
  } else if constexpr (std::same_as<T, bool>) {
    info.kind = Kind::boolean;
  } else if constexpr (std::is_arithmetic_v<T>) {
    describe_number<T>(info);
  } else if constexpr (std::is_enum_v<T>) {
    describe_enum<T>(info);
  } else if constexpr (std::same_as<T, std::string_view>) {
    info.kind = Kind::string_view;
  } else if constexpr (std::same_as<T, Json>) {
    info.kind = Kind::json;
  } else if constexpr (ByHand<T>) {
    describe_struct<T>(info);
  } else if constexpr (StringLike<T>) {
    info.kind = Kind::string;
    info.assign = &assign_string<T>;
    info.read = &read_range<T>;
  } else if constexpr (OptionalLike<T>) {
    describe_optional<T>(info);
  } else if constexpr (MapLike<T>) {
    describe_map<T>(info);
  } else if constexpr (SpanLike<T>) {
    describe_span<T>(info);
  } else if constexpr (VectorLike<T>) {
    describe_vector<T>(info);
  } else if constexpr (VariantLike<T>) {
    describe_variant<T>(info);
  } else if constexpr (ArrayLike<T>) {
    describe_array<T>(info);
  } else if constexpr (TupleLike<T>) {
    describe_tuple<T>(info);
  } else if constexpr (std::is_aggregate_v<T> && std::is_class_v<T>) {
    describe_struct<T>(info);
  } else {
    static_assert(std::is_aggregate_v<T> && std::is_class_v<T>,
                  "ringrpc: a type is neither a known container nor a plain struct; a struct with "
                  "private members or constructors names its fields with RINGRPC_FIELDS");
  }
  return info;
}

template <class T>
constinit const TypeInfo Reflected<T>::info = describe<T>();

}  // namespace ringrpc::fields::detail
