#pragma once

// What rpc.discover answers.
//
// Source: the OpenRPC Specification 1.3.2, service discovery.

#include <string>
#include <string_view>

#include "engine/rpc/table.h"

namespace ringrpc::serve {

// Returns: an OpenRPC document of a table's methods, by name, the engine's own left out. A method
// whose handler reads its params or writes its result by hand says so, since nobody else knows.
// Cost: cold; walks every type and allocates.
std::string openrpc(const rpc::Table& table, std::string_view title);

}  // namespace ringrpc::serve
