// A coroutine that takes its params by reference is refused.
// Expect: ringrpc: a coroutine takes its params by value

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](const Params& in) -> ringrpc::Co<int> { co_return in.value; });
#else
  server.method("m", [](Params in) -> ringrpc::Co<int> { co_return in.value; });
#endif
}
