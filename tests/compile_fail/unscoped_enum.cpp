// An unscoped enum is refused.
// Expect: ringrpc: an enum is unscoped

#include <ringrpc/fields.h>

#ifdef REFUSED
enum Color { red, green };
#else
enum class Color { red, green };
#endif

struct Params {
  Color color;
};

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
