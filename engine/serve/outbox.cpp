#include "engine/serve/outbox.h"

#include <ringrpc/limits.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "engine/base/assert.h"

namespace ringrpc::serve {
namespace {

constexpr std::size_t page_size = 4096;

std::size_t whole_pages(std::size_t size) { return (size + page_size - 1) & ~(page_size - 1); }

char* map_bytes(std::size_t size) {
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
}

}  // namespace

Outbox::Outbox(const Options& options) : options_(options) {
  RINGRPC_ASSERT(options_.slab_count > 1 && options_.segment_count > 0);
  slabs_ = map_bytes(std::size_t{options_.slab_size} * options_.slab_count);
  RINGRPC_ASSERT(slabs_ != nullptr, options_.slab_size, options_.slab_count);
  references_.assign(options_.slab_count, 0);
  free_slabs_.reserve(options_.slab_count);
  for (std::uint32_t slab = options_.slab_count; slab-- > 0;) free_slabs_.push_back(slab);
  segments_.resize(options_.segment_count);
  for (std::uint32_t i = options_.segment_count; i-- > 0;) {
    segments_[i].next = free_segment_;
    free_segment_ = i;
  }
  RINGRPC_ASSERT(rotate());
}

Outbox::~Outbox() {
  RINGRPC_ASSERT(segments_taken_ == 0, segments_taken_);
  RINGRPC_ASSERT(bytes_mapped_ == 0, bytes_mapped_);
  munmap(slabs_, std::size_t{options_.slab_size} * options_.slab_count);
}

bool Outbox::rotate() {
  if (free_slabs_.empty()) return false;
  const std::uint32_t last = slab_;
  slab_ = free_slabs_.back();
  free_slabs_.pop_back();
  RINGRPC_ASSERT(references_[slab_] == 0, slab_);
  references_[slab_] = 1;
  top_ = slabs_ + std::size_t{slab_} * options_.slab_size;
  slab_end_ = top_ + options_.slab_size;
  if (last != no_slab) release_slab(last);
  return true;
}

void Outbox::release_slab(std::uint32_t slab) {
  RINGRPC_ASSERT(references_[slab] > 0, slab);
  if (--references_[slab] == 1 && slab == slab_) {
    // Nothing waits in the current slab: begin it anew, while it is warm.
    top_ = slabs_ + std::size_t{slab_} * options_.slab_size;
  } else if (references_[slab] == 0) {
    free_slabs_.push_back(slab);
  }
}

Outbox::Room Outbox::open_slow(std::uint32_t minimum) {
  RINGRPC_ASSERT(minimum <= options_.slab_size, minimum);
  if (rotate()) return {top_, slab_end_};
  // Slow readers hold every slab. Others are still answered, out of a mapping.
  return grow(top_, 0, minimum);
}

Outbox::Room Outbox::grow(char* begin, std::uint32_t used, std::size_t size) {
  if (begin == top_ && size <= options_.slab_size && rotate()) {
    std::memcpy(top_, begin, used);
    bytes_copied_ += used;
    return {top_, slab_end_};
  }
  const bool mapped = pending_.data != nullptr;
  RINGRPC_ASSERT(mapped ? begin == pending_.data : begin == top_);
  const std::size_t limit =
      whole_pages(std::size_t{options_.reply_size_max} + limits::reply_overhead_max);
  const std::size_t bytes = whole_pages(std::max(size, std::min(limit, pending_.size * 2)));
  if (bytes > limit || !may_map(bytes - pending_.size)) return {};
  if (mapped) {
    void* moved = mremap(pending_.data, pending_.size, bytes, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return {};
    bytes_mapped_ += bytes - pending_.size;
    if (notice_) notices_mapped_ += bytes - pending_.size;
    pending_ = {static_cast<char*>(moved), bytes};
  } else {
    char* data = map_bytes(bytes);
    if (data == nullptr) return {};
    std::memcpy(data, begin, used);
    bytes_copied_ += used;
    bytes_mapped_ += bytes;
    if (notice_) notices_mapped_ += bytes;
    pending_ = {data, bytes};
  }
  return {pending_.data, pending_.data + pending_.size};
}

bool Outbox::takes_notice(std::size_t size) const {
  const bool in_slab = size <= options_.slab_size &&
                       (static_cast<std::size_t>(slab_end_ - top_) >= size || !free_slabs_.empty());
  if (in_slab) return true;
  // As grow() would map it, in two steps when it begins without a slab.
  const std::size_t bytes = whole_pages(std::max(size, 2 * page_size));
  const std::size_t notices_max = options_.mapped_max / limits::large_notices_share;
  // There is no use in waiting for what there will never be: whoever writes it will see.
  if (bytes > notices_max) return true;
  return notices_mapped_ + bytes <= notices_max && bytes_mapped_ + bytes <= options_.mapped_max;
}

bool Outbox::commit_slow(OutList& list, char* begin, std::uint32_t size) {
  if (free_segment_ == no_segment) {
    abandon(begin);
    return false;
  }
  const std::uint32_t index = free_segment_;
  Segment& segment = segments_[index];
  free_segment_ = segment.next;
  ++segments_taken_;
  segment = Segment{.data = begin, .size = size};
  if (begin == pending_.data) {
    segment.mapping_size = pending_.size;
    segment.is_notice = notice_;
    pending_ = {};
  } else {
    RINGRPC_ASSERT(begin == top_);
    segment.slab = slab_;
    ++references_[slab_];
    top_ += size;
  }
  if (list.empty()) {
    list.first = index;
  } else {
    segments_[list.last].next = index;
  }
  list.last = index;
  list.size += size;
  return true;
}

bool Outbox::replace_last(OutList& list, std::uint32_t old_size, const char* bytes,
                          std::uint32_t size) {
  RINGRPC_ASSERT(!list.empty() && old_size > 0 && size > 0);
  Segment& last = segments_[list.last];
  RINGRPC_ASSERT(last.size - last.taken >= old_size, last.size, last.taken, old_size);
  char* const place = last.data + last.size - old_size;
  const bool on_top = last.slab == slab_ && place + old_size == top_;
  if (size > old_size) {
    const std::size_t room = on_top ? static_cast<std::size_t>(slab_end_ - place) : 0;
    if (size > room) return false;
  }
  std::memcpy(place, bytes, size);
  last.size += size - old_size;
  list.size += size - old_size;
  if (on_top) top_ = place + size;
  return true;
}

void Outbox::abandon(char* begin) {
  if (begin != pending_.data || begin == nullptr) return;
  unmap(pending_.data, pending_.size, notice_);
  pending_ = {};
}

void Outbox::unmap(char* data, std::size_t size, bool is_notice) {
  RINGRPC_ASSERT(munmap(data, size) == 0, size);
  bytes_mapped_ -= size;
  if (is_notice) notices_mapped_ -= size;
}

void Outbox::taken(OutList& list, std::uint32_t size) {
  Segment& segment = segments_[list.first];
  RINGRPC_ASSERT(segment.taken + size <= segment.size, segment.taken, size, segment.size);
  segment.taken += size;
  list.size -= size;
  if (segment.taken == segment.size) release_front(list);
}

void Outbox::release_front(OutList& list) {
  const std::uint32_t index = list.first;
  Segment& segment = segments_[index];
  if (segment.slab == no_slab) {
    unmap(segment.data, segment.mapping_size, segment.is_notice);
  } else {
    release_slab(segment.slab);
  }
  list.first = segment.next;
  if (list.first == no_segment) list.last = no_segment;
  segment.next = free_segment_;
  free_segment_ = index;
  --segments_taken_;
}

void Outbox::clear(OutList& list) {
  while (!list.empty()) {
    list.size -= segments_[list.first].size - segments_[list.first].taken;
    release_front(list);
  }
  RINGRPC_ASSERT(list.size == 0, list.size);
}

void Outbox::add(Held& held, const OutList& list) const {
  held.references.resize(references_.size());
  RINGRPC_ASSERT(list.empty() == (list.last == no_segment), list.first, list.last);
  std::uint64_t size = 0;
  for (std::uint32_t i = list.first; i != no_segment; i = segments_[i].next) {
    const Segment& segment = segments_[i];
    ++held.segments;
    RINGRPC_ASSERT(held.segments <= segments_taken_, i, segments_taken_);
    RINGRPC_ASSERT(segment.taken < segment.size, i, segment.taken, segment.size);
    RINGRPC_ASSERT(segment.taken == 0 || i == list.first, i, segment.taken);
    RINGRPC_ASSERT(segment.next != no_segment || i == list.last, i, list.last);
    size += segment.size - segment.taken;
    held.mapped += segment.mapping_size;
    if (segment.is_notice) held.notices_mapped += segment.mapping_size;
    if (segment.slab != no_slab) ++held.references[segment.slab];
  }
  RINGRPC_ASSERT(size == list.size, size, list.size);
}

void Outbox::check_invariants(const Held& held) const {
  RINGRPC_ASSERT(held.segments == segments_taken_, held.segments, segments_taken_);
  RINGRPC_ASSERT(pending_.data == nullptr && held.mapped == bytes_mapped_, held.mapped,
                 bytes_mapped_);
  RINGRPC_ASSERT(!notice_ && held.notices_mapped == notices_mapped_, held.notices_mapped,
                 notices_mapped_);
  std::size_t free = 0;
  for (std::uint32_t slab = 0; slab < references_.size(); ++slab) {
    const std::uint32_t segments = held.references.empty() ? 0 : held.references[slab];
    const std::uint32_t expected = segments + (slab == slab_ ? 1 : 0);
    RINGRPC_ASSERT(references_[slab] == expected, slab, references_[slab], expected);
    if (expected == 0) ++free;
  }
  RINGRPC_ASSERT(free == free_slabs_.size(), free, free_slabs_.size());
}

void Outbox::check_invariants() const {
  std::vector<std::uint32_t> counted(references_.size(), 0);
  counted[slab_] = 1;
  std::vector<bool> is_free(segments_.size(), false);
  for (std::uint32_t i = free_segment_; i != no_segment; i = segments_[i].next) is_free[i] = true;
  std::uint32_t taken = 0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (is_free[i]) continue;
    ++taken;
    if (segments_[i].slab != no_slab) ++counted[segments_[i].slab];
  }
  RINGRPC_ASSERT(taken == segments_taken_, taken, segments_taken_);
  for (std::size_t slab = 0; slab < counted.size(); ++slab) {
    RINGRPC_ASSERT(counted[slab] == references_[slab], slab, counted[slab], references_[slab]);
  }
}

}  // namespace ringrpc::serve
