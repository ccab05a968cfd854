// A container whose elements are not in one piece is refused.
// Expect: ringrpc: a type is neither a known container nor a plain struct

#include <ringrpc/fields.h>

#include <deque>
#include <vector>

struct Params {
#ifdef REFUSED
  std::deque<int> list;
#else
  std::vector<int> list;
#endif
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
