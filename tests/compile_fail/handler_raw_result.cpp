// A raw handler that also returns something is refused.
// Expect: ringrpc: a handler that writes a Reply returns nothing beside it

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](ringrpc::Call&, ringrpc::Reply&) { return 1; });
#else
  server.method("m", [](ringrpc::Call&, ringrpc::Reply&) {});
#endif
}
