// A handler of three arguments is refused.
// Expect: ringrpc: a handler takes (P), (Call&, P), (Call&), (Call&, Reply&) or nothing

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](ringrpc::Call&, const Params&, int) {});
#else
  server.method("m", [](ringrpc::Call&, const Params&) {});
#endif
}
