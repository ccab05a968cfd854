// A field's name that needs escapes is refused.
// Expect: ringrpc: a field's name holds a quote, a backslash or a control character

#include <ringrpc/fields.h>

struct Params {
  int value;
};
constexpr auto ringrpc_fields(const Params*) {
  using namespace ringrpc::fields;
#ifdef REFUSED
  return list(field("a\"b", &Params::value));
#else
  return list(field("a'b", &Params::value));
#endif
}

const ringrpc::fields::TypeInfo& params = ringrpc::fields::type_of<Params>();
