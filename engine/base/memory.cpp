#include "engine/base/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "engine/base/assert.h"

namespace ringrpc::base {

Status map_zeroes(std::size_t bytes, void*& memory) {
  RINGRPC_ASSERT(bytes > 0);
  memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return {};
  const int error = errno;
  memory = nullptr;
  return Status::from_errno(
      error, "cannot map " + std::to_string(bytes) +
                 " bytes (memory is short: ask for fewer connections, buffers or workers)");
}

void unmap(void* memory, std::size_t bytes) {
  const int result = munmap(memory, bytes);
  RINGRPC_ASSERT(result == 0, errno);
}

}  // namespace ringrpc::base
