// A pointer is refused.
// Expect: ringrpc: a member is a pointer

#include <ringrpc/fields.h>

#include <optional>

struct Params {
  int first;
#ifdef REFUSED
  int* value;
#else
  std::optional<int> value;
#endif
  int last;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
