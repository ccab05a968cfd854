#pragma once

// The methods that conversations call, by the name of their set.

#include <ringrpc/server.h>

#include <map>
#include <string>
#include <string_view>

namespace ringrpc::testing {

// Returns: false when there is no such set.
//   demo           what ringrpcd serves
//   specification  what the examples of the JSON-RPC 2.0 specification call
//   typed          structs with members of every kind
//   attacked       what ringrpcd serves, and methods that nobody may reach
bool add_methods(Server& server, std::string_view set, std::uint32_t reply_size_max);

// Reads the settings of a `server` block; the set of methods is one of them.
// Returns: the name of one that is none, empty when all are known.
std::string read_options(const std::map<std::string, std::string>& settings, Options& options,
                         std::string& methods);

}  // namespace ringrpc::testing
