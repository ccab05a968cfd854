#pragma once

// The methods that conversations call, by the name of their set.

#include <ringrpc/server.h>

#include <string>
#include <string_view>

namespace ringrpc::testing {

// Returns: false when there is no such set.
//   demo           what ringrpcd serves
//   specification  what the examples of the JSON-RPC 2.0 specification call
//   typed          structs with members of every kind
bool add_methods(Server& server, std::string_view set, std::uint32_t reply_size_max);

}  // namespace ringrpc::testing
