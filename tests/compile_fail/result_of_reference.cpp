// A Result of a reference is refused.
// Expect: ringrpc: a Result holds a value, not a reference

#include <ringrpc/result.h>

#ifdef REFUSED
using Answer = ringrpc::Result<int&>;
#else
using Answer = ringrpc::Result<int>;
#endif

bool good(const Answer& answer) { return answer.ok(); }
