// A std::vector<bool> is refused.
// Expect: ringrpc: the elements of std::vector<bool> have no addresses

#include <ringrpc/fields.h>

#include <vector>

struct Params {
  int first;
#ifdef REFUSED
  std::vector<bool> list;
#else
  std::vector<int> list;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
