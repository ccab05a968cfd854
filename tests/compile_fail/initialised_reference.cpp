// A reference with an initialiser is refused.
// Expect: ringrpc: a member is a reference

#include <ringrpc/fields.h>

int global;

struct Params {
  int first;
#ifdef REFUSED
  int& value = global;
#else
  int value = 1;
#endif
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
