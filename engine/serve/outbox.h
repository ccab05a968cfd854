#pragma once

// Memory that replies are written in and sent from. A turn's replies of one connection are one
// contiguous range of a slab; a reply that does not fit gets a mapping of its own.

#include <ringrpc/limits.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ringrpc::serve {

inline constexpr std::uint32_t no_segment = 0xFFFFFFFF;
inline constexpr std::uint32_t no_slab = 0xFFFFFFFF;

// A run of reply bytes that wait to be sent, in a connection's list.
struct Segment {
  char* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t taken = 0;       // bytes that the kernel has
  std::uint32_t slab = no_slab;  // no_slab: a mapping of its own
  std::uint32_t next = no_segment;
  std::size_t mapping_size = 0;
  bool is_notice = false;  // whose mapping it is
};

// The unsent replies of one connection, first to last.
struct OutList {
  std::uint32_t first = no_segment;
  std::uint32_t last = no_segment;
  std::uint32_t size = 0;  // bytes not yet taken by the kernel

  [[nodiscard]] bool empty() const { return first == no_segment; }
};

// Owns:   slabs (one mapping made at start), segments (an array), and what is mapped for large
//         replies, bounded by mapped_max.
// Thread: worker only.  Cost: open/commit O(1), no system call unless a reply is large.
// Invariant: a slab's reference count is the number of segments in it, plus one while it is
// current.
class Outbox {
 public:
  struct Options {
    std::uint32_t slab_size = 0;
    std::uint32_t slab_count = 0;
    std::uint32_t segment_count = 0;
    std::uint32_t reply_size_max = 0;  // of one message's reply, heads not counted
    std::size_t mapped_max = 0;        // a share of it, limits::large_notices_share, for notices
  };

  explicit Outbox(const Options& options);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Where the next reply goes. Lifetime: until the matching commit() or the next open().
  struct Room {
    char* begin = nullptr;
    char* end = nullptr;
    [[nodiscard]] bool empty() const { return begin == nullptr; }
  };

  // Returns: room for at least `minimum` bytes, empty when memory is used up.
  // Requires: minimum <= slab_size; the room before was committed or abandoned.
  Room open(std::uint32_t minimum) {
    if (static_cast<std::size_t>(slab_end_ - top_) >= minimum) [[likely]]
      return {top_, slab_end_};
    return open_slow(minimum);
  }

  // Moves the reply being written to room for at least `size` bytes: another slab, or a mapping.
  // Requires: `begin` is what open() or grow() gave last, `used` bytes of it are written.
  // Returns: the new room, empty when memory is used up or size is over the limit.
  Room grow(char* begin, std::uint32_t used, std::size_t size);

  // Appends [begin, begin + size) to the list, to its last segment when it continues that one. The
  // segment may be with the kernel already: what it was given ends before the new bytes.
  // Requires: begin is what open() or grow() gave last.
  // Returns: false when segments are used up; the bytes are dropped then.
  bool commit(OutList& list, char* begin, std::uint32_t size) {
    if (begin == top_ && !list.empty()) [[likely]] {
      Segment& last = segments_[list.last];
      if (last.data + last.size == top_ && last.slab == slab_) {
        last.size += size;
        list.size += size;
        top_ += size;
        return true;
      }
    }
    return commit_slow(list, begin, size);
  }

  // Puts `size` bytes in place of the last `old_size` of the list, if they fit there.
  // Requires: no reply is open; the old bytes were committed last and the kernel has none of them.
  // Returns: whether they did.
  bool replace_last(OutList& list, std::uint32_t old_size, const char* bytes, std::uint32_t size);

  // The reply that was opened is not wanted. Frees a mapping that grow() made for it.
  void abandon(char* begin);

  [[nodiscard]] Segment& front(const OutList& list) { return segments_[list.first]; }

  // The kernel has taken `size` more bytes of the front segment. Frees it when nothing is left.
  void taken(OutList& list, std::uint32_t size);

  // Moves everything of one list to the end of another.
  void append(OutList& list, OutList& more) {
    if (more.empty()) return;
    if (list.empty()) {
      list = more;
    } else {
      segments_[list.last].next = more.first;
      list.last = more.last;
      list.size += more.size;
    }
    more = {};
  }

  // Gives everything of a list back. Requires: the kernel holds none of it.
  void clear(OutList& list);

  // What is written while one lives is no reply but something that its peer did not just ask for.
  // Mappings made for it are held to their share.
  class Notice {
   public:
    explicit Notice(Outbox& outbox) : outbox_(outbox) { outbox_.notice_ = true; }
    ~Notice() { outbox_.notice_ = false; }
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

   private:
    Outbox& outbox_;
  };
  // Returns: whether there is room for a notice of `size` bytes, frame and all.
  [[nodiscard]] bool takes_notice(std::size_t size) const;

  [[nodiscard]] std::uint32_t segments_taken() const { return segments_taken_; }
  [[nodiscard]] std::size_t bytes_mapped() const { return bytes_mapped_; }
  // Returns: bytes that growing replies were moved by since the last call.
  std::uint64_t take_bytes_copied() { return std::exchange(bytes_copied_, 0); }

  // What lists hold together, for the checks at the end of a turn.
  struct Held {
    std::vector<std::uint32_t> references;  // by slab
    std::uint32_t segments = 0;
    std::size_t mapped = 0;
    std::size_t notices_mapped = 0;
  };
  // Adds a list, which must be sound by itself. Cost: O(its segments).
  void add(Held& held, const OutList& list) const;
  // Requires: held is the sum of all lists, and no reply is open. Cost: O(slabs).
  void check_invariants(const Held& held) const;
  // Every segment is free or taken, and the slabs know how many are in them. Cost: O(segments).
  void check_invariants() const;

 private:
  struct Mapping {
    char* data = nullptr;
    std::size_t size = 0;
  };

  Room open_slow(std::uint32_t minimum);
  bool commit_slow(OutList& list, char* begin, std::uint32_t size);
  bool rotate();
  void release_slab(std::uint32_t slab);
  void release_front(OutList& list);
  void unmap(char* data, std::size_t size, bool is_notice);
  [[nodiscard]] bool may_map(std::size_t more) const {
    const std::size_t notices_max = options_.mapped_max / limits::large_notices_share;
    return bytes_mapped_ + more <= options_.mapped_max &&
           (!notice_ || notices_mapped_ + more <= notices_max);
  }

  Options options_;
  char* slabs_ = nullptr;
  char* top_ = nullptr;  // where the current slab's free bytes begin
  char* slab_end_ = nullptr;
  std::uint32_t slab_ = no_slab;
  std::vector<std::uint32_t> references_;  // of each slab
  std::vector<std::uint32_t> free_slabs_;  // last in, first out: the warm one comes back first
  std::vector<Segment> segments_;
  std::uint32_t free_segment_ = no_segment;
  std::uint32_t segments_taken_ = 0;
  Mapping pending_;  // what grow() made for the reply being written
  std::size_t bytes_mapped_ = 0;
  std::size_t notices_mapped_ = 0;  // of them
  bool notice_ = false;             // what is being written is one
  std::uint64_t bytes_copied_ = 0;
};

}  // namespace ringrpc::serve
