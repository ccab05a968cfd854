#pragma once

// Params into structs, by the tables of <ringrpc/fields_info.h>: one decoder for every type.

#include <ringrpc/fields_info.h>
#include <ringrpc/json.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::json {

// Why params are not those of a method, and where.
class DecodeError {
 public:
  // What is wrong, in a few words: static text, one of the reasons below.
  const char* reason = "";

  // Returns: `b`, `list[2].x`, `[1]`; empty for the params as a whole. Names stand as they are in
  // the message, escapes included. Where a path is too long, "..." stands for its outer part.
  [[nodiscard]] std::string_view field() const {
    const std::string_view text(path_.data() + begin_, path_.size() - begin_);
    return text.starts_with('.') && !cut_ ? text.substr(1) : text;
  }

  // The path grows from its end: the innermost part is known first.
  [[gnu::cold]] void prepend_name(std::string_view name);
  [[gnu::cold]] void prepend_place(std::size_t place);

 private:
  void prepend(std::string_view piece);

  static constexpr std::size_t path_size_max = 256;
  std::array<char, path_size_max> path_;  // Not zeroed: begin_ bounds it.
  std::uint16_t begin_ = path_size_max;
  bool cut_ = false;
};

struct DecodeOptions {
  bool strict = false;     // Unknown members are refused, and not ignored.
  bool positional = true;  // An array fills the members in the order of their declaration.
  // What owning members may take, in bytes: what strings hold, and the sizes of the elements of
  // vectors and maps.
  std::size_t memory_max = SIZE_MAX;
};

// Beside its key and its value, what an entry of a map is charged.
inline constexpr std::size_t map_entry_extra = 64;

// Decodes a value of a validated text. A member that occurs twice is refused: whoever looked at the
// message before may have read the other one. So is null for what is no optional.
// An absent value is decoded as an empty object or array.
// Requires: target points to a constructed object of that type.
// Returns: false with `error` filled when the value does not fit; target is then half filled.
// Cost: one pass; allocates in owning members only. The depth of its recursion is bounded by the
//       text's (limits::depth_max), which has been checked.
[[nodiscard]] bool decode(const fields::TypeInfo& type, void* target, JsonValue value,
                          Scratch& scratch, const DecodeOptions& options, DecodeError& error);

// The reasons.
namespace reasons {
inline constexpr char required[] = "is required";
inline constexpr char duplicate[] = "occurs twice";
inline constexpr char unknown[] = "is not a known member";
inline constexpr char too_many[] = "is one too many";
inline constexpr char not_boolean[] = "must be true or false";
inline constexpr char not_integer[] = "must be an integer";
inline constexpr char not_number[] = "must be a number";
inline constexpr char not_string[] = "must be a string";
inline constexpr char not_array[] = "must be an array";
inline constexpr char not_object[] = "must be an object";
inline constexpr char out_of_range[] = "is out of range";
inline constexpr char not_enumerator[] = "is none of the allowed names";
inline constexpr char not_null[] = "must be null";
inline constexpr char no_alternative[] = "is of none of the allowed types";
// Not the fault of what was sent alone: too much for one call, and more than the machine has.
inline constexpr char over_memory[] = "needs more memory than a call may use";
inline constexpr char no_memory[] = "could not be stored";
}  // namespace reasons

}  // namespace ringrpc::json
