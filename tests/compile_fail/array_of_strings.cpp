// A C array of strings is refused.
// Expect: ringrpc: a member is a C array

#include <ringrpc/fields.h>

#include <string>
#include <vector>

struct Params {
  int first;
#ifdef REFUSED
  std::string list[2];
#else
  std::vector<std::string> list;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
