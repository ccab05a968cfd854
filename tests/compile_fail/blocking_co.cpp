// A blocking handler that is a coroutine is refused.
// Expect: ringrpc: a coroutine is a method, and offloads what blocks in it

#include <ringrpc/server.h>

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.blocking("m", []() -> ringrpc::Co<int> { co_return 1; });
#else
  server.blocking("m", [] { return 1; });
  server.method("n", []() -> ringrpc::Co<int> { co_return 1; });
#endif
}
