#pragma once

// Memory that is asked for once, at start.

#include <cstddef>
#include <type_traits>

#include "engine/base/status.h"

namespace ringrpc::base {

// Maps zeroed memory, which costs address space only until it is touched.
// Fails: the mapping is refused; memory is null then.
Status map_zeroes(std::size_t bytes, void*& memory);
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
  Status make(std::size_t count) {
    void* memory = nullptr;
    Status status = map_zeroes(count * sizeof(T), memory);
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

}  // namespace ringrpc::base
