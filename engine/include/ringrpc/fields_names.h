#pragma once

// Names out of what a compiler prints: of members, and of enumerators. For fields.h only.

#include <ringrpc/fields_info.h>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace ringrpc::fields::detail {

template <std::size_t Size>
struct Text {
  char data[Size] = {};
};

template <class T, std::size_t N>
struct Array {
  T items[N == 0 ? 1 : N] = {};
};

// What a compiler prints in __PRETTY_FUNCTION__: the template arguments are at its end.
struct Printed {
  const char* data;
  std::size_t size;
  constexpr std::string_view text() const { return {data, size}; }
};
template <auto... V>
constexpr Printed printed() {
  return {__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1};
}

constexpr bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Returns: the last identifier of the text.
constexpr std::string_view last_name(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_name(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// --- Enums --------------------------------------------------------------------------------------

inline constexpr int enum_value_min = -128;
inline constexpr int enum_value_max = 127;

// Calls f(name, i) for each printed value that is an enumerator: one follows "::", while values
// without a name are printed as casts.
template <class F>
constexpr void each_printed(std::string_view text, F f) {
  std::size_t begin = text.find("V = ") + 5;  // The opening bracket too.
  std::size_t depth = 0;
  std::size_t place = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = depth == 0 && (c == '}' || c == '>');
    if (last || (depth == 0 && c == ',')) {
      const std::string_view value = text.substr(begin, i - begin);
      const std::string_view name = last_name(value);
      const std::size_t before = value.size() - name.size();
      if (before >= 2 && value.substr(before - 2, 2) == "::" && is_name(value.back())) {
        f(name, place);
      }
      if (last) return;
      begin = i + 1;
      ++place;
    }
    if (c == '(' || c == '<' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == '}') --depth;
  }
}

template <class E>
inline constexpr int enum_first = std::is_signed_v<std::underlying_type_t<E>> ? enum_value_min : 0;

template <class E, int... I>
constexpr std::string_view print_enum(std::integer_sequence<int, I...>) {
  using Value = std::underlying_type_t<E>;
  return printed<static_cast<E>(static_cast<Value>(enum_first<E> + I))...>().text();
}
template <class E>
constexpr std::string_view print_enum() {
  constexpr bool is_bool = std::same_as<std::underlying_type_t<E>, bool>;
  constexpr int count = is_bool ? 2 : enum_value_max + 1 - enum_first<E>;
  return print_enum<E>(std::make_integer_sequence<int, count>());
}

struct EnumSize {
  std::size_t names = 0;
  std::size_t letters = 0;
};
template <class E>
constexpr EnumSize measure_enum() {
  EnumSize size;
  each_printed(print_enum<E>(), [&](std::string_view name, std::size_t) {
    ++size.names;
    size.letters += name.size();
  });
  return size;
}
template <class E>
inline constexpr EnumSize enum_size = measure_enum<E>();

// The names alone, one behind the other, so that what the compiler printed is not kept.
template <class E>
constexpr auto copy_enum_letters() {
  Text<enum_size<E>.letters + 1> copied;
  char* out = copied.data;
  each_printed(print_enum<E>(), [&](std::string_view name, std::size_t) {
    for (char c : name) *out++ = c;
  });
  return copied;
}
template <class E>
inline constexpr auto enum_letters = copy_enum_letters<E>();

// The enumerators of E, in the order of their values.
template <class E>
constexpr auto make_enum_names() {
  Array<EnumName, enum_size<E>.names> made;
  const char* letters = enum_letters<E>.data;
  std::size_t count = 0;
  each_printed(print_enum<E>(), [&](std::string_view name, std::size_t place) {
    made.items[count++] = {{letters, name.size()}, enum_first<E> + static_cast<int>(place)};
    letters += name.size();
  });
  return made;
}
template <class E>
inline constexpr auto enum_names = make_enum_names<E>();

}  // namespace ringrpc::fields::detail
