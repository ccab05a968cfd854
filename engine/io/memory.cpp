#include "engine/io/memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "engine/base/assert.h"

namespace ringrpc::io {

namespace {

// One page behind the last buffer holds the padding.
constexpr std::size_t page_size = 4096;
static_assert(page_size >= limits::padding, "the page behind the buffers is their padding");

}  // namespace

BufferPool::~BufferPool() {
  if (memory_ != nullptr) munmap(memory_, mapped_);
}

base::Status BufferPool::make(std::uint32_t count, std::uint32_t size) {
  RINGRPC_ASSERT(memory_ == nullptr);
  RINGRPC_ASSERT(count > 0 && (count & (count - 1)) == 0, count);
  RINGRPC_ASSERT(size > 0, size);
  const std::size_t bytes = std::size_t{count} * size + page_size;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return base::Status::from_errno(
        errno, "cannot map " + std::to_string(bytes) +
                   " bytes of receive buffers (memory is short: ask for fewer buffers or workers)");
  }
  memory_ = static_cast<char*>(memory);
  mapped_ = bytes;
  count_ = count;
  size_ = size;
  return {};
}

}  // namespace ringrpc::io
