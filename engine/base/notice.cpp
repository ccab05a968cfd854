#include "engine/base/notice.h"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "engine/base/clock.h"

namespace ringrpc::base {

void Notice::say(const char* format, ...) {
  const std::uint64_t now = monotonic_ns();
  std::uint64_t said = said_ns_.load(std::memory_order_relaxed);
  if (said != 0 && now < said + std::uint64_t{interval_s_} * 1'000'000'000) return;
  // Another thread may say one at the same time, and one is enough.
  if (!said_ns_.compare_exchange_strong(said, now, std::memory_order_relaxed)) return;
  constexpr char name[] = "ringrpc: ";
  char line[512];
  std::size_t size = sizeof(name) - 1;
  std::copy_n(name, size, line);
  const std::size_t room = sizeof(line) - size - 1;
  std::va_list arguments;
  va_start(arguments, format);
  const int written = std::vsnprintf(line + size, room, format, arguments);
  va_end(arguments);
  if (written > 0) size += std::min(static_cast<std::size_t>(written), room - 1);
  line[size++] = '\n';
  std::fwrite(line, 1, size, stderr);
}

}  // namespace ringrpc::base
