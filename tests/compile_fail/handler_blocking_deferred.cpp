// A handler that answers later is no blocking one.
// Expect: ringrpc: a blocking handler returns its answer; one with a Deferred is a method

#include <ringrpc/server.h>

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.blocking("m", [](ringrpc::Deferred) {});
#else
  server.blocking("m", [] { return 1; });
#endif
}
