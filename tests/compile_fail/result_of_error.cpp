// A Result<Error> is refused.
// Expect: ringrpc: a Result<Error> could not tell its two cases apart

#include <ringrpc/result.h>

#ifdef REFUSED
using Answer = ringrpc::Result<ringrpc::Error>;
#else
using Answer = ringrpc::Result<int>;
#endif

bool good(const Answer& answer) { return answer.ok(); }
