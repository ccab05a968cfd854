// A const member is refused.
// Expect: ringrpc: a member is const

#include <ringrpc/fields.h>

struct Params {
  int first;
#ifdef REFUSED
  const int value = 1;
#else
  int value;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
