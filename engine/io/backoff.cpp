#include "engine/io/backoff.h"

#include <cerrno>
#include <cstring>

namespace ringrpc::io {

void Backoff::failed(int error) {
  switch (error) {
    case ECONNABORTED:  // the peer went away while it waited
    case EPROTO:
    case EPERM:  // a firewall's rule
    case EINTR:
    case EAGAIN:
      return;
    case EMFILE:
      notice_.say(
          "no descriptor left in this process: new connections wait (raise `ulimit -n`, or lower "
          "connections_max)");
      break;
    case ENFILE:
      notice_.say(
          "no descriptor left in this machine: new connections wait (raise the sysctl "
          "fs.file-max)");
      break;
    case ENOMEM:
    case ENOBUFS:
      notice_.say("no memory for another socket: new connections wait");
      break;
    default:
      notice_.say("cannot accept, new connections wait: %s", std::strerror(error));
      break;
  }
  if (until_ns_ != 0) return;
  pause_ms_ = std::clamp(pause_ms_ * 2, accept_backoff_ms_min, accept_backoff_ms_max);
  until_ns_ = base::monotonic_ns() + std::uint64_t{pause_ms_} * 1'000'000;
}

}  // namespace ringrpc::io
