#pragma once

// Memory for messages that arrive in pieces. A message that one receive holds never comes here.

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/notice.h"
#include "engine/http/chunks.h"
#include "engine/ws/decoder.h"

namespace ringrpc::serve {

// The bytes of one connection that wait for more, and how far its framing has come. The bytes
// follow the struct in the same block; limits::padding readable bytes follow them. Invariant: begin
// + head_size <= begin + message_size <= end - raw <= capacity.
struct Partial {
  std::uint32_t capacity = 0;      // bytes of data()
  std::uint32_t block_size = 0;    // of the whole block
  std::uint32_t begin = 0;         // of the message in progress
  std::uint32_t end = 0;           // of what has arrived
  std::uint32_t head_size = 0;     // 0 until the head is whole; it stands at begin
  std::uint32_t message_size = 0;  // head and decoded body so far; 0 until the head is whole
  std::uint32_t body_left = 0;     // bytes of a Content-Length body still to come
  bool chunked = false;
  bool whole = false;            // the message is complete and being answered
  bool unread = false;           // holds bytes that have not been looked at yet
  std::uint32_t raw = 0;         // WebSocket: of what has arrived, frames that were not read yet
  std::uint64_t started_ms = 0;  // when the body began; not_yet while its time does not run
  Partial* next_free = nullptr;
  union {
    http::ChunkDecoder chunks;
    ws::Decoder frames;  // WebSocket
  };

  Partial() : chunks() {}
  [[nodiscard]] char* data() { return reinterpret_cast<char*>(this) + data_offset; }
  [[nodiscard]] std::uint32_t room() const { return capacity - end; }

  static constexpr std::uint32_t data_offset = 320;
  static constexpr std::uint64_t not_yet = ~std::uint64_t{0};
};
static_assert(sizeof(Partial) <= Partial::data_offset, "the struct fits before its bytes");

// Small blocks come in powers of two and are kept for reuse. Large ones go back to the kernel at
// once, so that memory returns after a burst; they come in quarters of a power of two, and as one
// that fits the largest message, so that little of the pool is lost to rounding. A large block
// grows by moving its pages.
// Owns:   at most `bytes_max` of mappings, free blocks included.
// Thread: worker only.
class PartialPool {
 public:
  // `largest` is the most that a message takes with its head. The block for it has that size, so
  // that as many fit as one would think; only a head near its own limit finds it too small.
  explicit PartialPool(std::size_t bytes_max, std::uint32_t largest = 0);
  ~PartialPool();
  PartialPool(const PartialPool&) = delete;
  PartialPool& operator=(const PartialPool&) = delete;

  // Returns: an empty block with room for `size` bytes, or null when the pool is used up.
  Partial* take(std::uint32_t size);

  // Makes room for `size` more bytes, moving what there is to a larger block if need be.
  // Returns: the block to use from now on, or null (the old one is intact) when the pool is used
  // up.
  Partial* grow(Partial* partial, std::uint32_t size, std::uint64_t& bytes_copied);

  void give(Partial* partial);

  [[nodiscard]] std::size_t bytes_mapped() const { return bytes_mapped_; }
  [[nodiscard]] std::size_t blocks_taken() const { return blocks_taken_; }
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }

 private:
  static constexpr std::uint32_t block_size_min = 4096;
  static constexpr std::uint32_t kept_size_max = 64u << 10;
  static constexpr std::uint32_t class_count = 5;  // of kept blocks

  static std::uint32_t class_of(std::size_t block_size);
  [[nodiscard]] std::size_t block_size(std::uint32_t size) const;
  Partial* grow_large(Partial* partial, std::uint32_t size, std::uint64_t& bytes_copied);
  bool make_room(std::size_t wanted);
  void unmap(Partial* partial);

  base::Notice no_memory_{10};
  std::size_t bytes_max_;
  std::size_t largest_block_;  // for the largest message
  std::size_t bytes_mapped_ = 0;
  std::size_t blocks_taken_ = 0;
  std::array<Partial*, class_count> free_ = {};
};

}  // namespace ringrpc::serve
