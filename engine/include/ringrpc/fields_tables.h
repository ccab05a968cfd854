#pragma once

// From drafts to the tables that stay in the program. For fields.h only.

#include <ringrpc/fields_draft.h>
#include <ringrpc/fields_info.h>
#include <ringrpc/fields_names.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ringrpc::fields::detail {

constexpr bool names_are_plain(const Entry* entries, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (char c : entries[i].name) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return false;
    }
  }
  return true;
}

constexpr bool names_differ(const Entry* entries, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].name == entries[j].name && entries[i].type != nullptr) return false;
    }
  }
  return true;
}

template <class T>
inline constexpr std::size_t field_count = std::remove_cvref_t<decltype(draft_of<T>)>::count;

// A name is kept as it is written: ,"name":
inline constexpr std::size_t fragment_extra = 4;
inline constexpr std::size_t fragment_padding = 16;

template <class T>
constexpr std::size_t fragments_size() {
  std::size_t size = fragment_padding;
  for (std::size_t i = 0; i < field_count<T>; ++i) {
    size += draft_of<T>.entries[i].name.size() + fragment_extra;
  }
  return size;
}

template <class T>
constexpr auto make_fragments() {
  static_assert(names_are_plain(draft_of<T>.entries, field_count<T>),
                "ringrpc: a field's name holds a quote, a backslash or a control character");
  static_assert(names_differ(draft_of<T>.entries, field_count<T>),
                "ringrpc: two fields have the same name");
  Text<fragments_size<T>()> made;
  char* out = made.data;
  for (std::size_t i = 0; i < field_count<T>; ++i) {
    *out++ = ',';
    *out++ = '"';
    for (char c : draft_of<T>.entries[i].name) *out++ = c;
    *out++ = '"';
    *out++ = ':';
  }
  return made;
}
template <class T>
inline constexpr auto fragments_of = make_fragments<T>();

template <class T>
constexpr auto make_fields() {
  Array<Field, field_count<T>> made;
  const char* fragment = fragments_of<T>.data;
  for (std::size_t i = 0; i < field_count<T>; ++i) {
    const Entry& entry = draft_of<T>.entries[i];
    Field& field = made.items[i];
    field.fragment = fragment;
    field.name_size = static_cast<std::uint16_t>(entry.name.size());
    field.type = entry.type;
    field.offset = entry.offset;
    field.bit = std::uint64_t{1} << i;
    for (std::size_t byte = 0; byte < 8 && byte < entry.name.size() + 1; ++byte) {
      const auto letter = static_cast<unsigned char>(fragment[2 + byte]);
      field.head |= std::uint64_t{letter} << (8 * byte);
      field.head_mask |= std::uint64_t{0xFF} << (8 * byte);
    }
    fragment += entry.name.size() + fragment_extra;
  }
  return made;
}
template <class T>
inline constexpr auto fields_of = make_fields<T>();

}  // namespace ringrpc::fields::detail
