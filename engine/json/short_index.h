#pragma once

// The index of a short, plain text: what most requests are. A first stage of our own for texts of
// printable ASCII without escapes; every other text is simdjson's.

#include <cstdint>
#include <span>
#include <string_view>

namespace ringrpc::json {

// Texts up to this size are tried here first. Longer ones gain nothing: what simdjson's first stage
// costs more is a constant (the copy of the last block, the call through its table).
inline constexpr std::uint32_t short_text_size_max = 512;

// Writes the positions that simdjson's first stage would find.
// Requires: 0 < size <= short_text_size_max; limits::padding readable bytes behind the text; room
//           for size + limits::padding positions.
// Returns:  how many, or 0 when the text is not plain: a control character, a backslash, a byte
//           above 0x7E, an open string, or no token at all. Then simdjson decides.
// Cost:     for each 64 bytes 45 instructions and 4 for each position (AVX2), or 65 (AVX-512).
using ShortIndexer = std::uint32_t (*)(const char* text, std::uint32_t size,
                                       std::uint32_t* positions);

struct ShortKernel {
  std::string_view name;
  bool (*supported)();  // by this processor
  ShortIndexer index;
};

// All that were compiled, the best one first.
std::span<const ShortKernel> short_kernels();

// Returns: the best that this processor has, null when it has none.
ShortIndexer short_indexer();

}  // namespace ringrpc::json
