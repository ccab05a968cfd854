#pragma once

// What the machine grants this process: CPUs and descriptors.

#include <cstdint>
#include <vector>

namespace ringrpc::serve {

// Returns: the CPUs of the affinity mask, in order; at least one.
std::vector<int> allowed_cpus();

// Returns: how many workers are worth starting: the CPUs of the affinity mask, capped by the
// cgroup's CPU quota rounded up (cgroup v2 cpu.max, or v1 cfs_quota_us); at least 1.
std::uint32_t default_workers();

// Binds the calling thread to one CPU. Failing changes nothing.
void pin_to_cpu(int cpu);

// Raises the soft descriptor limit to the hard one.
// Returns: the limit that is in force.
std::uint64_t raise_descriptor_limit();

}  // namespace ringrpc::serve
