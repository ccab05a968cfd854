#pragma once

// Memory that a backend asks for once, at start.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/base/status.h"

namespace ringrpc::io {

// Maps zeroed memory, which costs address space only until it is touched.
// Fails: the mapping is refused; memory is null then.
base::Status map_zeroes(std::size_t bytes, void*& memory);
void unmap(void* memory, std::size_t bytes);

// A fixed array of zeroes.
// Owns:     count * sizeof(T) bytes, one mapping.
// Requires: T is made of plain members for which all zero is a valid value.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;
  ~ZeroedArray() {
    if (values_ != nullptr) unmap(values_, bytes_);
  }

  // Requires: not made before; count > 0.
  // Fails: not enough memory; the array is then empty.
  base::Status make(std::size_t count) {
    void* memory = nullptr;
    base::Status status = map_zeroes(count * sizeof(T), memory);
    values_ = static_cast<T*>(memory);
    bytes_ = count * sizeof(T);
    return status;
  }

  // Requires: index < count.
  T& operator[](std::size_t index) { return values_[index]; }
  const T& operator[](std::size_t index) const { return values_[index]; }

 private:
  T* values_ = nullptr;
  std::size_t bytes_ = 0;
};

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
