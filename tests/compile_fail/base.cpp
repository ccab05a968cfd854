// A base with members is refused.
// Expect: ringrpc: a struct has a base

#include <ringrpc/fields.h>

struct Base {
  int x;
};
struct Params : Base {
  int y;
};
#ifndef REFUSED
RINGRPC_FIELDS(Params, x, y)
#endif

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
