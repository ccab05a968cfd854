#include "tools/ringload/cpu_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <string>

namespace ringload {

namespace {

// /proc files of interest are short; what is longer is cut.
std::string read_short_file(const std::string& name) {
  std::string text(4096, '\0');
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

std::uint64_t leading_number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

CpuTime thread_cpu_time() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return {};
  CpuTime time;
  time.user_ns = microseconds(usage.ru_utime) * 1000;
  time.system_ns = microseconds(usage.ru_stime) * 1000;
  time.total_ns = time.user_ns + time.system_ns;
  time.known = true;
  return time;
}

bool read_stat_line(std::string_view line, std::uint64_t& user_ticks, std::uint64_t& system_ticks) {
  // "PID (COMMAND) S ppid ...": utime and stime are the fields 14 and 15, so 11 spaces behind S.
  const std::size_t command_end = line.rfind(") ");
  if (command_end == std::string_view::npos) return false;
  line.remove_prefix(command_end + 2);
  for (int i = 0; i < 11; ++i) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return false;
    line.remove_prefix(blank + 1);
  }
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return false;
  user_ticks = leading_number(line);
  system_ticks = leading_number(line.substr(blank + 1));
  return true;
}

CpuTime process_cpu_time(int pid) {
  const std::string base = "/proc/" + std::to_string(pid);
  const std::string stat = read_short_file(base + "/stat");
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  if (!read_stat_line(stat, user_ticks, system_ticks)) return {};
  const auto tick_ns = 1'000'000'000u / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  CpuTime time;
  time.known = true;
  time.user_ns = user_ticks * tick_ns;
  time.system_ns = system_ticks * tick_ns;

  // The scheduler's own sum is in nanoseconds; ticks are 10 ms wide.
  DIR* const tasks = opendir((base + "/task").c_str());
  if (tasks == nullptr) return {};
  while (const dirent* const entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    const std::string name = base + "/task/" + entry->d_name + "/schedstat";
    time.total_ns += leading_number(read_short_file(name));
  }
  closedir(tasks);
  if (time.total_ns == 0) time.total_ns = time.user_ns + time.system_ns;  // not in this kernel
  return time;
}

}  // namespace ringload
