// What is offloaded returns no reference.
// Expect: ringrpc: what is offloaded returns a value, or nothing, and no reference

#include <ringrpc/server.h>

ringrpc::Co<int> read(ringrpc::Call& call) {
  int value = 1;
#ifdef REFUSED
  co_return co_await call.offload([&value]() -> int& { return value; });
#else
  co_return co_await call.offload([&value] { return value; });
#endif
}
