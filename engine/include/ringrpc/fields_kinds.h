#pragma once

// What a type is called, and what it is in JSON, which is how the alternatives of a variant are
// told apart. For fields.h only. As with containers, no header of tuples and variants is included.

#include <ringrpc/fields_containers.h>
#include <ringrpc/fields_draft.h>
#include <ringrpc/fields_info.h>
#include <ringrpc/fields_names.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc {
class Json;
}

namespace ringrpc::fields::detail {

// --- Names --------------------------------------------------------------------------------------

template <class T>
constexpr Printed printed_type() {
  return {__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1};
}
template <class T>
constexpr std::string_view type_text() {
  const std::string_view text = printed_type<T>().text();
  const std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.size() - begin - 1);  // Without the bracket at the end.
}

// Returns: the last identifier of a type, before its template arguments.
constexpr std::string_view type_name(std::string_view text) {
  std::size_t depth = 0;
  std::size_t end = text.size();
  while (end > 0 && (text[end - 1] == '>' || depth > 0)) {
    --end;
    depth += text[end] == '>' ? 1u : 0u;
    depth -= text[end] == '<' ? 1u : 0u;
  }
  const std::string_view name = last_name(text.substr(0, end));
  return !name.empty() && (name[0] < '0' || name[0] > '9') ? name : "struct";
}

// The name alone, in ASCII, so that what the compiler printed is not kept.
template <class T>
constexpr auto copy_type_letters() {
  constexpr std::string_view name = type_name(type_text<T>());
  Text<name.size() + 1> copied;
  for (std::size_t i = 0; i < name.size(); ++i) {
    copied.data[i] = static_cast<unsigned char>(name[i]) < 0x80 ? name[i] : '_';
  }
  return copied;
}
template <class T>
inline constexpr auto type_letters = copy_type_letters<T>();

template <class T>
concept NullLike = std::same_as<T, std::nullptr_t> ||
                   (std::is_empty_v<T> && type_text<T>() == std::string_view("std::monostate"));

template <class T>
concept TupleLike = requires { std::tuple_size<T>::value; };

template <class T>
concept ArrayLike = TupleLike<T> && requires(T& list) {
  typename T::value_type;
  list.data();
};

template <class T>
concept VariantLike = requires(T& value) {
  value.valueless_by_exception();
  value.index();
};

template <class T>
struct Alternatives {};
template <template <class...> class V, class... A>
struct Alternatives<V<A...>> {
  static constexpr std::size_t count = sizeof...(A);
};

// --- In JSON ------------------------------------------------------------------------------------

template <class T>
constexpr std::uint8_t json_types();

template <template <class...> class V, class... A>
constexpr std::uint8_t json_types_of_any(const V<A...>*) {
  return static_cast<std::uint8_t>((0u | ... | json_types<A>()));
}
template <template <class...> class V, class... A>
constexpr bool json_types_differ(const V<A...>*) {
  // Bits that are in two of the summands carry, and are not in the sum.
  return (0u + ... + json_types<A>()) == (0u | ... | json_types<A>());
}

template <class T>
constexpr std::uint8_t json_types() {
  if constexpr (NullLike<T>) {
    return json_type::null;
  } else if constexpr (std::same_as<T, bool>) {
    return json_type::boolean;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return json_type::number;
  } else if constexpr (std::is_enum_v<T> || std::same_as<T, std::string_view>) {
    return json_type::string;
  } else if constexpr (std::same_as<T, Json>) {
    return json_type::any;
  } else if constexpr (ByHand<T>) {
    return json_type::object;
  } else if constexpr (StringLike<T>) {
    return json_type::string;
  } else if constexpr (OptionalLike<T>) {
    return json_type::null | json_types<typename T::value_type>();
  } else if constexpr (VariantLike<T>) {
    return json_types_of_any(static_cast<const T*>(nullptr));
  } else if constexpr (MapLike<T>) {
    return json_type::object;
  } else if constexpr (SpanLike<T> || VectorLike<T> || TupleLike<T>) {
    return json_type::array;
  } else {
    return json_type::object;
  }
}

}  // namespace ringrpc::fields::detail
