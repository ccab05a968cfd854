#pragma once

// The methods that conversations call, by the name of their set.

#include <ringrpc/server.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringrpc::testing {

// Returns: false when there is no such set.
//   demo           what ringrpcd serves
//   specification  what the examples of the JSON-RPC 2.0 specification call
//   typed          structs with members of every kind
//   late           what ringrpcd serves, and methods that are answered when another call says so
//   attacked       what ringrpcd serves, and methods that nobody may reach
bool add_methods(Server& server, std::string_view set, std::uint32_t reply_size_max);

// What a server of conversations serves: a set of methods, and where else they are mounted.
struct Served {
  std::string methods = "demo";
  std::vector<std::pair<std::string, EndpointOptions>> mounts;
};

// The same, with the mounts.
bool add_methods(Server& server, const Served& served, std::uint32_t reply_size_max);

// Reads the settings of a `server` block.
// Returns: the name of one that is none, empty when all are known.
std::string read_options(const std::map<std::string, std::string>& settings, Options& options,
                         Served& served);

}  // namespace ringrpc::testing
