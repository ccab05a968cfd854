#pragma once

// The decoder's insides: decode.cpp reads structs, decode_values.cpp everything else.

#include <ringrpc/fields_info.h>
#include <ringrpc/json.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/json/decode.h"
#include "engine/json/number.h"

namespace ringrpc::json {

using fields::Field;
using fields::Kind;
using fields::TypeInfo;

static_assert(std::endian::native == std::endian::little, "words are stored and compared as bytes");

// Stores the low bytes of a word. Requires: size is 1, 2, 4 or 8.
inline void store(void* target, std::uint64_t bits, std::uint32_t size) {
  switch (size) {
    case 8:
      std::memcpy(target, &bits, 8);
      return;
    case 4:
      std::memcpy(target, &bits, 4);
      return;
    case 2:
      std::memcpy(target, &bits, 2);
      return;
    default:
      std::memcpy(target, &bits, 1);
      return;
  }
}

// A place in the index: before a value, or behind it. Null when a value did not fit.
using Place = const std::uint32_t*;

// Reads one message's values into one target. Each member function reads the value at `at` and
// returns the place behind it, or fills the error and returns null.
// PERF: what struct members need most is inlined into read_struct, everything else is kept out of
// it, and places live in registers: {"a":2,"b":3} costs 226 instructions against 376 with one
// inlined switch and a cursor in memory (bench/micro/json_bench.cpp).
class Decoder {
 public:
  Decoder(const char* text, Scratch& scratch, const DecodeOptions& options, DecodeError& error)
      : text_(text),
        scratch_(scratch),
        error_(error),
        options_(options),
        memory_left_(options.memory_max) {}

  Place read_params(const TypeInfo& type, void* target, Place at);

 private:
  Place read(const TypeInfo& type, void* target, Place at);
  [[gnu::cold, gnu::noinline]] Place fail(const char* reason) {
    error_.reason = reason;
    return nullptr;
  }
  [[gnu::cold, gnu::noinline]] Place fail_in(std::string_view name, const char* reason) {
    error_.prepend_name(name);
    return fail(reason);
  }
  [[gnu::cold, gnu::noinline]] Place fail_at(std::size_t place, const char* reason) {
    error_.prepend_place(place);
    return fail(reason);
  }
  [[gnu::cold, gnu::noinline]] Place fail_number(NumberStatus status, const char* reason) {
    return fail(status == NumberStatus::out_of_range ? reasons::out_of_range : reason);
  }
  // An inner value has failed already: says where.
  [[gnu::cold, gnu::noinline]] Place failed_in(std::string_view name) {
    error_.prepend_name(name);
    return nullptr;
  }
  [[gnu::cold, gnu::noinline]] Place failed_at(std::size_t place) {
    error_.prepend_place(place);
    return nullptr;
  }

  Place read_boolean(void* target, Place at);
  Place read_integer_of(const TypeInfo& type, void* target, Place at);
  [[gnu::cold, gnu::noinline]] Place read_integer_slow(const TypeInfo& type, void* target,
                                                       Place at);
  [[gnu::noinline]] Place read_floating(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_enum(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_optional(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_vector(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_span(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_map(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_array(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_variant(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_null(Place at);
  [[gnu::noinline]] Place read_struct(const TypeInfo& type, char* target, Place at);
  // A struct by position, or a tuple. What is missing at the end must be optional.
  [[gnu::noinline]] Place read_positional(const TypeInfo& type, char* target, Place at);
  [[gnu::noinline]] Place read_text(std::string_view& text, Place at);
  [[gnu::noinline]] Place read_owned_text(const TypeInfo& type, void* target, Place at);
  [[gnu::noinline]] Place read_json(void* target, Place at);
  // Everything but integers. Returns: as read().
  [[gnu::noinline]] Place read_other(const TypeInfo& type, void* target, Place at);

  [[nodiscard]] bool is_field(const Field& field, std::uint64_t head, Place at) const;
  [[gnu::noinline]] const Field* find(const TypeInfo& type, const Field* expected, Place at) const;
  [[gnu::cold, gnu::noinline]] const Field* find_escaped(const TypeInfo& type,
                                                         std::string_view name) const;
  [[gnu::noinline]] Place unknown_member(Place at);
  [[nodiscard]] std::size_t count_scalars(Place at) const;
  // Unescapes a string's body into the scratch if need be. Returns: false when that is full.
  bool unescaped(std::string_view& body);
  // Charges memory that an owning member is about to take. Returns: false when it is too much.
  bool charge(std::size_t size) {
    if (size > memory_left_) [[unlikely]]
      return false;
    memory_left_ -= size;
    return true;
  }

  const char* text_;
  Scratch& scratch_;
  DecodeError& error_;
  const DecodeOptions& options_;
  std::size_t memory_left_;
};

inline Place Decoder::read_integer_of(const TypeInfo& type, void* target, Place at) {
  Integer integer;
  if (!read_plain_integer(text_ + *at, integer) ||
      integer.magnitude > type.magnitude_max[integer.negative]) [[unlikely]] {
    return read_integer_slow(type, target, at);
  }
  store(target, bits_of(integer), type.size);
  return at + 1;
}

inline Place Decoder::read(const TypeInfo& type, void* target, Place at) {
  if (type.kind == Kind::signed_integer || type.kind == Kind::unsigned_integer) {
    return read_integer_of(type, target, at);
  }
  return read_other(type, target, at);
}

}  // namespace ringrpc::json
