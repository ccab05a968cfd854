// A long double is refused.
// Expect: ringrpc: a number has at most 64 bits

#include <ringrpc/fields.h>

struct Params {
  int first;
#ifdef REFUSED
  long double value;
#else
  double value;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
