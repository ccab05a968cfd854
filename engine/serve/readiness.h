#pragma once

// What a descriptor is ready for, in the words of the handlers and in those of poll(2).

#include <poll.h>
#include <ringrpc/call.h>

#include <cerrno>
#include <cstdint>

namespace ringrpc::serve {

inline std::uint32_t poll_events(Ready events) {
  const std::uint32_t asked = static_cast<std::uint32_t>(events);
  return ((asked & static_cast<std::uint32_t>(Ready::read)) != 0 ? std::uint32_t{POLLIN} : 0) |
         ((asked & static_cast<std::uint32_t>(Ready::write)) != 0 ? std::uint32_t{POLLOUT} : 0);
}

// Takes what a backend tells: a mask, or -errno.
// Returns: the same as bits of Ready, or negative when it could not be waited for. What has failed,
// or is none, is ready for both: what is done with it next tells.
inline std::int32_t ready_bits(std::int32_t polled) {
  constexpr std::int32_t both = static_cast<std::int32_t>(Ready::both);
  if (polled < 0) return polled == -EBADF ? both : polled;
  if ((polled & (POLLERR | POLLHUP | POLLNVAL)) != 0) return both;
  std::int32_t bits = 0;
  if ((polled & (POLLIN | POLLRDHUP)) != 0) bits |= static_cast<std::int32_t>(Ready::read);
  if ((polled & POLLOUT) != 0) bits |= static_cast<std::int32_t>(Ready::write);
  return bits != 0 ? bits : both;
}

}  // namespace ringrpc::serve
