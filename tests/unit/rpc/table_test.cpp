// Goal: a name finds its method or none, through any number of changes at run time, and nothing
// that a reader may still see is freed.

#include "engine/rpc/table.h"

#include <gtest/gtest.h>
#include <ringrpc/limits.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace ringrpc::rpc {
namespace {

std::unique_ptr<Method> method_of(std::string name, std::atomic<int>* alive = nullptr) {
  auto method = std::make_unique<Method>();
  method->name = std::move(name);
  if (alive != nullptr) {
    alive->fetch_add(1);
    method->state = alive;
    method->destroy = [](void* state) { static_cast<std::atomic<int>*>(state)->fetch_sub(1); };
  }
  return method;
}

// Looks a name up as in a message: with readable bytes behind it, which must not matter.
const Method* look_up(const Table* table, std::string_view name) {
  std::string text(name);
  text += "behind it";
  return table->find(std::string_view(text).substr(0, name.size()));
}

TEST(Registry, FindsWhatWasAddedByItsWholeName) {
  Registry registry;
  for (const char* name : {"a", "ab", "sum", "orders.get", "with space", "\u00e9", "sun"}) {
    ASSERT_TRUE(registry.add(method_of(name)).ok()) << name;
  }
  for (const char* name : {"a", "ab", "sum", "orders.get", "with space", "\u00e9", "sun"}) {
    const Method* method = look_up(registry.current(), name);
    ASSERT_NE(method, nullptr) << name;
    EXPECT_EQ(method->name, name);
  }
  for (const char* name : {"", "b", "abc", "sum ", "Sum", "orders", "orders.get2"}) {
    EXPECT_EQ(look_up(registry.current(), name), nullptr) << name;
  }
}

TEST(Registry, RefusesNamesOutsideTheirBounds) {
  Registry registry;
  EXPECT_FALSE(registry.add(method_of("")).ok());
  EXPECT_FALSE(registry.add(method_of("rpc.x")).ok());
  EXPECT_TRUE(registry.add(method_of("rpcx")).ok());
  for (const std::size_t size : {limits::method_size_max - 1, limits::method_size_max}) {
    const std::string name(size, 'n');
    EXPECT_TRUE(registry.add(method_of(name)).ok()) << size;
    EXPECT_NE(look_up(registry.current(), name), nullptr) << size;
  }
  EXPECT_FALSE(registry.add(method_of(std::string(limits::method_size_max + 1, 'n'))).ok());
}

TEST(Registry, ANameKeepsItsCountingSlot) {
  Registry registry;
  ASSERT_TRUE(registry.add(method_of("a")).ok());
  ASSERT_TRUE(registry.add(method_of("b")).ok());
  const std::uint32_t slot = look_up(registry.current(), "a")->slot;
  EXPECT_TRUE(registry.remove("a"));
  EXPECT_FALSE(registry.remove("a"));
  ASSERT_TRUE(registry.add(method_of("c")).ok());
  ASSERT_TRUE(registry.add(method_of("a")).ok());
  EXPECT_EQ(look_up(registry.current(), "a")->slot, slot);
  EXPECT_EQ(registry.slot_names().at(slot), "a");
}

TEST(Registry, EverythingIsFreedOnceReadersHavePassed) {
  std::atomic<int> alive{0};
  {
    Registry registry;
    base::Epochs::Reader& reader = registry.epochs().join();
    ASSERT_TRUE(registry.add(method_of("a", &alive)).ok());
    registry.epochs().announce(reader);
    const Method* held = look_up(registry.current(), "a");
    ASSERT_TRUE(registry.add(method_of("a", &alive)).ok());
    EXPECT_TRUE(registry.remove("a"));
    EXPECT_EQ(alive.load(), 2) << "the reader may still look at both";
    EXPECT_EQ(held->name, "a");
    EXPECT_GT(registry.reclaim(), 0u);
    base::Epochs::rest(reader);
    EXPECT_EQ(registry.reclaim(), 0u);
    EXPECT_EQ(alive.load(), 0);
    ASSERT_TRUE(registry.add(method_of("b", &alive)).ok());
  }
  EXPECT_EQ(alive.load(), 0) << "the rest goes with the registry";
}

TEST(Registry, RandomChangesAgreeWithASimpleModel) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Registry registry;
  std::vector<bool> there(300, false);
  for (int step = 0; step < 3000; ++step) {
    const std::size_t which = random() % there.size();
    const std::string name = "m" + std::to_string(which);
    if (random() % 2 == 0) {
      ASSERT_TRUE(registry.add(method_of(name)).ok());
      there[which] = true;
    } else {
      EXPECT_EQ(registry.remove(name), there[which]);
      there[which] = false;
    }
    const std::size_t probe = random() % there.size();
    const std::string probed = "m" + std::to_string(probe);
    ASSERT_EQ(look_up(registry.current(), probed) != nullptr, there[probe]) << probed;
  }
}

TEST(Registry, ReadersLookUpWhileWritersAddAndRemove) {
  std::atomic<int> alive{0};
  std::atomic<bool> over{false};
  std::atomic<int> bad{0};
  {
    Registry registry;
    ASSERT_TRUE(registry.add(method_of("always", &alive)).ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&registry, &over, &bad, &reader = registry.epochs().join()] {
        while (!over.load()) {
          registry.epochs().announce(reader);
          for (int i = 0; i < 20; ++i) {
            const Table* table = registry.current();
            const Method* method = look_up(table, "flicker");
            if (method != nullptr && method->name != "flicker") bad.fetch_add(1);
            if (look_up(table, "always") == nullptr) bad.fetch_add(1);
            registry.epochs().announce(reader);
          }
          base::Epochs::rest(reader);
        }
      });
    }
    std::vector<std::thread> writers;
    for (int t = 0; t < 2; ++t) {
      writers.emplace_back([&registry, &alive] {
        for (int i = 0; i < 1500; ++i) {
          static_cast<void>(registry.add(method_of("flicker", &alive)));
          registry.remove("flicker");
          registry.reclaim();
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    over.store(true);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(registry.reclaim(), 0u);
    EXPECT_EQ(alive.load(), 1);
  }
  EXPECT_EQ(bad.load(), 0);
  EXPECT_EQ(alive.load(), 0);
}

}  // namespace
}  // namespace ringrpc::rpc
