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

  // Requires: a position of the mounts.
  [[nodiscard]] const rpc::Endpoint& operator[](std::size_t mount) const {
    return endpoints_[mount];
  }
  [[nodiscard]] std::size_t count() const { return endpoints_.size(); }

 private:
  std::unique_ptr<rpc::CallStats[]> stats_;
  std::vector<rpc::Endpoint> endpoints_;
};

}  // namespace ringrpc::serve
