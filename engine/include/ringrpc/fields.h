#pragma once

// Structs as tables: the names, offsets and types of the members of a plain struct, made by the
// compiler. One decoder and one encoder of the engine work from these tables, so that a user's
// file holds no parser (engine/docs/decisions/0004-field-reflection.md).
//
//   struct Sum { std::int64_t a; std::int64_t b; };        // nothing else to write
//
// Members may be bool, integers, float, double, std::string, std::string_view, std::optional,
// std::vector, std::span<const T> of scalars, maps with string keys, scoped enums (by name, values
// in [-128, 127]), ringrpc::Json, std::array, std::tuple and std::pair (arrays of a fixed length),
// std::variant (told by the JSON type of the value), null (std::nullptr_t, std::monostate), and
// structs of these, also recursive through vectors. Params and results may be all of these too, as
// long as params are an object or an array. Who owns what: engine/docs/lifetimes.md. A member that
// is not a std::optional is required, default initialiser or not: the compiler does not tell
// whether there is one. For private members, bases and names that are no C++ identifiers, list the
// fields by hand:
//
//   RINGRPC_FIELDS(Sum, a, b)                              // beside the struct
//   friend RINGRPC_FIELDS(Sum, a_, b_)                     // inside it, for private members
//   constexpr auto ringrpc_fields(const Word*) {           // a rename
//     using namespace ringrpc::fields;
//     return list(field("class", &Word::class_), field("text", &Word::text));
//   }

#include <ringrpc/fields_info.h>
#include <ringrpc/fields_types.h>
#include <ringrpc/limits.h>

#include <cstddef>

namespace ringrpc::fields {

// Returns: the table of T, which may be any type that a member may have.
template <class T>
constexpr const TypeInfo& type_of() {
  return detail::Reflected<T>::info;
}

// Returns: whether some value of T is an object or an array, as params are.
template <class T>
consteval bool can_be_params() {
  return (detail::json_types<T>() & (json_type::array | json_type::object)) != 0;
}

// One entry of a list by hand. Requires: a name that needs no escapes in JSON.
template <std::size_t N, class C, class M>
consteval auto field(const char (&name)[N], M C::* member) {
  return detail::Listed<N, C, M>(name, member);
}

// The fields of a struct by hand, in the order in which params by position fill them.
template <class... Entries>
consteval auto list(Entries... entries) {
  static_assert(sizeof...(Entries) <= limits::struct_members_max,
                "ringrpc: a struct may have at most 64 fields");
  return detail::make_slots(entries...);
}

}  // namespace ringrpc::fields

// The fields of Type by hand, each under its own name: at namespace scope beside the struct, or
// with `friend` in front inside it.
#define RINGRPC_FIELDS(Type, ...)                                                             \
  constexpr auto ringrpc_fields(const Type*) {                                                \
    return ::ringrpc::fields::list(RINGRPC_EXPAND(RINGRPC_FIELD_ENTRIES(Type, __VA_ARGS__))); \
  }
#define RINGRPC_FIELD_ENTRIES(Type, name, ...) \
  ::ringrpc::fields::field(#name, &Type::name) \
      __VA_OPT__(, RINGRPC_FIELD_AGAIN RINGRPC_PARENS(Type, __VA_ARGS__))
#define RINGRPC_FIELD_AGAIN() RINGRPC_FIELD_ENTRIES
#define RINGRPC_PARENS ()
// 4 * 4 * 4 rescans: one for each of at most 64 entries.
#define RINGRPC_EXPAND(...) \
  RINGRPC_EXPAND_16(RINGRPC_EXPAND_16(RINGRPC_EXPAND_16(RINGRPC_EXPAND_16(__VA_ARGS__))))
#define RINGRPC_EXPAND_16(...) \
  RINGRPC_EXPAND_4(RINGRPC_EXPAND_4(RINGRPC_EXPAND_4(RINGRPC_EXPAND_4(__VA_ARGS__))))
#define RINGRPC_EXPAND_4(...) \
  RINGRPC_EXPAND_1(RINGRPC_EXPAND_1(RINGRPC_EXPAND_1(RINGRPC_EXPAND_1(__VA_ARGS__))))
#define RINGRPC_EXPAND_1(...) __VA_ARGS__
