#pragma once

// Is a body a JSON-RPC answer, and does it report errors? A light scan without a parser: brackets
// must match and strings must end, and the members of each response object are looked at.

#include <cstdint>
#include <string_view>

namespace ringload {

struct RpcVerdict {
  bool valid = false;         // one response object, or an array of at least one
  std::uint32_t results = 0;  // responses with a result
  std::uint32_t errors = 0;   // responses with an error
};

RpcVerdict check_rpc(std::string_view body);

}  // namespace ringload
