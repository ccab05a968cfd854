#pragma once

// The kernel's socket addresses, in the one shape that the engine knows.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "engine/io/event.h"

namespace ringrpc::io {

// Returns: the address of an IPv4 or IPv6 peer; all zero for any other family.
// Requires: storage was filled by the kernel, or its family is 0.
inline Address to_address(const sockaddr_storage& storage) {
  Address address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &storage, sizeof(four));
    address.bytes[10] = 0xFF;
    address.bytes[11] = 0xFF;
    std::memcpy(address.bytes + 12, &four.sin_addr, 4);
    address.port = ntohs(four.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &storage, sizeof(six));
    std::memcpy(address.bytes, &six.sin6_addr, 16);
    address.port = ntohs(six.sin6_port);
  }
  return address;
}

}  // namespace ringrpc::io
