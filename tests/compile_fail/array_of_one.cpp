// A C array of one element is refused.
// Expect: ringrpc: a member is a C array

#include <ringrpc/fields.h>

#include <vector>

struct Params {
  int first;
#ifdef REFUSED
  int list[1];
#else
  std::vector<int> list;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
