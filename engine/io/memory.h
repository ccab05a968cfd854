#pragma once

// Memory that a backend asks for once, at start.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>

#include "engine/base/memory.h"
#include "engine/base/status.h"

namespace ringrpc::io {

using base::ZeroedArray;

// The receive buffers of one worker, each with a gap behind it, so that the bytes behind any of
// them are readable. Owns:     count * (size + limits::receive_buffer_gap) bytes, one mapping.
// Thread:   worker only.
class BufferPool {
 public:
  // Requires: not made before; count is a power of two.
  // Fails: the mapping is refused.
  base::Status make(std::uint32_t count, std::uint32_t size);

  // Returns: the first byte of a buffer; limits::padding readable bytes follow its last.
  // Requires: index < count().
  [[nodiscard]] char* at(std::uint32_t index) { return &memory_[index * stride_]; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  ZeroedArray<char> memory_;
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
  std::size_t stride_ = 0;  // from one buffer to the next
};

}  // namespace ringrpc::io
