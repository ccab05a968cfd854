// A coroutine that takes a Deferred or a Reply is refused.
// Expect: ringrpc: a coroutine answers by what it returns, and takes no Reply and no Deferred

#include <ringrpc/server.h>

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](ringrpc::Call&, ringrpc::Deferred) -> ringrpc::Co<void> { co_return; });
#else
  server.method("m", [](ringrpc::Call&) -> ringrpc::Co<void> { co_return; });
#endif
}
