#pragma once

// UTF-8 that comes in pieces: a code point may lie in two of them.
//
// Source: RFC 3629; no overlong forms, no surrogates, nothing above U+10FFFF.

#include <cstddef>
#include <cstdint>

namespace ringrpc::ws {

// Checks a text as it comes.
// Cost: 4 bytes while a message is read; ASCII goes 16 bytes a step.
class Utf8 {
 public:
  // Returns: false once no continuation can make the text UTF-8: at the first impossible byte.
  // Requires: it has not returned false before.
  bool feed(const char* data, std::size_t size);

  // Whether the text may end here.
  [[nodiscard]] bool complete() const { return left_ == 0; }

 private:
  bool begin(std::uint8_t lead);

  std::uint8_t left_ = 0;  // bytes of the current code point still to come
  std::uint8_t low_ = 0;   // the next one is in [low_, high_]
  std::uint8_t high_ = 0;
};

}  // namespace ringrpc::ws
