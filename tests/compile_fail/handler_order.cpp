// A handler with its call behind the params is refused.
// Expect: ringrpc: the first of a handler's two arguments is ringrpc::Call&

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](const Params&, ringrpc::Call&) {});
#else
  server.method("m", [](ringrpc::Call&, const Params&) {});
#endif
}
