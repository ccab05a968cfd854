// A handler that answers later and also returns something is refused.
// Expect: ringrpc: a handler that takes a Deferred or a Stream answers by it and returns nothing

#include <ringrpc/server.h>

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](ringrpc::Call&, ringrpc::Deferred) { return 1; });
#else
  server.method("m", [](ringrpc::Call&, ringrpc::Deferred) {});
  server.method("s", [](ringrpc::Stream) {});
#endif
}
