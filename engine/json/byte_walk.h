#pragma once

// The grammar of JSON once more: one byte after the other, every byte bounded, nothing shared with
// the index and the walk over it. Their partner in differential tests, and their stand-in where
// simdjson has no vector code.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ringrpc::json {

// Takes a text apart from the front, and counts the entries that an index has for what it passed.
// Every take returns whether what it names was there; after a false the walk is of no more use.
// Requires: the text is UTF-8 (Index::build_portable has seen it).
class ByteWalk {
 public:
  struct Value {
    std::string_view token;   // from its first byte to its last
    std::uint32_t first = 0;  // its entries
    std::uint32_t end = 0;
  };

  explicit ByteWalk(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::uint32_t entries() const { return entries_; }
  // Returns: the first byte behind white space, 0 at the end.
  char peek();
  // One of `{ } [ ] : ,` behind white space.
  bool take(char punctuation);
  // A string behind white space; `raw` is what stands between the quotes.
  bool take_text(std::string_view& raw);
  // A value behind white space, with all that it holds.
  bool take_value(Value& value);

 private:
  void skip_blanks();
  // These want no white space before them.
  bool take_string();
  bool take_escape();
  bool take_number();
  bool take_digits();
  bool take_word(std::string_view word);
  bool take_scalar();
  bool take_containers();
  bool take_name();

  std::string_view rest_;
  std::uint32_t entries_ = 0;
};

// A string without its escapes, up to a capacity.
class Unescaped {
 public:
  Unescaped(char* out, std::size_t capacity) : out_(out), capacity_(capacity) {}

  // Requires: `raw` lies between two quotes and its escapes are valid.
  void take(std::string_view raw);

  [[nodiscard]] bool overflow() const { return overflow_; }
  [[nodiscard]] std::string_view text() const { return {out_, size_}; }

 private:
  void put(int byte);
  void put_point(int point);

  char* out_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  bool overflow_ = false;
};

}  // namespace ringrpc::json
