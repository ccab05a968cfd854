#pragma once

// Calls of a server in memory, and what its metrics say of them.

#include <ringrpc/server.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ringrpc::testing {

inline Options no_listener() {
  Options options;
  options.listen = "";
  return options;
}

inline std::string call(Server& server, std::string_view json) {
  std::string reply;
  server.call(json, reply);
  return reply;
}

// A call with id 1.
inline std::string request(std::string_view method, std::string_view params = "{}") {
  return R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(method) + R"(","params":)" +
         std::string(params) + "}";
}

// Returns: 0 also for what there is not.
inline std::uint64_t metric(const Server& server, const std::string& name) {
  const std::string text = server.metrics();
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
}

inline std::uint64_t limit_hits(const Server& server, const std::string& limit) {
  return metric(server, "ringrpc_limit_hits_total{limit=\"" + limit + "\"}");
}

}  // namespace ringrpc::testing
