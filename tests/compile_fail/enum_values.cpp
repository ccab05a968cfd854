// An enum without values in the range is refused.
// Expect: ringrpc: an enum has no enumerators with values in [-128, 127]

#include <ringrpc/fields.h>

enum class Code {
#ifdef REFUSED
  first = 128,
#else
  first = 127,
#endif
  second = -129,
};

struct Params {
  Code code;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
