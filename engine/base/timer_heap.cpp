#include "engine/base/timer_heap.h"

#include "engine/base/assert.h"

namespace ringrpc::base {
namespace {

constexpr std::uint32_t children = 4;

}  // namespace

Status TimerHeap::start(std::uint32_t names) {
  Status status = entries_.make(names);
  if (status.ok()) status = places_.make(names);
  return status;
}

void TimerHeap::place(std::uint32_t at, const Entry& entry) {
  entries_[at] = entry;
  places_[entry.name] = at + 1;
}

void TimerHeap::rise(std::uint32_t at, const Entry& entry) {
  while (at > 0) {
    const std::uint32_t parent = (at - 1) / children;
    if (entries_[parent].due_ns <= entry.due_ns) break;
    place(at, entries_[parent]);
    at = parent;
  }
  place(at, entry);
}

void TimerHeap::sink(std::uint32_t at, const Entry& entry) {
  for (;;) {
    const std::uint32_t first = at * children + 1;
    if (first >= count_) break;
    std::uint32_t least = first;
    for (std::uint32_t i = first + 1; i < first + children && i < count_; ++i) {
      if (entries_[i].due_ns < entries_[least].due_ns) least = i;
    }
    if (entries_[least].due_ns >= entry.due_ns) break;
    place(at, entries_[least]);
    at = least;
  }
  place(at, entry);
}

// Puts an entry where another one was.
void TimerHeap::move(std::uint32_t at, const Entry& entry) {
  const bool early = at > 0 && entry.due_ns < entries_[(at - 1) / children].due_ns;
  early ? rise(at, entry) : sink(at, entry);
}

void TimerHeap::set(std::uint32_t name, std::uint64_t due_ns) {
  RINGRPC_ASSERT(due_ns > 0);
  const Entry entry{due_ns, name};
  if (places_[name] != 0) {
    move(places_[name] - 1, entry);
  } else {
    rise(count_++, entry);
  }
}

void TimerHeap::clear(std::uint32_t name) {
  if (places_[name] == 0) return;
  const std::uint32_t at = places_[name] - 1;
  RINGRPC_ASSERT(at < count_ && entries_[at].name == name, at, count_);
  places_[name] = 0;
  --count_;
  if (at != count_) move(at, Entry(entries_[count_]));
}

bool TimerHeap::advance(std::uint64_t now_ns, std::uint32_t& name) {
  if (count_ == 0 || entries_[0].due_ns > now_ns) return false;
  name = entries_[0].name;
  clear(name);
  return true;
}

void TimerHeap::check_invariants() const {
  for (std::uint32_t at = 0; at < count_; ++at) {
    RINGRPC_ASSERT(places_[entries_[at].name] == at + 1, at);
    RINGRPC_ASSERT(at == 0 || entries_[(at - 1) / children].due_ns <= entries_[at].due_ns, at);
  }
}

}  // namespace ringrpc::base
