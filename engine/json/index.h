#pragma once

// The structure of one JSON text: where its tokens begin.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/json/short_index.h"

namespace ringrpc::json {

// Positions of every `{ } [ ] : ,` outside strings, of every string's opening quote, and of the
// first byte of everything else that is not white space. Building it checks that the text is UTF-8
// without raw control characters in strings and that every string is closed; whether the tokens
// make sense together is the walk's business (engine/json/walk.h).
// Owns:     4 bytes for each byte of the largest text, made by reserve(), touched as texts need.
// Lifetime: what the accessors return is valid until the next build; the text is borrowed.
// Thread:   one owner.          Cost: build() is one pass of vector code; never allocates.
// Invariant: positions()[count()] and the one after it equal size().
class Index {
 public:
  Index();
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Cold; once. An empty kernel takes the best that the machine has; tests name one of kernels().
  // Fails: out of memory, or no such kernel.
  base::Status reserve(std::uint32_t text_size_max, std::string_view kernel = {});

  // Requires: size <= text_size_max, limits::padding readable bytes behind the text.
  // Returns: false when the text cannot be JSON; count() is 0 then.
  bool build(const char* text, std::uint32_t size);
  // The same, byte by byte and without simdjson. Agrees with build() on every valid text.
  bool build_portable(const char* text, std::uint32_t size);

  [[nodiscard]] const char* text() const { return text_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] const std::uint32_t* positions() const { return positions_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Position of the first backslash, or size(): most texts hold no escapes.
  [[nodiscard]] std::uint32_t first_backslash() const { return first_backslash_; }
  [[nodiscard]] bool has_backslash() const { return first_backslash_ != size_; }

  // Returns: whether build() is the better choice: it has vector code here, or was asked for.
  [[nodiscard]] bool accelerated() const { return accelerated_; }
  [[nodiscard]] std::string kernel() const;
  static std::vector<std::string> kernels();
  // Returns: bytes of address space that reserve() takes, for the memory plan.
  static std::size_t memory(std::uint32_t text_size_max);

 private:
  struct Stage1;

  const char* text_ = nullptr;
  std::uint32_t* positions_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t first_backslash_ = 0;
  std::uint32_t text_size_max_ = 0;
  bool accelerated_ = false;
  ShortIndexer short_indexer_ = nullptr;  // of plain short texts, which simdjson never sees
  std::unique_ptr<Stage1> stage1_;
};

}  // namespace ringrpc::json
