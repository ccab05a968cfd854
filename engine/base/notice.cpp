#include "engine/base/notice.h"

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "engine/base/clock.h"

namespace ringrpc::base {

void Notice::say(const char* format, ...) {
  const std::uint64_t now = monotonic_ns();
  if (said_ns_ != 0 && now - said_ns_ < std::uint64_t{interval_s_} * 1'000'000'000) return;
  said_ns_ = now;
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
