#pragma once

// What is mounted, as one worker sees it.

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/rpc/endpoint.h"
#include "engine/serve/endpoint.h"

namespace ringrpc::serve {

// What is mounted, with one worker's counts of it. Thread: as CallStats.
class Endpoints {
 public:
  // Requires: the mounts outlive this object, where they are.
  explicit Endpoints(const std::vector<Mount>& mounts);

  // Requires: a position of the mounts, or one behind count(): the same endpoint on transports
  // where both sides may call, so that a peer may answer as well.
  [[nodiscard]] const rpc::Endpoint& operator[](std::size_t mount) const {
    return endpoints_[mount];
  }
  [[nodiscard]] std::size_t count() const { return endpoints_.size() / 2; }

 private:
  std::unique_ptr<rpc::CallStats[]> stats_;
  std::vector<rpc::Endpoint> endpoints_;
};

}  // namespace ringrpc::serve
