#pragma once

// Memory that a backend asks for once, at start.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "engine/base/status.h"

namespace ringrpc::io {

// A fixed array of zeroes. Large ones cost address space only, until they are touched.
// Requires: T is made of plain members for which all zero is a valid value.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // Fails: not enough memory; the array is then empty.
  base::Status make(std::size_t count) {
    values_.reset(static_cast<T*>(std::calloc(count, sizeof(T))));
    if (!values_) return base::Status::failure(12, "no memory for the tables of a backend");
    return {};
  }

  // Requires: index < count.
  T& operator[](std::size_t index) { return values_[index]; }
  const T& operator[](std::size_t index) const { return values_[index]; }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::unique_ptr<T[], Free> values_;
};

// The receive buffers of one worker, contiguous, so that the bytes behind any of them are readable.
// Owns:     count * size bytes and one page behind the last, one mapping.
// Thread:   worker only.
class BufferPool {
 public:
  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  // Requires: not made before; count is a power of two.
  // Fails: the mapping is refused.
  base::Status make(std::uint32_t count, std::uint32_t size);

  // Returns: the first byte of a buffer; limits::padding readable bytes follow its last.
  // Requires: index < count().
  [[nodiscard]] char* at(std::uint32_t index) const { return memory_ + std::size_t{index} * size_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  char* memory_ = nullptr;
  std::size_t mapped_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace ringrpc::io
