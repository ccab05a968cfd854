// A coroutine that gives a reference is refused.
// Expect: ringrpc: a Co gives a value, not a reference

#include <ringrpc/server.h>

#ifdef REFUSED
ringrpc::Co<int&> twice(int& value) {
  value *= 2;
  co_return value;
}
#else
ringrpc::Co<int> twice(int& value) {
  value *= 2;
  co_return value;
}
#endif
