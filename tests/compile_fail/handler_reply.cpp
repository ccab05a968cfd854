// A handler of a Reply alone is refused.
// Expect: ringrpc: a handler takes (P), (Call&, P), (Call&), (Call&, Reply&) or nothing

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](ringrpc::Reply&) {});
#else
  server.method("m", [](ringrpc::Call&, ringrpc::Reply&) {});
#endif
}
