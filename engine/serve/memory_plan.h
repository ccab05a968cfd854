#pragma once

// Everything that a server takes at start or may take later, as one sum with a reason for each
// term.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/worker_options.h"

namespace ringrpc::serve {

struct PlanItem {
  std::string_view pool;
  std::size_t bytes = 0;    // of all workers
  std::string_view reason;  // what fills it
};

// Returns: the pools, in the order of a request's way through them.
std::vector<PlanItem> memory_plan(const WorkerOptions& options, std::uint32_t workers);

// Returns: the plan as a table for people, with its total.
std::string format_plan(const std::vector<PlanItem>& plan, std::uint32_t workers);

}  // namespace ringrpc::serve
