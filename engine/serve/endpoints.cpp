#include "engine/serve/endpoints.h"

namespace ringrpc::serve {

Endpoints::Endpoints(const std::vector<Mount>& mounts)
    : stats_(std::make_unique<rpc::CallStats[]>(mounts.size())) {
  for (const Mount& mount : mounts) {
    endpoints_.push_back({&mount.options, &stats_[endpoints_.size()]});
  }
}

}  // namespace ringrpc::serve
