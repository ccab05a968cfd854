#include "engine/serve/partial_pool.h"

#include <ringrpc/limits.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/assert.h"

namespace ringrpc::serve {

namespace {

constexpr std::size_t page_size = 4096;
constexpr char refused_by_machine[] =
    "the machine has no memory for a message of %zu bytes; its sender is told to come again";

std::size_t with_overhead(std::uint32_t size) {
  return std::size_t{size} + Partial::data_offset + limits::padding;
}

std::size_t rounded_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

std::uint32_t capacity_of(std::size_t block_size) {
  return static_cast<std::uint32_t>(block_size - Partial::data_offset - limits::padding);
}

Partial* make_partial(void* block, std::size_t bytes) {
  Partial* partial = new (block) Partial;
  partial->capacity = capacity_of(bytes);
  partial->block_size = static_cast<std::uint32_t>(bytes);
  return partial;
}

}  // namespace

PartialPool::PartialPool(std::size_t bytes_max, std::uint32_t largest)
    : bytes_max_(bytes_max), largest_block_(rounded_up(largest, page_size)) {}

PartialPool::~PartialPool() {
  RINGRPC_ASSERT(blocks_taken_ == 0, blocks_taken_);
  const bool empty = make_room(bytes_max_);
  RINGRPC_ASSERT(empty && bytes_mapped_ == 0, bytes_mapped_);
}

std::uint32_t PartialPool::class_of(std::size_t block_size) {
  return static_cast<std::uint32_t>(std::countr_zero(block_size) -
                                    std::countr_zero(std::size_t{block_size_min}));
}

std::size_t PartialPool::block_size(std::uint32_t size) const {
  const std::size_t bytes = with_overhead(size);
  if (bytes <= kept_size_max) return std::bit_ceil(std::max<std::size_t>(bytes, block_size_min));
  const std::size_t block = rounded_up(bytes, std::bit_floor(bytes - 1) / 4);
  return bytes <= largest_block_ ? std::min(block, largest_block_) : block;
}

Partial* PartialPool::take(std::uint32_t size) {
  const std::size_t bytes = block_size(size);
  if (bytes <= kept_size_max) {
    Partial*& list = free_[class_of(bytes)];
    if (list != nullptr) {
      Partial* kept = std::exchange(list, list->next_free);
      ++blocks_taken_;
      return make_partial(kept, bytes);
    }
  }
  if (!make_room(bytes)) return nullptr;
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    no_memory_.say(refused_by_machine, bytes);
    return nullptr;
  }
  bytes_mapped_ += bytes;
  ++blocks_taken_;
  return make_partial(block, bytes);
}

Partial* PartialPool::grow(Partial* partial, std::uint32_t size, std::uint64_t& bytes_copied) {
  if (partial->room() >= size) return partial;
  if (partial->block_size > kept_size_max) return grow_large(partial, size, bytes_copied);
  const std::uint32_t kept = partial->end - partial->begin;
  Partial* larger = take(kept + size);
  if (larger == nullptr) return nullptr;
  const std::uint32_t capacity = larger->capacity;
  const std::uint32_t block_size = larger->block_size;
  *larger = *partial;
  larger->capacity = capacity;
  larger->block_size = block_size;
  larger->next_free = nullptr;
  larger->begin = 0;
  larger->end = kept;
  std::memcpy(larger->data(), partial->data() + partial->begin, kept);
  bytes_copied += kept;
  give(partial);
  return larger;
}

// What lies before begin is given up first, which may be enough.
Partial* PartialPool::grow_large(Partial* partial, std::uint32_t size,
                                 std::uint64_t& bytes_copied) {
  const std::uint32_t kept = partial->end - partial->begin;
  if (partial->begin != 0) {
    std::memmove(partial->data(), partial->data() + partial->begin, kept);
    bytes_copied += kept;
    partial->begin = 0;
    partial->end = kept;
    if (partial->room() >= size) return partial;
  }
  const std::size_t before = partial->block_size;
  const std::size_t bytes = block_size(kept + size);
  RINGRPC_ASSERT(bytes > before, bytes, before);
  if (!make_room(bytes - before)) return nullptr;
  void* moved = mremap(partial, before, bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    no_memory_.say(refused_by_machine, bytes);
    return nullptr;
  }
  bytes_mapped_ += bytes - before;
  Partial* larger = static_cast<Partial*>(moved);
  larger->capacity = capacity_of(bytes);
  larger->block_size = static_cast<std::uint32_t>(bytes);
  return larger;
}

void PartialPool::give(Partial* partial) {
  RINGRPC_ASSERT(blocks_taken_ > 0);
  --blocks_taken_;
  if (partial->block_size > kept_size_max) {
    unmap(partial);
    return;
  }
  Partial*& list = free_[class_of(partial->block_size)];
  partial->next_free = list;
  list = partial;
}

// Gives kept blocks back to the kernel as far as `wanted` more bytes need it.
// Returns: whether they are within the bound now.
bool PartialPool::make_room(std::size_t wanted) {
  for (Partial*& list : free_) {
    while (list != nullptr && bytes_mapped_ + wanted > bytes_max_) {
      unmap(std::exchange(list, list->next_free));
    }
  }
  return bytes_mapped_ + wanted <= bytes_max_;
}

void PartialPool::unmap(Partial* partial) {
  const std::size_t bytes = partial->block_size;
  RINGRPC_ASSERT(munmap(partial, bytes) == 0);
  bytes_mapped_ -= bytes;
}

}  // namespace ringrpc::serve
