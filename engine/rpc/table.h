#pragma once

// The methods: an immutable table that workers read without locks, and the registry that replaces
// it. Lookups are one hash and one compare of the name's ends.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/epoch.h"
#include "engine/base/hash.h"
#include "engine/base/status.h"

namespace ringrpc {
class Call;
class Reply;
namespace fields {
struct TypeInfo;
}
}  // namespace ringrpc

namespace ringrpc::rpc {

// The thunk in the user's translation unit that decodes, calls and encodes.
using Invoke = void (*)(void* state, bool strict, Call& call, Reply& reply);

// How a method's calls are answered.
enum class MethodKind : std::uint8_t {
  direct,    // when the handler returns
  deferred,  // by the Deferred that the thunk makes of its call
  blocking,  // when the handler returns, on the blocking pool
  cancel,    // the engine's own rpc.cancel
};

// One method. Owns: its state, through destroy. Immutable once in a table.
struct Method {
  std::string name;
  Invoke invoke = nullptr;
  void* state = nullptr;
  void (*destroy)(void* state) = nullptr;
  // What it takes and gives, for descriptions of it; null where its handler reads or writes by
  // hand.
  const fields::TypeInfo* params = nullptr;
  const fields::TypeInfo* result = nullptr;
  bool strict = false;
  MethodKind kind = MethodKind::direct;
  bool streams = false;          // sends notifications before its answer
  std::uint32_t timeout_ms = 0;  // of calls that are answered later; 0: the server's
  // Calls that are answered later and still need this method. Counted by workers within a turn,
  // given back with release; acquire by the registry, which keeps a method that somebody uses.
  mutable std::atomic<std::uint32_t> users{0};
  std::uint32_t slot = 0;  // where its calls are counted; a name keeps its slot for ever

  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  ~Method() {
    if (destroy != nullptr) destroy(state);
  }
};

// One immutable generation of the table: open addressing, at most a quarter full.
// Lifetime: does not own its methods; the registry frees both when no worker can see them.
class Table {
 public:
  explicit Table(const std::vector<const Method*>& methods);

  // Returns: the method of that name, or null. Wait-free; the probe length is bounded at build
  // time. Requires: the name is empty, or 8 bytes at name.data() are readable, as in a message.
  [[nodiscard]] const Method* find(std::string_view name) const {
    if (name.empty()) [[unlikely]]
      return nullptr;
    const base::NameKey key = base::name_key(name.data(), static_cast<std::uint32_t>(name.size()));
    for (std::uint64_t i = base::hash_key(key, seed_) >> shift_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.key == key && (key.size <= 16 || slot.method->name == name)) [[likely]] {
        return slot.method;
      }
      if (slot.method == nullptr) return nullptr;
    }
  }

  [[nodiscard]] const std::vector<const Method*>& methods() const { return methods_; }
  [[nodiscard]] std::uint32_t probe_max() const { return probe_max_; }

 private:
  struct Slot {
    base::NameKey key;               // of no name when empty: names have at least one byte
    const Method* method = nullptr;  // null: empty
  };

  // Returns: the longest probe, with the slots filled for that seed.
  std::uint32_t fill(std::uint64_t seed);

  std::vector<const Method*> methods_;
  std::vector<Slot> slots_;
  std::uint64_t seed_ = 0;
  std::uint64_t mask_ = 0;
  std::uint32_t shift_ = 0;  // of a hash, to a position
  std::uint32_t probe_max_ = 0;
};

// The writers' side. Thread: any; the current table is read by workers between announce() and
// rest().
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Adds or replaces. Never waits for readers. Takes the method whether or not it succeeds.
  // Fails: on a bad name or a full table.
  base::Status add(std::unique_ptr<Method> method);
  bool remove(std::string_view name);
  // Adds a method of the engine's own, whose name begins with "rpc.". Requires: nobody reads yet.
  void add_engine_method(std::unique_ptr<Method> method);

  // Returns: the current generation. Acquire: pairs with the release in publish().
  [[nodiscard]] const Table* current() const { return current_.load(std::memory_order_acquire); }

  [[nodiscard]] base::Epochs& epochs() { return epochs_; }

  // Frees what no reader can see any more. Returns: how many generations still wait.
  std::size_t reclaim();

  // The names that ever had a counting slot, in slot order. Cold.
  [[nodiscard]] std::vector<std::string> slot_names() const;

 private:
  struct Retired {
    std::uint64_t epoch = 0;
    std::unique_ptr<const Table> table;
    std::unique_ptr<const Method> method;  // null when the generation only grew
  };

  using RetiredList = std::vector<Retired>;

  // Returns: what may be freed, for the caller to free after unlocking: a handler's destructor is
  // user code and may call back.
  [[nodiscard]] RetiredList publish(std::unique_ptr<const Table> next,
                                    std::unique_ptr<const Method> gone);
  [[nodiscard]] RetiredList passed_locked();

  base::Epochs epochs_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const Method>> methods_;
  std::unordered_map<std::string, std::uint32_t> slots_;
  RetiredList retired_;  // in the order of their epochs
  std::unique_ptr<const Table> owned_;
  std::atomic<const Table*> current_{nullptr};
};

}  // namespace ringrpc::rpc
