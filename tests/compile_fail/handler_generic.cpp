// A generic handler is refused: nobody knows its params.
// Expect: ringrpc: a handler is a function or has one operator()

#include <ringrpc/server.h>

struct Params {
  int value;
};

void add(ringrpc::Server& server) {
#ifdef REFUSED
  server.method("m", [](const auto& in) { return in.value; });
#else
  server.method("m", [](const Params& in) { return in.value; });
#endif
}
