// A C array is refused in a list by hand too.
// Expect: ringrpc: a member is a C array; make it a std::vector

#include <ringrpc/fields.h>

struct Params {
  int value;
  int list[3];
};
#ifdef REFUSED
RINGRPC_FIELDS(Params, value, list)
#else
RINGRPC_FIELDS(Params, value)
#endif

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
