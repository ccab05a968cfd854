// A span of what is not const is refused.
// Expect: ringrpc: a span is of const numbers

#include <ringrpc/fields.h>

#include <span>

struct Params {
  int first;
#ifdef REFUSED
  std::span<int> list;
#else
  std::span<const int> list;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
