#pragma once

// JSON as handlers see it: Json (a member of raw text), JsonValue (a value of a received message)
// and JsonWriter (json_writer.h).

#include <ringrpc/json_writer.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace ringrpc {

namespace json {

class Decoder;

// Bump memory for what a call's params need beside their own text: strings with escapes, and the
// elements of spans. Given back as a whole.
// Owns:     nothing; the memory is the caller's and outlives it.
// Lifetime: a take()n piece is valid until rewind() behind it.
// Thread:   one call at a time.            Cost: take O(1).
class Scratch {
 public:
  Scratch() = default;
  Scratch(void* memory, std::size_t capacity)
      : begin_(static_cast<char*>(memory)), capacity_(capacity) {}

  // Requires: alignment is a power of two.
  // Returns: size bytes, or null when there are not as many left.
  [[nodiscard]] char* take(std::size_t size, std::size_t alignment = 1) {
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(begin_) + used_;
    const std::size_t gap = static_cast<std::size_t>(-address) & (alignment - 1);
    if (capacity_ - used_ < gap || capacity_ - used_ - gap < size) return nullptr;
    char* piece = begin_ + used_ + gap;
    used_ += gap + size;
    return piece;
  }

  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  // Gives back everything that was taken after used() was this. Requires: used <= used().
  void rewind(std::size_t used) { used_ = used; }
  void reset() { used_ = 0; }

 private:
  char* begin_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

}  // namespace json

// A JSON value as its text: a struct member that is neither parsed in params nor made in results.
// Lifetime: in params a view of the message, valid until the handler returns. Built from a
//           std::string it owns the text; built from a string_view or a literal it is a view.
// In results the text must be one JSON value, or the call answers -32603; empty text is null. What
// came out of a message is known to be JSON, everything else is read once more to find out.
class Json {
 public:
  Json() = default;
  Json(std::string text) : owned_(std::move(text)) {}    // NOLINT: meant to be implicit.
  Json(std::string_view text) noexcept : view_(text) {}  // NOLINT: meant to be implicit.
  Json(const char* text) noexcept : view_(text) {}       // NOLINT: meant to be implicit.

  [[nodiscard]] std::string_view text() const noexcept {
    return owned_.empty() ? view_ : std::string_view(owned_);
  }
  // Returns: whether the text is known to be one JSON value.
  [[nodiscard]] bool checked() const noexcept { return checked_; }

 private:
  friend class json::Decoder;
  struct Checked {};
  Json(std::string_view text, Checked) noexcept : view_(text), checked_(true) {}

  std::string owned_ = {};
  std::string_view view_ = {};
  bool checked_ = false;
};

// A value inside a validated text: a cursor over its structural index. Cheap to copy; nothing is
// read before it is asked for.
// Lifetime: that of the message: until the handler returns.
// Invariant: *position_ is the index of the value's first byte; the text is valid JSON, and 64
//            readable bytes follow it.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { absent, null, boolean, number, string, array, object };

  // Absent: what find() answers when there is no such member.
  JsonValue() = default;
  // For the engine. Requires: the invariant, and an entry of the text's size behind the index.
  JsonValue(const char* text, const std::uint32_t* position) : text_(text), position_(position) {}

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool exists() const { return position_ != nullptr; }
  explicit operator bool() const { return exists(); }

  // Returns: the value's text as it came, quotes and inner blanks included; empty when absent.
  // Cost: O(1) for scalars, O(entries inside) for arrays and objects.
  [[nodiscard]] std::string_view raw() const;

  // Each get() reads one kind and leaves `value` alone when it returns false: another kind, or out
  // of range. Integers may be written as 2.0 or 1e2; they are exact over the whole 64 bits.
  [[nodiscard]] bool get(bool& value) const;
  [[nodiscard]] bool get(std::int64_t& value) const;
  [[nodiscard]] bool get(std::uint64_t& value) const;
  [[nodiscard]] bool get(double& value) const;
  // A string: a view of the message, or of the scratch when it has escapes. False too when the
  // scratch is full.
  [[nodiscard]] bool get(std::string_view& value, json::Scratch& scratch) const;
  // A string, copied.
  [[nodiscard]] bool get(std::string& value) const {
    if (kind() != Kind::string) return false;
    value.resize(raw().size());
    value.resize(copy_string(value.data()));
    return true;
  }

  // One member of an object, or one element of an array, and the way to the next:
  //   for (JsonValue::Entry e = v.first(); e; e = e.next()) ...
  class Entry;
  [[nodiscard]] Entry first() const;

  // Returns: the first member of that name (compared after unescaping), or an absent value.
  [[nodiscard]] JsonValue find(std::string_view name) const;
  // Returns: the element at that place, or an absent value. Cost: O(entries before it).
  [[nodiscard]] JsonValue at(std::size_t place) const;
  // Returns: the number of members or elements; 0 for everything else.
  [[nodiscard]] std::size_t size() const;

  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] const std::uint32_t* position() const { return position_; }

 private:
  // Unescapes a string. Requires: raw().size() bytes at target. Returns: how many were written.
  std::size_t copy_string(char* target) const;

  const char* text_ = nullptr;
  const std::uint32_t* position_ = nullptr;
};

class JsonValue::Entry {
 public:
  Entry() = default;

  explicit operator bool() const { return value_.exists(); }
  [[nodiscard]] JsonValue value() const { return value_; }
  // Returns: the member's name between its quotes, escapes as they came; empty in arrays.
  [[nodiscard]] std::string_view raw_name() const;
  // Returns: whether the member's name is this one, after unescaping.
  [[nodiscard]] bool is(std::string_view name) const;
  // Cost: O(entries inside the value).
  [[nodiscard]] Entry next() const;

 private:
  friend class JsonValue;
  Entry(JsonValue value, const std::uint32_t* name) : value_(value), name_(name) {}

  JsonValue value_;
  const std::uint32_t* name_ = nullptr;  // Null in arrays.
};

}  // namespace ringrpc
