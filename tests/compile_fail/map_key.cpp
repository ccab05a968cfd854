// A map whose keys are no strings is refused.
// Expect: ringrpc: the keys of a map are std::string

#include <ringrpc/fields.h>

#include <map>
#include <string>

struct Params {
  int first;
#ifdef REFUSED
  std::map<int, int> map;
#else
  std::map<std::string, int> map;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
