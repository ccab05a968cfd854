// A field's name that occurs twice is refused.
// Expect: ringrpc: two fields have the same name

#include <ringrpc/fields.h>

struct Params {
  int a, b;
};
constexpr auto ringrpc_fields(const Params*) {
  using namespace ringrpc::fields;
#ifdef REFUSED
  return list(field("a", &Params::a), field("a", &Params::b));
#else
  return list(field("a", &Params::a), field("b", &Params::b));
#endif
}

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
