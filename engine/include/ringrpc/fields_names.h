#pragma once

// Names out of what a compiler prints: of members, and of enumerators. For fields.h only.

#include <ringrpc/fields_info.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
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

// Where the printed enumerators are: each name's place in the text, and in the list of values.
struct EnumDraft {
  std::uint32_t begins[256] = {};
  std::uint16_t sizes[256] = {};
  std::uint8_t places[256] = {};
  std::size_t count = 0;
  std::size_t letters = 0;
};

// Returns: the end of the printed value that begins there: a comma or bracket outside of brackets.
constexpr std::size_t value_end(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin;; ++i) {
    const char c = text[i];
    if (depth == 0 && (c == ',' || c == '}' || c == '>')) return i;
    if (c == '(' || c == '<' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == '}') --depth;
  }
}

constexpr bool is_cast(std::string_view text, std::size_t begin, std::size_t cast_size) {
  if (cast_size == 0 || text[begin] != '(' || text[begin + cast_size - 1] != ')') return false;
  const char c = text[begin + cast_size];
  return c == '-' || (c >= '0' && c <= '9');
}

// Finds the values that are enumerators: a name behind "::". Values without a name are printed as
// casts, all of the same type; once the length of that type is known they are stepped over, since
// they are nearly all and compilers run this slowly.
constexpr EnumDraft read_printed_enum(std::string_view text) {
  EnumDraft draft;
  std::size_t cast_size = 0;
  std::size_t begin = text.find("V = ") + 5;  // The opening bracket too.
  for (std::size_t place = 0;; ++place) {
    std::size_t end = begin;
    if (is_cast(text, begin, cast_size)) {
      end += cast_size + 1;
      while (text[end] >= '0' && text[end] <= '9') ++end;
    } else {
      end = value_end(text, begin);
      const std::string_view value = text.substr(begin, end - begin);
      const std::string_view name = last_name(value);
      const std::size_t before = value.size() - name.size();
      if (before >= 2 && value.substr(before - 2, 2) == "::" && is_name(value.back())) {
        draft.begins[draft.count] = static_cast<std::uint32_t>(begin + before);
        draft.sizes[draft.count] = static_cast<std::uint16_t>(name.size());
        draft.places[draft.count] = static_cast<std::uint8_t>(place);
        draft.letters += name.size();
        ++draft.count;
      } else {
        cast_size = value.rfind(')') + 1;
      }
    }
    if (text[end] != ',') return draft;
    begin = end + 2;  // The blank too.
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

template <class E>
inline constexpr EnumDraft enum_draft = read_printed_enum(print_enum<E>());

// The names alone, one behind the other, so that what the compiler printed is not kept.
template <class E>
constexpr auto copy_enum_letters() {
  constexpr const EnumDraft& draft = enum_draft<E>;
  constexpr std::string_view text = print_enum<E>();
  Text<draft.letters + 1> copied;
  char* out = copied.data;
  for (std::size_t i = 0; i < draft.count; ++i) {
    for (std::size_t letter = 0; letter < draft.sizes[i]; ++letter) {
      *out++ = text[draft.begins[i] + letter];
    }
  }
  return copied;
}
template <class E>
inline constexpr auto enum_letters = copy_enum_letters<E>();

// The enumerators of E, in the order of their values.
template <class E>
constexpr auto make_enum_names() {
  constexpr const EnumDraft& draft = enum_draft<E>;
  Array<EnumName, draft.count> made;
  const char* letters = enum_letters<E>.data;
  for (std::size_t i = 0; i < draft.count; ++i) {
    made.items[i] = {{letters, draft.sizes[i]}, enum_first<E> + int{draft.places[i]}};
    letters += draft.sizes[i];
  }
  return made;
}
template <class E>
inline constexpr auto enum_names = make_enum_names<E>();

}  // namespace ringrpc::fields::detail
