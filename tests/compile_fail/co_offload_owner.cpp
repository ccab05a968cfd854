// What is offloaded has a name if it owns something.
// Expect: ringrpc: what is offloaded and owns something needs a name

#include <ringrpc/server.h>

#include <memory>

ringrpc::Co<int> read(ringrpc::Call& call) {
#ifdef REFUSED
  co_return co_await call.offload([owned = std::make_unique<int>(1)] { return *owned; });
#else
  auto work = [owned = std::make_unique<int>(1)] { return *owned; };
  co_return co_await call.offload(work);
#endif
}
