// A handler that is no coroutine and takes a CoStream is refused.
// Expect: ringrpc: a CoStream is for coroutines

#include <ringrpc/server.h>

#ifdef REFUSED
void count(ringrpc::CoStream stream) { stream.notify_json("counted", "[1]"); }
#else
ringrpc::Co<void> count(ringrpc::CoStream stream) {
  stream.notify_json("counted", "[1]");
  co_return;
}
#endif

void add(ringrpc::Server& server) { server.method("count", count); }
