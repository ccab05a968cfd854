#pragma once

// The CPU time of this thread and of another process.

#include <cstdint>
#include <string_view>

namespace ringload {

struct CpuTime {
  std::uint64_t total_ns = 0;
  std::uint64_t user_ns = 0;  // by the kernel's ticks: a share of the total, not exact
  std::uint64_t system_ns = 0;
  bool known = false;
};

// Of the calling thread.
CpuTime thread_cpu_time();

// Of all threads of a process, those that have ended included in user and system only. `known` is
// false when there is no such process or it may not be looked at.
CpuTime process_cpu_time(int pid);

// Returns: false when `line` is not what /proc/PID/stat holds. The command may hold any bytes.
bool read_stat_line(std::string_view line, std::uint64_t& user_ticks, std::uint64_t& system_ticks);

inline CpuTime operator-(const CpuTime& end, const CpuTime& begin) {
  return {end.total_ns - begin.total_ns, end.user_ns - begin.user_ns,
          end.system_ns - begin.system_ns, end.known && begin.known};
}

}  // namespace ringload
