#include "engine/rpc/table.h"

#include <ringrpc/limits.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/base/assert.h"

namespace ringrpc::rpc {
namespace {

constexpr std::uint64_t seeds_tried = 16;

// The name's bytes with room behind them, which a std::string does not promise.
base::NameKey key_of(const std::string& name) {
  std::string padded = name;
  padded.append(8, '\0');
  return base::name_key(padded.data(), static_cast<std::uint32_t>(name.size()));
}

// Returns: the current methods as a list in a fixed order, so that tables are reproducible.
template <typename Methods>
std::vector<const Method*> listed(const Methods& methods) {
  std::vector<const Method*> list;
  list.reserve(methods.size());
  for (const auto& [name, method] : methods) list.push_back(method.get());
  std::sort(list.begin(), list.end(),
            [](const Method* a, const Method* b) { return a->name < b->name; });
  return list;
}

}  // namespace

Table::Table(const std::vector<const Method*>& methods) : methods_(methods) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(methods_.size() * 4, 8));
  slots_.resize(size);
  mask_ = size - 1;
  shift_ = static_cast<std::uint32_t>(64 - std::countr_zero(size));
  std::uint64_t best_seed = 0;
  std::uint32_t best = ~0u;
  for (std::uint64_t seed = 0; seed < seeds_tried && best > 1; ++seed) {
    const std::uint32_t longest = fill(seed * 0x9E3779B97F4A7C15u);
    if (longest < best) {
      best = longest;
      best_seed = seed * 0x9E3779B97F4A7C15u;
    }
  }
  probe_max_ = fill(best_seed);
  RINGRPC_ASSERT(methods_.size() * 4 <= slots_.size(), methods_.size(), slots_.size());
}

std::uint32_t Table::fill(std::uint64_t seed) {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  seed_ = seed;
  std::uint32_t longest = 0;
  for (const Method* method : methods_) {
    const base::NameKey key = key_of(method->name);
    std::uint64_t i = base::hash_key(key, seed_) >> shift_;
    std::uint32_t probes = 1;
    for (; slots_[i].method != nullptr; i = (i + 1) & mask_) ++probes;
    slots_[i] = Slot{key, method};
    longest = std::max(longest, probes);
  }
  return longest;
}

Registry::Registry() {
  auto cancel = std::make_unique<Method>();
  cancel->name = "rpc.cancel";
  cancel->kind = MethodKind::cancel;
  add_engine_method(std::move(cancel));
}

void Registry::add_engine_method(std::unique_ptr<Method> method) {
  RINGRPC_ASSERT(method->name.starts_with("rpc."), method->name);
  method->slot = static_cast<std::uint32_t>(slots_.size());
  slots_.emplace(method->name, method->slot);
  std::string name = method->name;
  methods_[name] = std::move(method);
  owned_ = std::make_unique<const Table>(listed(methods_));
  current_.store(owned_.get(), std::memory_order_release);
}

Registry::~Registry() = default;

base::Status Registry::add(std::unique_ptr<Method> method) {
  RINGRPC_ASSERT(method != nullptr);
  if (method->name.empty() || method->name.size() > limits::method_size_max) {
    return base::Status::failure(-1, "a method's name has 1 to 256 bytes");
  }
  if (method->name.starts_with("rpc.")) {
    return base::Status::failure(-1, "names that begin with \"rpc.\" belong to the engine");
  }
  RetiredList freed;  // destroyed after the lock
  std::lock_guard lock(mutex_);
  const auto slot = slots_.find(method->name);
  if (slot == slots_.end() && slots_.size() >= limits::methods_max) {
    return base::Status::failure(-1, "the table is full: methods_max names have been registered");
  }
  method->slot = slot != slots_.end() ? slot->second : static_cast<std::uint32_t>(slots_.size());
  slots_.emplace(method->name, method->slot);
  std::unique_ptr<const Method> gone = std::exchange(methods_[method->name], nullptr);
  std::string name = method->name;
  methods_[name] = std::move(method);
  freed = publish(std::make_unique<const Table>(listed(methods_)), std::move(gone));
  return {};
}

bool Registry::remove(std::string_view name) {
  if (name.starts_with("rpc.")) return false;
  RetiredList freed;  // destroyed after the lock
  std::lock_guard lock(mutex_);
  const auto found = methods_.find(std::string(name));
  if (found == methods_.end()) return false;
  std::unique_ptr<const Method> gone = std::move(found->second);
  methods_.erase(found);
  freed = publish(std::make_unique<const Table>(listed(methods_)), std::move(gone));
  return true;
}

Registry::RetiredList Registry::publish(std::unique_ptr<const Table> next,
                                        std::unique_ptr<const Method> gone) {
  // Release: pairs with the acquire in current(), which sees a whole table.
  current_.store(next.get(), std::memory_order_release);
  std::unique_ptr<const Table> last = std::exchange(owned_, std::move(next));
  retired_.push_back(Retired{epochs_.advance(), std::move(last), std::move(gone)});
  return passed_locked();
}

std::size_t Registry::reclaim() {
  RetiredList freed;  // destroyed after the lock
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return 1;
  freed = passed_locked();
  return retired_.size();
}

Registry::RetiredList Registry::passed_locked() {
  // Epochs grow along the list, so the first one that has not passed ends the search.
  auto end = retired_.begin();
  while (end != retired_.end() && epochs_.passed(end->epoch)) ++end;
  // Of those, what a call in flight uses stays. Nobody begins to use it any more.
  const auto in_use = [](const Retired& one) {
    return one.method != nullptr && one.method->users.load(std::memory_order_acquire) != 0;
  };
  // By hand: clang refuses the temporary buffer of libstdc++'s std::stable_partition.
  RetiredList freed;
  auto kept = retired_.begin();
  for (auto one = retired_.begin(); one != end; ++one) {
    if (!in_use(*one)) {
      freed.push_back(std::move(*one));
    } else {
      if (kept != one) *kept = std::move(*one);
      ++kept;
    }
  }
  retired_.erase(kept, end);
  return freed;
}

std::vector<std::string> Registry::slot_names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names(slots_.size());
  for (const auto& [name, slot] : slots_) names[slot] = name;
  return names;
}

}  // namespace ringrpc::rpc
