#pragma once

// Memory for the frames of coroutines.

#include <cstddef>
#include <cstdint>

#include "engine/base/memory.h"
#include "engine/base/status.h"

namespace ringrpc::rpc {

// Frames of one worker, by size: each size has chunks of its own, and a chunk that is empty serves
// whichever size asks next. A frame larger than a chunk is taken from the heap, within the same
// limit.
// Owns:   memory_max bytes of address space, touched as far as there ever were frames at once.
// Thread: one at a time.
// Cost:   take and give O(1), no heap but for frames larger than a chunk.
class FramePool {
 public:
  static constexpr std::size_t chunk_size = 64u << 10;

  FramePool() = default;
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  // Requires: memory_max is a multiple of chunk_size. Fails: no memory.
  base::Status start(std::size_t memory_max);

  // Returns: memory for a frame, aligned as the heap's; null when there is no room.
  void* take(std::size_t size);
  // Returns: the pool that a frame came from.
  static FramePool& owner_of(void* frame);
  // Requires: a frame of this pool.
  void give(void* frame);

  // Frames may stay that nobody knows any more: see Promise::broken.
  void expect_losses() { losses_ = true; }

  // Returns: bytes of chunks in use, and of the frames beside them.
  [[nodiscard]] std::size_t memory() const { return memory_; }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }
  void check_invariants() const;

 private:
  // In front of each frame.
  struct alignas(std::max_align_t) Header {
    FramePool* owner;
    std::uint32_t chunk;      // 1 + its position; 0: on the heap
    std::uint32_t kilobytes;  // of one on the heap, rounded up
  };
  struct FreeFrame {
    FreeFrame* next;
  };
  struct Chunk {
    FreeFrame* free;
    std::uint32_t next;  // 1 + the next one of its list; 0: none
    std::uint32_t previous;
    std::uint16_t taken;
    std::uint16_t made;  // frames that have been there once; the rest is untouched
    std::uint32_t size_class;
  };
  // With their headers: a third to a half more each.
  static constexpr std::uint32_t sizes[] = {192,  256,  384,  512,  768,    1024,   1536,  2048,
                                            3072, 4096, 6144, 8192, 16'384, 32'768, 65'536};
  static constexpr std::uint32_t size_count = sizeof(sizes) / sizeof(sizes[0]);

  static std::uint32_t frames_of(std::uint32_t size_class) {
    return static_cast<std::uint32_t>(chunk_size / sizes[size_class]);
  }
  static Header& header_of(void* frame) { return static_cast<Header*>(frame)[-1]; }
  void* take_large(std::size_t size);
  bool make_chunk(std::uint32_t size_class);
  void link(std::uint32_t chunk);
  void unlink(std::uint32_t chunk);

  char* memory_of_chunks_ = nullptr;
  std::size_t memory_max_ = 0;
  std::size_t memory_ = 0;
  std::uint32_t frames_ = 0;
  bool losses_ = false;
  std::uint32_t chunks_made_ = 0;
  std::uint32_t free_chunks_ = 0;             // through next
  std::uint32_t with_room_[size_count] = {};  // chunks of a size that are not full
  base::ZeroedArray<Chunk> chunks_;
};

// Whose frames this thread makes.
class CurrentFrames {
 public:
  explicit CurrentFrames(FramePool& frames);
  ~CurrentFrames();
  CurrentFrames(const CurrentFrames&) = delete;
  CurrentFrames& operator=(const CurrentFrames&) = delete;

 private:
  FramePool* const before_;
};

}  // namespace ringrpc::rpc
