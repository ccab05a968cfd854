// A handler of a bare value is refused: params are an object or an array.
// Expect: ringrpc: params are an object or an array

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](int in) { return in; });
#else
  server.method("m", [](const Params& in) { return in.value; });
#endif
}
