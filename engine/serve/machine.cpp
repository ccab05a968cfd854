#include "engine/serve/machine.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ringrpc::serve {
namespace {

// Reads the first line of a small file; empty when there is none.
std::string first_line(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  char line[512] = {};
  if (std::fgets(line, sizeof(line), file) == nullptr) line[0] = '\0';
  std::fclose(file);
  return line;
}

// Returns: this process's path below the cgroup v2 mount, "" for the root.
std::string cgroup_path() {
  std::FILE* file = std::fopen("/proc/self/cgroup", "re");
  if (file == nullptr) return {};
  char line[4096] = {};
  std::string path;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    std::string text = line;
    if (!text.starts_with("0::")) continue;
    path = text.substr(3);
    while (!path.empty() && (path.back() == '\n' || path.back() == '/')) path.pop_back();
  }
  std::fclose(file);
  return path;
}

// Returns: the CPUs of the tightest quota from this cgroup up to the root; 0 without one.
double cgroup_cpus() {
  double tightest = 0;
  for (std::string path = cgroup_path();; path.resize(path.rfind('/'))) {
    double quota = 0;
    double period = 0;
    const std::string line = first_line("/sys/fs/cgroup" + path + "/cpu.max");
    if (std::sscanf(line.c_str(), "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0) {
      tightest = tightest == 0 ? quota / period : std::min(tightest, quota / period);
    }
    if (path.empty() || path.rfind('/') == std::string::npos) break;
  }
  if (tightest != 0) return tightest;
  const std::string quota = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const std::string period = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  const double microseconds = std::atof(quota.c_str());
  const double of = std::atof(period.c_str());
  return microseconds > 0 && of > 0 ? microseconds / of : 0;
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::uint32_t default_workers() {
  const std::uint32_t cpus = static_cast<std::uint32_t>(allowed_cpus().size());
  const double quota = cgroup_cpus();
  if (quota == 0) return cpus;
  return std::clamp(static_cast<std::uint32_t>(std::ceil(quota)), 1u, cpus);
}

void pin_to_cpu(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return limit.rlim_cur;
}

}  // namespace ringrpc::serve
