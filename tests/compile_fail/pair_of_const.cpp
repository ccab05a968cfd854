// A pair of const is refused.
// Expect: ringrpc: a member is const, and could not be decoded into

#include <ringrpc/fields.h>

#include <utility>

#ifdef REFUSED
using Params = std::pair<const int, int>;
#else
using Params = std::pair<int, int>;
#endif

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
