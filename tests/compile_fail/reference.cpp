// A reference is refused.
// Expect: ringrpc: a struct cannot be made empty: a member is a reference

#include <ringrpc/fields.h>

struct Params {
  int first;
#ifdef REFUSED
  int& value;
#else
  int value;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
