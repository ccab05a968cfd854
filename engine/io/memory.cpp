#include "engine/io/memory.h"

#include "engine/base/assert.h"

namespace ringrpc::io {

base::Status BufferPool::make(std::uint32_t count, std::uint32_t size) {
  RINGRPC_ASSERT(count_ == 0);
  RINGRPC_ASSERT(count > 0 && (count & (count - 1)) == 0, count);
  RINGRPC_ASSERT(size > 0, size);
  stride_ = std::size_t{size} + limits::receive_buffer_gap;
  base::Status status = memory_.make(count * stride_);
  if (!status.ok()) return status;
  count_ = count;
  size_ = size;
  return status;
}

}  // namespace ringrpc::io
