// A tuple of references is refused.
// Expect: ringrpc: a member is a reference; make it a value

#include <ringrpc/fields.h>

#include <tuple>

#ifdef REFUSED
using Params = std::tuple<int, int&>;
#else
using Params = std::tuple<int, int>;
#endif

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
