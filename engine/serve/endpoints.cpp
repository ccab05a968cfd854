#include "engine/serve/endpoints.h"

namespace ringrpc::serve {

Endpoints::Endpoints(const std::vector<Mount>& mounts)
    : stats_(std::make_unique<rpc::CallStats[]>(mounts.size())) {
  for (const bool two_way : {false, true}) {
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      endpoints_.push_back(
          {.options = &mounts[i].options, .stats = &stats_[i], .two_way = two_way});
    }
  }
}

}  // namespace ringrpc::serve
