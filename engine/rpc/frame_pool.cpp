#include "engine/rpc/frame_pool.h"

#include <ringrpc/co_promise.h>

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/assert.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size)
#define ASAN_UNPOISON_MEMORY_REGION(memory, size)
#endif

namespace ringrpc {
namespace rpc {
namespace {

thread_local FramePool* current_frames = nullptr;

}  // namespace

FramePool::~FramePool() {
  RINGRPC_ASSERT(frames_ == 0 || losses_, frames_);
  if (memory_of_chunks_ == nullptr) return;
  ASAN_UNPOISON_MEMORY_REGION(memory_of_chunks_, memory_max_);
  base::unmap(memory_of_chunks_, memory_max_);
}

base::Status FramePool::start(std::size_t memory_max) {
  RINGRPC_ASSERT(memory_max > 0 && memory_max % chunk_size == 0, memory_max);
  memory_max_ = memory_max;
  void* memory = nullptr;
  base::Status status = base::map_zeroes(memory_max, memory);
  memory_of_chunks_ = static_cast<char*>(memory);
  if (status.ok()) status = chunks_.make(memory_max / chunk_size);
  return status;
}

void* FramePool::take(std::size_t size) {
  const std::size_t whole = size + sizeof(Header);
  const std::uint32_t* const found = std::lower_bound(sizes, sizes + size_count, whole);
  if (found == sizes + size_count) return take_large(whole);
  const std::uint32_t size_class = static_cast<std::uint32_t>(found - sizes);
  if (with_room_[size_class] == 0 && !make_chunk(size_class)) return nullptr;
  const std::uint32_t position = with_room_[size_class];
  Chunk& chunk = chunks_[position - 1];
  char* memory = reinterpret_cast<char*>(chunk.free);
  if (memory != nullptr) {
    ASAN_UNPOISON_MEMORY_REGION(memory, *found);
    chunk.free = chunk.free->next;
  } else {
    memory = memory_of_chunks_ + (position - 1) * chunk_size + std::size_t{chunk.made} * *found;
    ++chunk.made;
  }
  ++chunk.taken;
  ++frames_;
  if (chunk.taken == frames_of(size_class)) unlink(position);
  return new (memory) Header{.owner = this, .chunk = position, .kilobytes = 0} + 1;
}

[[gnu::cold, gnu::noinline]] void* FramePool::take_large(std::size_t size) {
  constexpr std::size_t kilobyte = 1024;
  const std::size_t kilobytes = (size + kilobyte - 1) / kilobyte;
  if (kilobytes * kilobyte > memory_max_ - memory_) return nullptr;
  void* const memory = ::operator new(kilobytes * kilobyte, std::nothrow);
  if (memory == nullptr) return nullptr;
  memory_ += kilobytes * kilobyte;
  ++frames_;
  return new (memory)
             Header{.owner = this, .chunk = 0, .kilobytes = static_cast<std::uint32_t>(kilobytes)} +
         1;
}

FramePool& FramePool::owner_of(void* frame) { return *header_of(frame).owner; }

void FramePool::give(void* frame) {
  Header& header = header_of(frame);
  RINGRPC_ASSERT(header.owner == this && frames_ > 0, frames_);
  --frames_;
  if (header.chunk == 0) [[unlikely]] {
    memory_ -= std::size_t{header.kilobytes} * 1024;
    ::operator delete(&header);
    return;
  }
  const std::uint32_t position = header.chunk;
  Chunk& chunk = chunks_[position - 1];
  if (chunk.taken == frames_of(chunk.size_class)) link(position);
  FreeFrame* const free = new (&header) FreeFrame{chunk.free};
  ASAN_POISON_MEMORY_REGION(free, sizes[chunk.size_class]);
  chunk.free = free;
  --chunk.taken;
  if (chunk.taken != 0) return;
  unlink(position);
  chunk.next = free_chunks_;
  free_chunks_ = position;
  memory_ -= chunk_size;
}

// Returns: false when there is no room for one.
bool FramePool::make_chunk(std::uint32_t size_class) {
  if (chunk_size > memory_max_ - memory_) return false;
  std::uint32_t position = free_chunks_;
  if (position != 0) {
    free_chunks_ = chunks_[position - 1].next;
  } else {
    position = ++chunks_made_;
  }
  memory_ += chunk_size;
  ASAN_UNPOISON_MEMORY_REGION(memory_of_chunks_ + (position - 1) * chunk_size, chunk_size);
  chunks_[position - 1] = {};
  chunks_[position - 1].size_class = size_class;
  link(position);
  return true;
}

void FramePool::link(std::uint32_t position) {
  Chunk& chunk = chunks_[position - 1];
  std::uint32_t& first = with_room_[chunk.size_class];
  chunk.previous = 0;
  chunk.next = first;
  if (first != 0) chunks_[first - 1].previous = position;
  first = position;
}

void FramePool::unlink(std::uint32_t position) {
  const Chunk& chunk = chunks_[position - 1];
  (chunk.previous != 0 ? chunks_[chunk.previous - 1].next : with_room_[chunk.size_class]) =
      chunk.next;
  if (chunk.next != 0) chunks_[chunk.next - 1].previous = chunk.previous;
}

void FramePool::check_invariants() const {
  std::size_t free = 0;
  for (std::uint32_t at = free_chunks_; at != 0; at = chunks_[at - 1].next) {
    RINGRPC_ASSERT(chunks_[at - 1].taken == 0, at);
    ++free;
  }
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < chunks_made_; ++i) {
    const Chunk& chunk = chunks_[i];
    if (chunk.taken != 0) ++used;
    RINGRPC_ASSERT(chunk.taken <= chunk.made && chunk.made <= frames_of(chunk.size_class), i);
  }
  RINGRPC_ASSERT(used + free == chunks_made_, used, free);
  RINGRPC_ASSERT(memory_ >= used * chunk_size && memory_ <= memory_max_, memory_);
  for (std::uint32_t size_class = 0; size_class < size_count; ++size_class) {
    std::uint32_t previous = 0;
    for (std::uint32_t at = with_room_[size_class]; at != 0; at = chunks_[at - 1].next) {
      const Chunk& chunk = chunks_[at - 1];
      RINGRPC_ASSERT(chunk.size_class == size_class && chunk.previous == previous, at);
      RINGRPC_ASSERT(chunk.taken < frames_of(size_class), at);
      previous = at;
    }
  }
}

CurrentFrames::CurrentFrames(FramePool& frames) : before_(std::exchange(current_frames, &frames)) {}
CurrentFrames::~CurrentFrames() { current_frames = before_; }

}  // namespace rpc

// A coroutine that is made where no call runs has no pool, and no memory.
void* co::take_frame(std::size_t size) noexcept {
  rpc::FramePool* const frames = rpc::current_frames;
  return frames == nullptr ? nullptr : frames->take(size);
}

void co::give_frame(void* frame) noexcept {
  rpc::FramePool& frames = rpc::FramePool::owner_of(frame);
  RINGRPC_ASSERT(&frames == rpc::current_frames && "a coroutine ends where its call runs");
  frames.give(frame);
}

}  // namespace ringrpc
