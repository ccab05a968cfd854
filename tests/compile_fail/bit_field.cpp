// A bit-field is refused.
// Expect: ringrpc: a member is a bit-field

#include <ringrpc/fields.h>

struct Params {
  int first;
#ifdef REFUSED
  int bits : 3;
#else
  int bits;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
