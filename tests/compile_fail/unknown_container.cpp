// An unknown container is refused.
// Expect: ringrpc: a type is neither a known container nor a plain struct

#include <ringrpc/fields.h>

#include <map>
#include <set>
#include <string>

struct Params {
  int first;
#ifdef REFUSED
  std::set<int> set;
#else
  std::map<std::string, int> set;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
