// Goal: the plan names every pool once and adds up; the machine is read without surprises.

#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <string>

#include "engine/serve/machine.h"
#include "engine/serve/memory_plan.h"

namespace ringrpc::serve {
namespace {

std::size_t sum_of(const std::vector<PlanItem>& plan) {
  std::size_t sum = 0;
  for (const PlanItem& item : plan) sum += item.bytes;
  return sum;
}

std::size_t bytes_of(const std::vector<PlanItem>& plan, std::string_view pool) {
  for (const PlanItem& item : plan) {
    if (item.pool == pool) return item.bytes;
  }
  ADD_FAILURE() << "no pool " << pool;
  return 0;
}

TEST(MemoryPlan, NamesEachPoolOnceWithAReasonAndItsTotalIsTheSum) {
  const std::vector<PlanItem> plan = memory_plan({}, 3);
  std::set<std::string_view> names;
  for (const PlanItem& item : plan) {
    EXPECT_TRUE(names.insert(item.pool).second) << item.pool;
    EXPECT_FALSE(item.reason.empty()) << item.pool;
    EXPECT_GT(item.bytes, 0u) << item.pool;
  }
  const std::string text = format_plan(plan, 3);
  const std::size_t at = text.find("  total");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::stoull(text.substr(at + 7)), sum_of(plan));
  for (const std::string_view name : names) EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST(MemoryPlan, FollowsEachOptionByItsUnit) {
  const WorkerOptions base;
  const std::vector<PlanItem> plan = memory_plan(base, 1);
  EXPECT_EQ(bytes_of(plan, "partial_messages"), base.partial_pool_size);
  EXPECT_EQ(bytes_of(plan, "reply_slabs"), std::size_t{base.reply_slabs} * base.reply_slab_size);
  EXPECT_EQ(bytes_of(plan, "large_replies"), base.large_replies_size_max);
  WorkerOptions larger = base;
  larger.message_size_max *= 2;
  const std::vector<PlanItem> grown = memory_plan(larger, 1);
  EXPECT_GE(bytes_of(grown, "index"), bytes_of(plan, "index") + 4ull * base.message_size_max);
  EXPECT_EQ(bytes_of(grown, "scratch"), larger.message_size_max);
}

TEST(MemoryPlan, EveryPoolButTheProgramIsPerWorker) {
  const std::vector<PlanItem> one = memory_plan({}, 1);
  const std::vector<PlanItem> four = memory_plan({}, 4);
  const std::size_t program = bytes_of(one, "program");
  EXPECT_EQ(sum_of(four) - program, 4 * (sum_of(one) - program));
}

TEST(Machine, WorkersDefaultToTheAllowedCpusAtMost) {
  const std::vector<int> cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  const std::uint32_t workers = default_workers();
  EXPECT_GE(workers, 1u);
  EXPECT_LE(workers, cpus.size());
}

TEST(Machine, PinningLeavesOneAllowedCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const int last = allowed_cpus().back();
  pin_to_cpu(last);
  EXPECT_EQ(allowed_cpus(), std::vector<int>{last});
  EXPECT_EQ(default_workers(), 1u);
  sched_setaffinity(0, sizeof(before), &before);
}

TEST(Machine, TheDescriptorLimitIsRaisedAndRaisingItAgainChangesNothing) {
  const std::uint64_t limit = raise_descriptor_limit();
  EXPECT_GE(limit, 64u);
  EXPECT_EQ(raise_descriptor_limit(), limit);
}

}  // namespace
}  // namespace ringrpc::serve
