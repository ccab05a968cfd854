#pragma once

// Writes one JSON value after the other into memory that somebody else owns.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ringrpc {

// A writer of JSON without white space. Commas and colons come by themselves:
//
//   w.begin_object();
//   w.member("sum");
//   w.integer(5);
//   w.end_object();
//
// Errors are sticky and looked at once, at the end: `overflowed` when the memory is full and cannot
// grow, `invalid` for what is not JSON (NaN, infinity, text that is not UTF-8, a value where a name
// is due, brackets that do not match, more than 64 of them open).
// Owns:     nothing; the memory is the caller's.
// Cost:     no allocation; one compare for room in each call.
// Invariant: begin_ <= cursor_ <= end_; after an overflow end_ == cursor_, so that nothing fits.
class JsonWriter {
 public:
  // Makes room for `need` more bytes: moves the size() bytes at begin() elsewhere and calls
  // relocate(). Returns: whether it did.
  using Grow = bool (*)(void* owner, JsonWriter& writer, std::size_t need);

  JsonWriter(char* begin, char* end, Grow grow = nullptr, void* owner = nullptr)
      : begin_(begin), cursor_(begin), end_(end), limit_(end), grow_(grow), owner_(owner) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void begin_object() { open('{', true); }
  void end_object() { close('}', true); }
  void begin_array() { open('[', false); }
  void end_array() { close(']', false); }
  // The name of the next member, in an object.
  void member(std::string_view name);

  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? std::string_view("true") : "false"); }
  void integer(std::int64_t value);
  void unsigned_integer(std::uint64_t value);
  // The shortest text that reads back as the same number.
  void number(double value);
  void short_number(float value);
  void string(std::string_view value);
  // One JSON value as it is. Requires: it is valid JSON. Builds with RINGRPC_DEBUG_CHECKS look:
  // what is not marks the writer invalid there, so that the call answers -32603.
  void raw(std::string_view json);

  // --- For the engine ---------------------------------------------------------------------------

  // Bytes outside of any value: the frame around a result.
  [[gnu::always_inline]] void bytes(std::string_view text) {
    if (text.empty() || !fits(text.size())) return;
    std::memcpy(cursor_, text.data(), text.size());
    cursor_ += text.size();
  }
  // Returns: where `size` bytes outside of any value may be written without growing, else null.
  // Whoever writes there calls advance() with what was written.
  [[nodiscard]] char* spare(std::size_t size) {
    return static_cast<std::size_t>(end_ - cursor_) >= size ? cursor_ : nullptr;
  }
  void advance(std::size_t size) { cursor_ += size; }
  // A member by the fragment ,"name": of its field. Requires: 16 readable bytes; size counts the
  // comma, both quotes and the colon.
  void member_fragment(const char* fragment, std::size_t size);
  // Forgets the brackets and expects one whole value from here on.
  void begin_value();
  // Returns: whether exactly one whole value has been written since begin_value().
  [[nodiscard]] bool complete() const { return state_ == State::complete && depth_ == 0; }
  // Drops everything behind the first `size` bytes, and the errors. Requires: size <= size().
  void rewind(std::size_t size);
  // Marks what has been written as no JSON.
  void fail() { invalid_ = true; }
  // For Grow: the bytes written so far are at new_begin now.
  // Requires: new_end - new_begin >= size().
  void relocate(char* new_begin, char* new_end);

  [[nodiscard]] const char* begin() const { return begin_; }
  [[nodiscard]] char* begin() { return begin_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(cursor_ - begin_); }
  [[nodiscard]] std::string_view view() const { return {begin_, size()}; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  [[nodiscard]] bool invalid() const { return invalid_; }
  [[nodiscard]] bool ok() const { return !overflowed_ && !invalid_; }

 private:
  // What may come next.
  enum class State : std::uint8_t {
    value,     // a value, without a comma: the first, or behind a name
    element,   // a comma and a value, or the array's end
    name,      // a name without a comma, or the object's end
    next,      // a comma and a name, or the object's end
    complete,  // nothing
  };

  [[nodiscard]] bool fits(std::size_t need) {
    if (static_cast<std::size_t>(end_ - cursor_) >= need) [[likely]]
      return true;
    return make_room(need);
  }
  // Cold: asks Grow. Returns: whether `need` bytes fit now.
  [[gnu::cold, gnu::noinline]] bool make_room(std::size_t need);

  // Writes the comma if one is due. Requires: one byte fits.
  void separate();
  // Marks a value as written.
  void finish_value() { state_ = depth_ == 0 ? State::complete : behind_value(); }
  [[nodiscard]] State behind_value() const {
    return (objects_ & 1u) != 0 ? State::next : State::element;
  }

  void literal(std::string_view text);
  void open(char bracket, bool is_object);
  void close(char bracket, bool is_object);
  // Writes a quoted string. Returns: false when it did not fit.
  bool quoted(std::string_view text);
  bool quote_special(const char*& at, const char* end);
  template <class Number>
  void digits(Number value);

  char* begin_;
  char* cursor_;
  char* end_;    // cursor_ after an overflow
  char* limit_;  // the memory's end
  Grow grow_;
  void* owner_;
  std::uint64_t objects_ = 0;  // One bit for each open bracket, the innermost lowest: an object?
  std::uint8_t depth_ = 0;
  State state_ = State::value;
  bool overflowed_ = false;
  bool invalid_ = false;
};

}  // namespace ringrpc
