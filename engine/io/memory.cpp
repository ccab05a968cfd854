#include "engine/io/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "engine/base/assert.h"

namespace ringrpc::io {

base::Status map_zeroes(std::size_t bytes, void*& memory) {
  RINGRPC_ASSERT(bytes > 0);
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return {};
  const int error = errno;
  memory = nullptr;
  return base::Status::from_errno(
      error, "cannot map " + std::to_string(bytes) +
                 " bytes (memory is short: ask for fewer connections, buffers or workers)");
}

void unmap(void* memory, std::size_t bytes) {
  const int result = munmap(memory, bytes);
  RINGRPC_ASSERT(result == 0, errno);
}

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
