// A handler of a bare text is refused, optional or not.
// Expect: ringrpc: params are an object or an array

#include <ringrpc/server.h>

#include <optional>
#include <string>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](std::optional<std::string> in) { return in; });
#else
  server.method("m", [](std::optional<Params> in) { return in; });
#endif
}
