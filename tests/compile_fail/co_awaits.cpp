// A coroutine that awaits what the engine does not know is refused.
// Expect: ringrpc: a coroutine awaits what a Call offers, or a Co that is handed over

#include <ringrpc/server.h>

ringrpc::Co<int> one() { co_return 1; }

ringrpc::Co<int> wait(ringrpc::Call& call) {
#ifdef REFUSED
  co_await std::suspend_always();
#else
  co_await call.after(1);
#endif
  co_return co_await one();
}
