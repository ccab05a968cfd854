#include "engine/serve/partial_pool.h"

#include <ringrpc/limits.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/assert.h"

namespace ringrpc::serve {

PartialPool::~PartialPool() {
  RINGRPC_ASSERT(blocks_taken_ == 0, blocks_taken_);
  free_kept(bytes_max_);
  RINGRPC_ASSERT(bytes_mapped_ == 0, bytes_mapped_);
}

std::uint32_t PartialPool::class_of(std::uint32_t size) {
  const std::uint64_t bytes = std::uint64_t{size} + Partial::data_offset + limits::padding;
  const std::uint64_t block = std::bit_ceil(bytes < block_size_min ? block_size_min : bytes);
  return static_cast<std::uint32_t>(std::countr_zero(block) - std::countr_zero(block_size_min));
}

std::size_t PartialPool::block_size(std::uint32_t size_class) {
  return std::size_t{block_size_min} << size_class;
}

Partial* PartialPool::take(std::uint32_t size) {
  const std::uint32_t size_class = class_of(size);
  RINGRPC_ASSERT(size_class < class_count, size);
  if (Partial* kept = free_[size_class]; kept != nullptr) {
    free_[size_class] = kept->next_free;
    ++blocks_taken_;
    const std::uint32_t capacity = kept->capacity;
    return new (kept) Partial{.capacity = capacity, .size_class = size_class};
  }
  const std::size_t bytes = block_size(size_class);
  if (bytes_mapped_ + bytes > bytes_max_ && !free_kept(bytes)) return nullptr;
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  bytes_mapped_ += bytes;
  ++blocks_taken_;
  return new (block) Partial{
      .capacity = static_cast<std::uint32_t>(bytes - Partial::data_offset - limits::padding),
      .size_class = size_class};
}

Partial* PartialPool::grow(Partial* partial, std::uint32_t size, std::uint64_t& bytes_copied) {
  if (partial->room() >= size) return partial;
  const std::uint32_t kept = partial->end - partial->begin;
  Partial* larger = take(kept + size);
  if (larger == nullptr) return nullptr;
  const std::uint32_t capacity = larger->capacity;
  const std::uint32_t size_class = larger->size_class;
  *larger = *partial;
  larger->capacity = capacity;
  larger->size_class = size_class;
  larger->next_free = nullptr;
  larger->begin = 0;
  larger->end = kept;
  std::memcpy(larger->data(), partial->data() + partial->begin, kept);
  bytes_copied += kept;
  give(partial);
  return larger;
}

void PartialPool::give(Partial* partial) {
  RINGRPC_ASSERT(blocks_taken_ > 0);
  --blocks_taken_;
  if (partial->size_class > kept_class_max) {
    unmap(partial);
    return;
  }
  partial->next_free = free_[partial->size_class];
  free_[partial->size_class] = partial;
}

bool PartialPool::free_kept(std::size_t wanted) {
  for (Partial*& list : free_) {
    while (list != nullptr && bytes_mapped_ + wanted > bytes_max_) {
      unmap(std::exchange(list, list->next_free));
    }
  }
  return bytes_mapped_ + wanted <= bytes_max_;
}

void PartialPool::unmap(Partial* partial) {
  const std::size_t bytes = block_size(partial->size_class);
  RINGRPC_ASSERT(munmap(partial, bytes) == 0);
  bytes_mapped_ -= bytes;
}

}  // namespace ringrpc::serve
