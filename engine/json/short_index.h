#pragma once

// The index of a short, plain text: what most requests are. A first stage of our own for texts of
// printable ASCII without escapes; every other text is simdjson's.

#include <cstdint>

namespace ringrpc::json {

// Texts up to this size are tried here first. Longer ones gain nothing: what simdjson's first stage
// costs more is a constant (the copy of the last block, the call through its table).
inline constexpr std::uint32_t short_text_size_max = 512;

// Returns: whether this processor has what build_short() needs (AVX2, BMI1, PCLMULQDQ).
bool has_short_kernel();

// Writes the positions that simdjson's first stage would find.
// Requires: has_short_kernel(); 0 < size <= short_text_size_max; limits::padding readable bytes
//           behind the text; room for size + limits::padding positions.
// Returns:  how many, or 0 when the text is not plain: a control character, a backslash, a byte
//           above 0x7E, an open string, or no token at all. Then simdjson decides.
// Cost:     about 45 instructions for each 64 bytes and 4 for each position.
std::uint32_t build_short(const char* text, std::uint32_t size, std::uint32_t* positions);

}  // namespace ringrpc::json
